"""Scorers: gold and answer in, metrics out.

A scorer is a module that offers what `Scorer` says, or, where a model has to judge, `JudgedScorer`; a
benchmark names it by its import path.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, Protocol, cast

from pipeline.benchmarks.tasks import Gold
from pipeline.errors import ConfigError
from pipeline.protocols import Message

if TYPE_CHECKING:
    from typing_extensions import TypeIs  # the interpreter has it from 3.13

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


class JudgedScorer(Protocol):
    """What the module of a scorer offers whose verdicts a model gives.

    It asks nobody: it says what is to be asked, and reads the reply. Its one metric is the share of the
    repeats that found the answer correct. An episode without an answer, or with a blank one, is not asked
    about: it scores 0.
    """

    NAME: str
    VERSION: str
    METRIC: str

    def messages(self, question: str, gold: Gold, answer: str) -> tuple[Message, ...]:
        """Return the messages that ask for a verdict on `answer`; equal arguments give equal messages."""
        ...

    def verdict(self, reply: str) -> bool | None:
        """Return whether `reply` says that the answer is correct; None if it gives no verdict."""
        ...


def is_judged(scorer: Scorer | JudgedScorer) -> TypeIs[JudgedScorer]:
    """Tell a scorer that needs a judge from one that does not."""
    return hasattr(scorer, "messages")


_OFFERED = ("NAME", "VERSION", "PARAMS", "score")
_OFFERED_JUDGED = ("NAME", "VERSION", "METRIC", "messages", "verdict")


def load_scorer(path: str) -> Scorer | JudgedScorer:
    """Return the scorer at an import path, or of ours by its name. Raises `ConfigError` if there is none."""
    ours = sorted(found.name for found in iter_modules(__path__))
    try:
        module = import_module(f"{__name__}.{path}" if path in ours else path)
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"scorer {path!r}: there is no module {error.name!r} to import; give an import path, or one of "
            f"{', '.join(ours)}"
        ) from error
    except ValueError as error:  # an empty path, or a relative one
        raise ConfigError(f"scorer {path!r} is no import path: write package.module") from error
    offered = _OFFERED_JUDGED if hasattr(module, "messages") else _OFFERED
    if missing := [name for name in offered if not hasattr(module, name)]:
        raise ConfigError(f"{path!r} is no scorer: it has no {', '.join(missing)}")
    return cast("Scorer | JudgedScorer", module)
