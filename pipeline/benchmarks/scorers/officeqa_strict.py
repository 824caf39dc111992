"""Scorer `officeqa_strict`: `officeqa`, but for its known hole. Reported beside it, never instead.

To `officeqa`, `2.6B` is a number without a unit, which matches 2.6 million. Here a suffix glued to a number
(k; m, mm, mn, mln; b, bn, bln; t, tn, trn; or the word) is its unit, whatever other unit words stand near.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipeline.benchmarks.scorers import Metric, officeqa
from pipeline.benchmarks.tasks import Gold

NAME = "officeqa_strict"
VERSION = f"{officeqa.VERSION}+1"
PARAMS: Mapping[str, Mapping[str, Any]] = officeqa.PARAMS


def score(gold: Gold, answer: str | None) -> list[Metric]:
    """Return one metric a tolerance: 1 for a match, else 0 with the reason. No answer scores 0."""
    return officeqa.metrics(gold, answer, glued=True)


def score_answer(gold: str, answer: str, tolerance: float) -> float:
    """Return 1.0 if `answer` matches `gold` within the relative `tolerance` (0 to 1), else 0.0."""
    return float(not officeqa.faults(gold, answer, [tolerance], glued=True)[0])
