"""Scorers: gold and answer in, metrics out.

A scorer is a module with `NAME`, `VERSION`, `PARAMS` and `score(gold, answer)`; a benchmark names it by its
import path.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from pipeline.benchmarks.tasks import Gold


@dataclass(frozen=True)
class Metric:
    """One figure of one answer; `value` is None where it can't be scored, `reason` says why it is not 1."""

    metric: str
    value: float | None
    reason: str = ""


class Scorer(Protocol):
    """What a scorer's module offers. `PARAMS` are the settings that its figures depend on."""

    NAME: str
    VERSION: str
    PARAMS: Mapping[str, float]

    def score(self, gold: Gold, answer: str | None) -> list[Metric]:
        """Return the same metrics, in the same order, for every answer; `None` is an episode without one."""
        ...
