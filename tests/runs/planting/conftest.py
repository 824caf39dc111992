"""A planted run, written as `longharness plant` writes it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from pipeline.benchmarks.ledgerqa import LedgerQAConfig, generate
from pipeline.cli import parser as verb_parser
from pipeline.cli import plant

ARMS = (*plant.VARIANTS, "longharness+tools", "notes+text", "codex", "direct")


@dataclass(frozen=True)
class Planting:
    dataset: Path
    run: Path


@pytest.fixture(scope="session")
def planting(tmp_path_factory: pytest.TempPathFactory) -> Planting:
    folder = tmp_path_factory.mktemp("planting")
    generate(LedgerQAConfig(seed=31, tokens=120_000, questions_per_kind=4), folder / "dataset")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LONGHARNESS_CACHE", str(folder / "cache"))
        write(folder / "dataset", folder / "run")
    return Planting(folder / "dataset", folder / "run")


def write(dataset: Path, run: Path, *options: str, arms: tuple[str, ...] = ARMS) -> None:
    words = [str(dataset), str(run), "--arms", ",".join(arms), *options]
    assert plant.run(verb_parser("plant", plant).parse_args(words)) == 0
