"""A dataset with all that is planted in it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from pipeline.benchmarks.ledgerqa import LedgerQAConfig, generate, load
from pipeline.benchmarks.ledgerqa.planted import (
    Fault,
    Figures,
    Plant,
    Planter,
    Question,
    Skipped,
    Tables,
    Trajectory,
    questions,
    trajectory,
)
from pipeline.benchmarks.ledgerqa.streams import Stream
from pipeline.benchmarks.tasks import Benchmark
from pipeline.corpus import build
from pipeline.corpus.config import CorpusConfig


@dataclass(frozen=True)
class Planted:
    plant: Plant
    trajectory: Trajectory


@dataclass(frozen=True)
class Bed:
    folder: Path
    benchmark: Benchmark
    tables: Tables
    planter: Planter
    questions: tuple[Question, ...]
    planted: tuple[Planted, ...]
    skipped: tuple[Skipped, ...]

    def of(self, *faults: Fault) -> list[Planted]:
        return [each for each in self.planted if each.plant.fault in faults]


@pytest.fixture(scope="session")
def bed(tmp_path_factory: pytest.TempPathFactory) -> Bed:
    folder = tmp_path_factory.mktemp("planted") / "dataset"
    generate(LedgerQAConfig(seed=29, tokens=250_000, questions_per_kind=14), folder)
    benchmark = load(LedgerQAConfig(folder=str(folder)))
    tables = Tables(build([folder / "documents"], CorpusConfig(), None))
    planter = Planter(Figures(tables), benchmark.scorers, lambda form, answer: True)
    found = tuple(questions(folder, benchmark.tasks))
    planted, skipped = [], []
    for number, question in enumerate(found):
        for at, fault in enumerate(Fault):
            plant = planter.plant(question, fault, Stream(3, number, at))
            if isinstance(plant, Skipped):
                skipped.append(plant)
            elif steps := trajectory(plant, tables, Stream(4, number, at)):
                planted.append(Planted(plant, steps))
    return Bed(folder, benchmark, tables, planter, found, tuple(planted), tuple(skipped))
