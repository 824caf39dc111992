"""Planted episodes: which there are, and how the seeds, that alone tell them apart, are dealt out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from pipeline.benchmarks.ledgerqa.planted import (
    Fault,
    Figures,
    Plant,
    Planter,
    Skipped,
    Tables,
    Trajectory,
    questions,
    trajectory,
)
from pipeline.benchmarks.ledgerqa.streams import Stream
from pipeline.benchmarks.tasks import Task
from pipeline.errors import InvalidOperation
from pipeline.harness import answers
from pipeline.protocols import AnswerFormat

FAULTS = tuple(Fault)
_SHOWN = "whatever is searched for shows the right figure in a snippet"


@dataclass(frozen=True)
class Planted:
    """A planted episode: what is true of it, its steps, and its seed."""

    plant: Plant
    trajectory: Trajectory
    seed: int


@dataclass
class Garden:
    """Plants the faults of a dataset's tasks over its corpus; `skipped` counts by fault and reason."""

    dataset: Path
    tasks: Sequence[Task]
    scorers: Sequence[str]
    seed: int
    faults: Collection[Fault] = FAULTS
    skipped: Counter[tuple[str, str]] = field(default_factory=Counter)

    def episodes(self, tables: Tables) -> Iterator[Planted]:
        """Yield the episodes, task by task. The same arguments give the same ones."""
        planter = Planter(Figures(tables), self.scorers, admits)
        for question in questions(self.dataset, self.tasks):
            seeds = seeds_of(self.seed, question.id)
            for fault in self.faults:
                stream = Stream(_key(self.seed, question.id, fault))
                plant = planter.plant(question, fault, stream)
                if isinstance(plant, Skipped):
                    self.skipped[fault.value, plant.reason] += 1
                elif steps := trajectory(plant, tables, stream):
                    yield Planted(plant, steps, seeds[fault])
                else:
                    self.skipped[fault.value, _SHOWN] += 1


def seeds_of(seed: int, task: str) -> dict[Fault, int]:
    """Which episode seed each fault of a task has: dealt out anew for each task, so that none tells it."""
    dealt = Stream(_key(seed, task, "seeds")).sample(range(len(FAULTS)), len(FAULTS))
    return dict(zip(FAULTS, dealt, strict=True))


def admits(form: AnswerFormat, answer: str) -> bool:
    """Whether the harness takes an answer in this form (contract 3.21)."""
    try:
        answers.check(form, answer)
    except InvalidOperation:
        return False
    return True


def _key(*parts: object) -> int:
    return int.from_bytes(sha256(" ".join(map(str, parts)).encode()).digest()[:8])
