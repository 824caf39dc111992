"""Compaction: finished episodes, replayed from the journal into rows of the tables, a batch at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import ray

from pipeline.corpus import Corpus
from pipeline.errors import ReplayMismatch
from pipeline.plugins import locate
from pipeline.protocols import Harness
from pipeline.runs import journal, tables
from pipeline.runs.broadcast import CorpusHandle
from pipeline.runs.folder import RunFolder
from pipeline.runs.journal import Attempt
from pipeline.runs.plan import task_view
from pipeline.runs.replay import rebuild
from pipeline.runs.rows import Rows, merged, rows

BATCH = 32
"""Episodes a part file, and a row group: few enough to find a transcript in milliseconds."""


@dataclass(frozen=True)
class Finished:
    """A finished episode: its row of the plan, and the attempt that is accepted."""

    planned: Mapping[str, Any]
    attempt: Attempt


@dataclass
class Compacted:
    """What became of a batch: parts by table, not yet committed, and the episodes that are in them.

    `mismatches` are the episodes whose replay differs from the record: they are in no table.
    """

    parts: dict[str, str] = field(default_factory=dict)
    episodes: dict[str, list[Any]] = field(default_factory=dict)
    mismatches: dict[str, str] = field(default_factory=dict)


def compact(
    folder: Path, batch: Sequence[Finished], harnesses: Mapping[str, Any], handles: Mapping[str, CorpusHandle]
) -> Compacted:
    """Replay `batch` and write its parts, in a Ray worker. `harnesses` are configs by arm."""
    built = {arm: locate(config._target_)(config) for arm, config in harnesses.items()}
    return compacted(folder, batch, built, lambda name: Corpus.attach(*ray.get(handles[name].stored)))


def compacted(
    folder: Path,
    batch: Sequence[Finished],
    harnesses: Mapping[str, Harness],
    open_corpus: Callable[[str], Corpus],
) -> Compacted:
    """Replay `batch` and write its parts. `open_corpus` gives the corpus of a fingerprint."""
    run = RunFolder(folder)
    done = Compacted()
    made: list[Rows] = []
    corpus: tuple[str, Corpus] | None = None
    for item in sorted(batch, key=lambda item: str(item.planned["corpus"])):
        fingerprint = item.planned["corpus"]
        if corpus is None or corpus[0] != fingerprint:
            corpus = (fingerprint, open_corpus(fingerprint))
        record = journal.load(run.journal, item.attempt)
        try:
            trace = rebuild(harnesses[item.planned["arm"]], task_view(item.planned), corpus[1], record)
        except ReplayMismatch as mismatch:
            done.mismatches[item.attempt.episode] = str(mismatch)
            continue
        made.append(rows(item.planned, record, trace))
        done.episodes[item.attempt.episode] = [item.attempt.attempt, item.attempt.segment]
    if made:
        done.parts = {table: tables.write_part(folder, table, r) for table, r in merged(made).items()}
    return done


def commit(folder: Path, done: Compacted) -> None:
    """Make the parts of a batch count."""
    if done.parts:
        tables.commit(folder, f"episodes-{uuid4().hex}", done.parts, episodes=done.episodes)
