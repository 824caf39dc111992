"""Figures as documents print them: commas, currency signs, revision marks, footnotes, negatives."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True)
class Figure:
    """A printed figure. `literal` is its number as an expression writes it, without commas."""

    text: str
    literal: str
    revised: bool = False

    @property
    def value(self) -> float:
        """The number."""
        return float(self.literal)


NUMBER = r"\(?-?\$?\s?-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?%?\)?|-?\$?\.\d+%?"
_CELL = re.compile(
    rf"^(?P<mark>[rpe]\s?|\*)?(?P<number>{NUMBER})"
    r"(?:\s?(?P<after>[rpe]|\((?:r|p|e|revised|corrected|preliminary)\)"
    r"|\*))?(?:\s+\d{1,2}/?)?(?:\s+[-–]\s+[\d.]+)?$",
    re.I,
)


@lru_cache(maxsize=65536)
def figure(text: str) -> Figure | None:
    """The figure in a table cell; `None` for an empty cell, a dash, `n.a.` or words."""
    found = _CELL.match(text.strip().strip("*_").strip())
    if found is None:
        return None
    mark = ((found["mark"] or "") + (found["after"] or "")).strip("() ").lower()
    return Figure(text.strip(), literal(found["number"]), mark in ("r", "revised", "corrected"))


def literal(number: str) -> str:
    """`($1,234.5)` → `-1234.5`."""
    digits = re.sub(r"[^\d.]", "", number).rstrip(".")
    digits = f"0{digits}" if digits.startswith(".") else digits
    return f"-{digits}" if "-" in number or (number.startswith("(") and number.endswith(")")) else digits


SCALES = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}


def scale(unit: str) -> float:
    """What one of a unit stands for: 1e6 for `millions of dollars`, 1 where no such word is in it."""
    return next((factor for word, factor in SCALES.items() if word in unit.lower()), 1.0)
