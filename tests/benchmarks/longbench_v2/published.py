"""Rows of the published schema, and files of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson


def row(number: int, length: str = "long", **cells: Any) -> dict[str, Any]:
    """A row; `cells` replaces some of it."""
    return {
        "_id": f"66f{number:02}",
        "domain": ("Long Dialogue", "Code Repository")[number % 2],
        "sub_domain": "Agents",
        "difficulty": ("easy", "hard")[number % 2],
        "length": length,
        "question": f"What is {number}?",
        "choice_A": "One",
        "choice_B": "Two",
        "choice_C": "Three,\nor more",
        "choice_D": "Four",
        "answer": "ABCD"[number % 4],
        "context": f"Text {number}: “ça”.\n",
    } | cells


def without(column: str, cells: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in cells.items() if name != column}


def write(folder: Path, rows: Sequence[Any]) -> Path:
    (folder / "data.json").write_bytes(orjson.dumps(rows, option=orjson.OPT_INDENT_2))
    return folder / "data.json"
