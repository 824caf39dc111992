from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.benchmarks.ledgerqa import LedgerQAConfig, generate, load
from pipeline.benchmarks.tasks import Task
from pipeline.corpus import Corpus
from tests.backbone.reference.episodes import corpus_of


@pytest.fixture(scope="session")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small LedgerQA dataset on disk."""
    folder = tmp_path_factory.mktemp("ledgerqa") / "dataset"
    generate(LedgerQAConfig(tokens=120_000, questions_per_kind=12), folder)
    return folder


@pytest.fixture(scope="session")
def built(dataset: Path) -> list[Task]:
    """Its questions in the phrasings that the policy was built on."""
    return [task for task in load_folder(dataset) if task.fields["phrasing"] == "built"]


@pytest.fixture(scope="session")
def apart(dataset: Path) -> list[Task]:
    """Those in phrasings that its author did not see; tests say no more of them than how many are right."""
    return [task for task in load_folder(dataset) if task.fields["phrasing"] == "apart"]


@pytest.fixture(scope="session")
def ledger(dataset: Path) -> Corpus:
    return corpus_of(dataset / "documents")


def load_folder(folder: Path) -> tuple[Task, ...]:
    return load(LedgerQAConfig(folder=str(folder))).tasks
