"""What a run will spend before it is started: at most, by its budget; and by what earlier runs did.

An episode's prompt only grows: each request sends the whole history again, of which a server with a prefix
cache reads only what is new. Tokens are estimates of four characters each, as in `backbone.serving.fit`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from pipeline.analysis.cost import Tokens
from pipeline.backbone.serving.fit import REPLY_TOKENS, History
from pipeline.errors import RunError
from pipeline.runs import tables
from pipeline.runs.folder import RunFolder

TYPICAL = History(turns=20, searches=7, read_tokens=15_000)
"""An episode where none was seen: an assumption, as of the episodes that `jobs/bench/episode.py` drives."""

_SAME = ("config_sha256", "prompt_sha256", "benchmark")


@dataclass(frozen=True)
class Estimate:
    """Tokens of one episode, and where the figure comes from."""

    tokens: Tokens
    source: str


def episode_tokens(history: History, completion: int, window: int | None = None) -> Tokens:
    """Return what an episode of `history` sends, in even turns, if all but what is new comes from the cache.

    `completion` are the tokens that it generates. A prompt is never longer than the window.
    """
    most = window or history.fixed + history.tokens
    sizes = [
        min(most, history.fixed + history.tokens * turn // max(history.turns, 1))
        for turn in range(history.turns)
    ]
    prompt = sum(sizes)
    return Tokens(prompt, prompt - max(sizes, default=0), completion)


def at_most(history: History, max_tokens: int, window: int | None) -> Tokens:
    """Return what an episode that spends all of its budget sends and generates."""
    return episode_tokens(history, history.turns * max_tokens, window)


def assumed(history: History, max_tokens: int, window: int | None) -> Estimate:
    """Return what a typical episode spends, within the budget that `history` is."""
    typical = replace(
        TYPICAL,
        turns=min(TYPICAL.turns, history.turns),
        searches=min(TYPICAL.searches, history.searches),
        read_tokens=min(TYPICAL.read_tokens, history.read_tokens),
        document_map_tokens=history.document_map_tokens,
    )
    completion = typical.turns * min(REPLY_TOKENS, max_tokens)
    return Estimate(
        episode_tokens(typical, completion, window),
        f"assumed: {typical.turns} turns, {typical.searches} searches, {typical.read_tokens:,} read tokens, "
        f"replies of {REPLY_TOKENS} tokens without thoughts, all that repeats cached",
    )


def earlier(root: Path, arm: Mapping[str, Any]) -> Estimate | None:
    """Return the mean episode of the same harness, model and benchmark in the runs below `root`, if any."""
    rows, names = 0, []
    sums = {"prompt_tokens": 0, "cached_tokens": 0, "completion_tokens": 0}
    for folder, name in _alike(root, arm):
        try:
            episodes = tables.read(folder, "episodes", ["arm", *sums])
        except RunError:  # a damaged run tells nothing
            continue
        found = episodes.filter(pc.equal(episodes["arm"], name))
        if found.num_rows:
            rows += found.num_rows
            names.append(folder.name)
            sums = {column: total + (pc.sum(found[column]).as_py() or 0) for column, total in sums.items()}
    if not rows:
        return None
    mean = Tokens(*(round(total / rows) for total in sums.values()))
    return Estimate(mean, f"as {rows:,} episodes of {', '.join(names[:3])}{' …' if names[3:] else ''} did")


def _alike(root: Path, arm: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """The runs below `root` that have an arm of the same identity, and its name there."""
    for path in sorted(root.glob("*/run.json")) if root.is_dir() else ():
        try:
            arms = RunFolder(path.parent).read_record()["arms"]
        except RunError:
            continue
        for name, record in arms.items():
            if all(record.get(key) == arm[key] for key in _SAME):
                yield path.parent, name
