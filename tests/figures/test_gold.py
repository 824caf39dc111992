"""Numbers of real documents: every true one is found, seeded wrong ones are not (contract 7.1, 7.2)."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from pipeline.figures import Grounds, free
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


def test_7_1_every_literal_of_the_gold_expressions_is_free_or_found(shared: Path) -> None:
    folder = shared / "data" / "treasury"
    missed, asked = [], 0
    for line in (folder / "gold_evidence.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        texts = {
            f"s{number}": (folder / "documents" / span["file"]).read_text(encoding="utf-8")[
                span["table_start"] : span["row_end"]
            ]
            for number, span in enumerate(row["spans"], 1)
        }
        grounds = Grounds(texts)
        for literal in re.findall(r"(?<![\w.)])-?[0-9][0-9.]*", row["expression"]):
            if not free(literal):
                asked += 1
                missed += [] if grounds.operand(literal) else [(row["uid"], literal)]
    assert missed == []
    assert asked > 70


@pytest.mark.parametrize("length", ["table", "16 kB"])
def test_7_1_at_least_95_percent_of_wrong_operands_are_caught(
    bench: ModuleType, shared: Path, length: str
) -> None:
    for kind, tally in bench.caught(bench.operands(shared), length, draws=2).items():
        assert tally.drawn > 100, kind
        assert tally.rate >= 0.95, (kind, tally.passed)
