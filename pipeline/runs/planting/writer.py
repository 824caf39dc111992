"""Writes a planted run: the real plan, journal and tables, transcripts of the other arms, and the truth."""

from __future__ import annotations

import asyncio
import hashlib
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa

from pipeline.benchmarks.ledgerqa.planted import Fault, Tables
from pipeline.benchmarks.ledgerqa.planted.transcripts import FORMS
from pipeline.corpus import Corpus
from pipeline.errors import RunError
from pipeline.plugins import locate
from pipeline.protocols import Harness, Limits
from pipeline.runs import tables
from pipeline.runs.compact import BATCH, Finished, compacted
from pipeline.runs.folder import RunFolder
from pipeline.runs.journal import AttemptRecorder, Segment
from pipeline.runs.library import Library
from pipeline.runs.plan import Plan, task_view
from pipeline.runs.planting.episodes import FAULTS, Planted, Planting
from pipeline.runs.planting.replies import Scripted, told
from pipeline.runs.run import merge_run, plan_run, store_run
from pipeline.runs.schemas import PLANTED
from pipeline.runs.spec import RunSpec


@dataclass(frozen=True)
class PlantedRun:
    """What was planted: episodes by arm and fault, and what could not be, by fault and reason."""

    folder: Path
    episodes: Mapping[tuple[str, str], int]
    skipped: Mapping[tuple[str, str], int]


def write(
    spec: RunSpec,
    dataset: Path,
    seed: int,
    arms: Sequence[str],
    forms: Sequence[str] = (),
    faults: Sequence[Fault] = FAULTS,
) -> PlantedRun:
    """Plant `faults` in the tasks of `dataset`, in `arms` of `spec` and as transcripts in `forms`.

    `spec` is a run over the dataset with arms of the harness; its seeds are not looked at. The folder appears
    whole: it must not exist, or be empty. Raises `UnusableInput`.
    """
    folder = spec.root / spec.name
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise RunError(f"{folder} is not empty: name a new folder for the planted run")
    spec = replace(spec, seeds=tuple(range(len(FAULTS))))
    library = Library()
    plan = plan_run(spec, library)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as temporary:
        run = RunFolder(Path(temporary) / "run")
        run.create()
        written = _Writer(run, spec, plan, library, dataset, seed, faults).write(arms, forms)
        run.path.rename(folder)
    return replace(written, folder=folder)


@dataclass
class _Writer:
    """One planted run in the making."""

    run: RunFolder
    spec: RunSpec
    plan: Plan
    library: Library
    dataset: Path
    seed: int
    faults: Sequence[Fault]
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    truths: list[dict[str, Any]] = field(default_factory=list)

    def write(self, arms: Sequence[str], forms: Sequence[str]) -> PlantedRun:
        """Write everything."""
        none = replace(self.plan, episodes=self.plan.episodes.slice(0, 0))
        merged = merge_run(self.run, self.spec, none, self.library)
        store_run(self.run, self.spec, merged)  # first: no journal without its record
        first = next(iter(self.plan.arms.values()))
        ((_, fingerprint),) = first.record["corpora"].items()
        corpus = self.library.get(fingerprint)
        printed = Tables(corpus)
        planting = Planting(self.dataset, first.tasks, first.record["scorers"], self.seed, self.faults)
        rows = {(row["arm"], row["task_id"], row["seed"]): row for row in self.plan.rows()}
        with _Journal(self.run, self.plan, corpus) as journal:
            for planted in planting.episodes(printed):
                for name in arms:
                    row = rows[name, planted.plant.question.id, planted.seed]
                    journal.play(row, self.plan.arms[name].spec.harness, planted)
                    self._count(name, row["episode_id"], planted, None)
                for form in forms:
                    self._transcribe(form, planted, printed)
        self._store()
        return PlantedRun(self.run.path, dict(self.counts), dict(planting.skipped))

    def _transcribe(self, form: str, planted: Planted, printed: Tables) -> None:
        """Write an episode in the form of an arm that keeps no journal."""
        name = f"{planted.plant.question.id}-{planted.seed}.jsonl"
        path = self.run.transcripts / form / name
        path.parent.mkdir(parents=True, exist_ok=True)
        identity = [form, printed.corpus.fingerprint, planted.plant.question.id, planted.seed]
        episode = hashlib.sha256(orjson.dumps(identity)).hexdigest()[:32]
        with path.open("wb") as file:
            for record in FORMS[form](planted.trajectory, printed, episode):
                file.write(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE))
        self._count(form, episode, planted, f"transcripts/{form}/{name}")

    def _count(self, arm: str, episode: str, planted: Planted, transcript: str | None) -> None:
        plant = planted.plant
        self.counts[arm, plant.fault.value] += 1
        self.truths.append(
            {
                "episode_id": episode,
                "task_id": plant.question.id,
                "arm": arm,
                "seed": planted.seed,
                "fault": plant.fault.value,
                "e1": plant.truth.e1,
                "e2": plant.truth.e2,
                "e3": plant.truth.e3,
                "failure_kind": plant.kind,
                "note": plant.note,
                "transcript": transcript,
            }
        )

    def _store(self) -> None:
        """Write the plan of what was planted, and the truth."""
        planted = {truth["episode_id"] for truth in self.truths}
        kept = [row["episode_id"] in planted for row in self.plan.rows()]
        tables.write_file(self.run.plan, self.plan.episodes.filter(pa.array(kept, pa.bool_())))
        tables.write_file(self.run.planted, tables.from_rows(self.truths, PLANTED))


class _Journal:
    """Plays episodes into one segment, and compacts them batch by batch."""

    def __init__(self, run: RunFolder, plan: Plan, corpus: Corpus) -> None:
        self._run = run
        self._corpus = corpus
        self._harnesses: dict[str, Harness] = {
            name: locate(arm.spec.harness._target_)(arm.spec.harness) for name, arm in plan.arms.items()
        }
        self._segment = Segment(run.journal, "actor0000")
        self._finished: list[Finished] = []
        self._batches = 0
        self._runner = asyncio.Runner()

    def __enter__(self) -> _Journal:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._runner.close()
        self._segment.close()
        if kind is None:
            self._compact()

    def play(self, row: Mapping[str, Any], config: Any, planted: Planted) -> None:
        """Run a planted episode as the row of the plan has it. Raises `RunError` if it ends otherwise."""
        backbone = Scripted(list(told(planted.trajectory, config.switches)), config.action.mode)
        recorder = AttemptRecorder(self._segment, row["episode_id"], 1)
        limits = Limits(4_096, seed=row["seed"], episode=row["episode_id"])
        harness = self._harnesses[row["arm"]]
        episode = harness.run(task_view(row), self._corpus, backbone, recorder, limits)
        outcome = self._runner.run(episode)
        if (outcome.status, outcome.answer) != ("answered", planted.plant.answer):
            raise RunError(
                f"arm {row['arm']!r}, task {row['task_id']!r}: the harness took another course than was "
                f"planted ({outcome.status}, {outcome.error}): plant with the default budgets and formats"
            )
        self._finished.append(Finished(row, recorder.end(outcome, 0.0)))
        if len(self._finished) == BATCH:
            self._compact()

    def _compact(self) -> None:
        if self._finished:
            done = compacted(self._run.path, self._finished, self._harnesses, lambda _: self._corpus)
            if done.mismatches:
                raise RunError("; ".join(done.mismatches.values()))
            name = f"episodes-{self._batches:08}"  # by number, so that the tables have one order
            tables.commit(self._run.path, name, done.parts, episodes=done.episodes)
            self._batches += 1
            self._finished.clear()
