"""Scorers: gold and answer in, metrics out.

A scorer is a module that offers what `Scorer` says; a benchmark names it by its import path.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol, cast

from pipeline.benchmarks.tasks import Gold
from pipeline.errors import ConfigError

NO_ANSWER = "no answer"
"""Reason of an episode that ended without an accepted answer (contract 4.4)."""
INTERNAL_ERROR = "internal error"
"""How the reason begins where a scorer itself failed; such scores are counted."""


@dataclass(frozen=True)
class Metric:
    """One figure of one answer; `value` is None where it can't be scored, `reason` says why it is not 1."""

    metric: str
    value: float | None
    reason: str = ""


class Scorer(Protocol):
    """What a scorer's module offers. `PARAMS` are the settings behind each of its metrics."""

    NAME: str
    VERSION: str
    PARAMS: Mapping[str, Mapping[str, Any]]

    def score(self, gold: Gold, answer: str | None) -> list[Metric]:
        """Return one metric for each of `PARAMS`, in that order; an answer of None scores 0 (`NO_ANSWER`)."""
        ...

    def score_answer(self, gold: str, answer: str, tolerance: float) -> float:
        """Score a bare string within a relative tolerance."""
        ...


def load_scorer(path: str) -> Scorer:
    """Return the scorer at an import path. Raises `ConfigError` if there is none."""
    try:
        module = import_module(path)
    except ModuleNotFoundError as error:
        raise ConfigError(f"scorer {path!r}: there is no module {error.name!r} to import") from error
    if missing := [name for name in ("NAME", "VERSION", "PARAMS", "score") if not hasattr(module, name)]:
        raise ConfigError(f"{path!r} is no scorer: it has no {', '.join(missing)}")
    return cast(Scorer, module)
