"""The table of clauses in the harness's README: every row names modules and tests that are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import pipeline.harness

PACKAGE = Path(pipeline.harness.__file__).parent
HERE = Path(__file__).parent
ROWS = re.findall(
    r"^\| ([\d.]+) \| .+? \| (.+?) \| (.+?) \|$", (PACKAGE / "README.md").read_text("utf-8"), re.M
)
CLAUSES = [
    "1", "1.1", "1.2", *(f"2.{n}" for n in range(1, 8)), *(f"3.{n}" for n in range(1, 23)),
    "4.1", "4.2", "4.3", "4.5", *(f"5.{n}" for n in range(1, 6)), "6",
    "7", *(f"7.{n}" for n in range(1, 8)), "8", "9",
]  # fmt: skip


def test_the_table_has_every_clause() -> None:
    assert [clause for clause, _, _ in ROWS] == CLAUSES


@pytest.mark.parametrize(("clause", "modules", "tests"), ROWS, ids=[clause for clause, _, _ in ROWS])
def test_the_clause_is_tested_where_the_table_says(clause: str, modules: str, tests: str) -> None:
    for module in re.findall(r"`(\w+)`", modules):
        assert (PACKAGE / f"{module}.py").is_file() or (PACKAGE.parent / module).is_dir()
    for name in re.findall(r"`([\w./]+)`", tests):
        text = (HERE / f"{name}.py").read_text("utf-8")
        assert name.endswith("test_cases") or f"def test_{clause.replace('.', '_')}_" in text
