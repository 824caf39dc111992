"""The table of clauses in the harness's README: every row names modules and tests that are there."""

from __future__ import annotations

import ast
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
    *(f"4.{n}" for n in range(1, 6)), *(f"5.{n}" for n in range(1, 6)), "6",
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


def lines_of_code(source: str) -> int:
    """Count the lines that are neither blank nor comment nor docstring."""
    tree = ast.parse(source)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = [
        node.body[0] for node in ast.walk(tree) if isinstance(node, documented) and ast.get_docstring(node)
    ]
    told = {line for text in docstrings for line in range(text.lineno, (text.end_lineno or 0) + 1)}
    lines = enumerate(map(str.strip, source.splitlines()), 1)
    return sum(bool(line) and line[0] != "#" and number not in told for number, line in lines)


def test_the_package_is_under_2500_lines_of_code() -> None:
    assert sum(lines_of_code(path.read_text("utf-8")) for path in PACKAGE.rglob("*.py")) < 2_500
