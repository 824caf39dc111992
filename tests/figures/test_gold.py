"""Numbers of real documents: every true one is found, seeded wrong ones are not (contract 7.1, 7.2)."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.conftest import ROOT


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    """The benchmark that draws the numbers: `jobs/bench/grounding.py`."""
    spec = importlib.util.spec_from_file_location("grounding", ROOT / "jobs" / "bench" / "grounding.py")
    assert spec and spec.loader
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("length", ["row", "table", "16 kB"])
def test_7_1_every_true_operand_is_found_in_its_text(bench: ModuleType, shared: Path, length: str) -> None:
    gold = bench.operands(shared)
    assert len({operand.uid for operand in gold}) == 24
    missed = [(operand.uid, way) for operand in gold for way, ok in bench.found(operand, length) if not ok]
    assert missed == []


@pytest.mark.parametrize("length", ["table", "16 kB"])
def test_7_1_at_least_95_percent_of_wrong_operands_are_caught(
    bench: ModuleType, shared: Path, length: str
) -> None:
    for kind, tally in bench.caught(bench.operands(shared), length, draws=2).items():
        assert tally.drawn > 100, kind
        assert tally.rate >= 0.95, (kind, tally.passed)
