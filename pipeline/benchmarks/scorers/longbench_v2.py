"""Scorer `longbench_v2`: one of four letters, read as LongBench v2 reads it.

Asterisks are deleted. The letter is that of "The correct answer is (X)", else of "The correct answer is X",
else the answer itself, as a harness that is asked for a letter gives it: `X`, `(X)` or `X.`. An answer
without one is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pipeline.benchmarks.scorers import INTERNAL_ERROR, NO_ANSWER, Metric
from pipeline.benchmarks.tasks import Gold

NAME = "longbench_v2"
VERSION = "1"
PARAMS: Mapping[str, Mapping[str, Any]] = {"correct": {}}
UNANSWERED = "no letter in the answer"

_SAID = (re.compile(r"The correct answer is \(([A-D])\)"), re.compile(r"The correct answer is ([A-D])"))
_BARE = re.compile(r"\(([A-D])\)\.?|([A-D])\.?")


def score(gold: Gold, answer: str | None) -> list[Metric]:
    """Return the metric `correct`: 1 for the gold's letter, else 0 with the reason."""
    fault = NO_ANSWER if answer is None else _fault(gold.answer, answer)
    return [Metric("correct", float(not fault), fault)]


def score_answer(gold: str, answer: str, tolerance: float) -> float:
    """Return 1.0 if `answer` gives the letter `gold`, else 0.0; a letter knows no tolerance."""
    return float(not _fault(gold, answer))


def letter(answer: str) -> str | None:
    """Return the letter that an answer gives, or None."""
    text = answer.replace("*", "")
    for pattern in _SAID:
        if found := pattern.search(text):
            return found[1]
    bare = _BARE.fullmatch(text.strip())
    return bare and (bare[1] or bare[2])


def _fault(gold: str, answer: str) -> str:
    if gold not in ("A", "B", "C", "D"):
        return f"{INTERNAL_ERROR}: the gold {gold!r} is no letter from A to D"
    given = letter(answer)
    if given is None:
        return UNANSWERED
    return "" if given == gold else f"{given}, not {gold}"
