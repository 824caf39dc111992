"""Scorer `answer`: answers to people's own questions, by rule.

An answer is correct if it is the gold but for case and white space (of any length, over any number of lines),
or, where the gold holds a number, if it matches by the clauses of `officeqa_strict` within the gold's own
relative tolerance (0 if it has none). For answers that only a reader can compare there is `equality`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pipeline.benchmarks.scorers import INTERNAL_ERROR, NO_ANSWER, Metric, officeqa
from pipeline.benchmarks.tasks import Gold

NAME = "answer"
VERSION = "1"
PARAMS: Mapping[str, Mapping[str, Any]] = {"correct": {"tolerance": "the question's own"}}


def score(gold: Gold, answer: str | None) -> list[Metric]:
    """Return the metric `correct`: 1 for a match, else 0 with the reason."""
    fault = NO_ANSWER if answer is None else _fault(gold.answer, answer, gold.tolerance or 0.0)
    return [Metric("correct", float(not fault), fault)]


def score_answer(gold: str, answer: str, tolerance: float) -> float:
    """Return 1.0 if `answer` matches `gold` within the relative `tolerance` (0 to 1), else 0.0."""
    return float(not _fault(gold, answer, tolerance))


def _fault(gold: str, answer: str, tolerance: float) -> str:
    expected, given = _spaced(gold), _spaced(officeqa.extract(answer))
    if not expected:
        return f"{INTERNAL_ERROR}: the gold answer is empty"
    if expected.casefold() == given.casefold():
        return ""
    if not re.search(r"\d", expected):
        return "another text than the gold"
    return officeqa.faults(expected, given, [tolerance], glued=True)[0]


def _spaced(text: str) -> str:
    return " ".join(text.split())
