"""A dataset's questions with all that is known of them, asked of other figures than the right ones, too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_EVEN, Decimal
from pathlib import Path

from pipeline.benchmarks.ledgerqa import answers
from pipeline.benchmarks.ledgerqa.answers import Asked, Operand, Operation
from pipeline.benchmarks.ledgerqa.families import Unit
from pipeline.benchmarks.ledgerqa.loading import Facts, facts
from pipeline.benchmarks.tasks import Span, Task
from pipeline.calculator import evaluate
from pipeline.errors import InvalidOperation

Value = tuple[str, str]
"""A figure without commas, and its unit, `thousand` or `million`."""


@dataclass(frozen=True)
class Question:
    """A question, and what only its maker knows."""

    task: Task
    facts: Facts

    @property
    def id(self) -> str:
        """The task's id."""
        return self.facts.id

    @property
    def answer(self) -> str:
        """The gold answer."""
        return self.facts.answer

    @property
    def listed(self) -> bool:
        """Whether a list is asked."""
        return self.answer.startswith("[")

    def gold_spans(self) -> Iterator[Span]:
        """Every place that prints one of its figures."""
        for operand in self.facts.operands:
            yield operand.span
            yield from operand.alternates

    def expression(self, figures: Sequence[Value], converted: bool = True) -> str:
        """What is asked to be computed, over figures in the operands' order.

        Unless `converted`, it is in the unit of the first of them in place of the one that is asked.
        """
        asked = self._asked if converted else replace(self._asked, unit=None)
        return answers.expression(self._operation, _operands(figures), asked)

    def terms(self, figures: Sequence[Value]) -> list[str]:
        """Figures as they stand in the expression, each in the unit asked."""
        return answers.terms(_operands(figures), self._asked)

    def answered(self, figures: Sequence[Value], names: Sequence[str]) -> str | None:
        """What is asked, of figures; `names` are those of their rows. None if they give no answer."""
        return answers.answer(self._operation, _operands(figures), self._asked, names)

    @property
    def _operation(self) -> Operation:
        return Operation(self.facts.operation)

    @property
    def _asked(self) -> Asked:
        return Asked(Unit(self.facts.unit, 0) if self.facts.unit else None, self.facts.decimals)


def _operands(figures: Sequence[Value]) -> list[Operand]:
    return [Operand(literal, Unit(unit, 0)) for literal, unit in figures]


def questions(folder: Path, tasks: Sequence[Task]) -> Iterator[Question]:
    """Yield the tasks of the dataset in `folder` with what is known of them. Raises `BenchmarkError`."""
    known = facts(folder)
    for task in tasks:
        yield Question(task, known[task.view.id])


def computed(expression: str) -> Decimal | None:
    """The value of an expression as the runtime's calculator gives it; None if it gives none."""
    try:
        return Decimal(str(evaluate(expression).value))
    except InvalidOperation:
        return None


def in_form_of(answer: str, value: Decimal) -> str:
    """A value with as many decimals as `answer` has."""
    decimals = len(answer.partition(".")[2].rstrip(" %"))
    rounded = value.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_EVEN)
    return f"{rounded if rounded else abs(rounded):f}"
