"""A dataset's questions with all that is known of them, and their formulas taken apart."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal
from pathlib import Path

from pipeline.benchmarks.ledgerqa.loading import Facts, OperandFacts, facts
from pipeline.benchmarks.tasks import Span, Task
from pipeline.calculator import evaluate
from pipeline.errors import InvalidOperation

_CONVERSION = re.compile(r" ([*/]) 1000\b(?!\.)")


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


def questions(folder: Path, tasks: Sequence[Task]) -> Iterator[Question]:
    """Yield the tasks of the dataset in `folder` with what is known of them. Raises `BenchmarkError`."""
    known = facts(folder)
    for task in tasks:
        yield Question(task, known[task.view.id])


@dataclass(frozen=True)
class Term:
    """An operand in a formula: its number among the operands, and the unit that it is converted to."""

    operand: int
    unit: str


@dataclass(frozen=True)
class Formula:
    """An expression with holes: `parts[0] term[0] parts[1] term[1] … parts[-1]`."""

    parts: tuple[str, ...]
    terms: tuple[Term, ...]

    def fill(self, figures: Sequence[tuple[str, str]], convert: bool = True) -> str:
        """The expression over other figures, each a literal and its unit, in the operands' order."""
        pieces = [self.parts[0]]
        for term, after in zip(self.terms, self.parts[1:], strict=True):
            pieces += [self.written(term, figures, convert), after]
        return "".join(pieces)

    def written(self, term: Term, figures: Sequence[tuple[str, str]], convert: bool = True) -> str:
        """One term over other figures."""
        literal, unit = figures[term.operand]
        converted = "" if unit == term.unit or not convert else _conversion(unit, term.unit)
        return f"({literal}){converted}" if literal.startswith("-") else f"{literal}{converted}"

    def items(self, figures: Sequence[tuple[str, str]], convert: bool = True) -> list[str]:
        """The terms over other figures, in the operands' order."""
        ordered = sorted(self.terms, key=lambda term: term.operand)
        return [self.written(term, figures, convert) for term in ordered]


def _conversion(unit: str, wanted: str) -> str:
    return " * 1000" if (unit, wanted) == ("million", "thousand") else " / 1000"


def formula(question: Question) -> Formula | None:
    """Take a question's expression apart; None if its operands are not found in it."""
    expression, operands = question.facts.expression, question.facts.operands
    position = expression.find("], [") + 1 if expression.startswith("slope(") else 0
    left = list(range(len(operands)))
    parts, terms, start = [], [], 0
    while left:
        found = _next_term(expression, position, [operands[at] for at in left], question.listed)
        if found is None:
            return None
        which, begin, end, unit = found
        terms.append(Term(left.pop(which), unit))
        parts.append(expression[start:begin])
        start = position = end
    return Formula((*parts, expression[start:]), tuple(terms))


def _next_term(
    expression: str, position: int, operands: Sequence[OperandFacts], any_order: bool
) -> tuple[int, int, int, str] | None:
    """The next term: which operand it is, its range, and the unit it is in after conversion."""
    found = []
    for which, operand in enumerate(operands if any_order else operands[:1]):
        pattern = rf"(?<![\d.\-]){re.escape(operand.literal)}(?![\d.])"
        if match := re.compile(pattern).search(expression, position):
            found.append((match.start(), which, match.end(), operand.unit))
    if not found:
        return None
    begin, which, end, unit = min(found)
    wrapped = re.search(r"(?:^|[^a-z_])\($", expression[:begin]) and expression[end : end + 1] == ")"
    if wrapped and operands[which].literal.startswith("-"):
        begin, end = begin - 1, end + 1
    conversion = _CONVERSION.match(expression, end)
    if conversion:
        unit, end = ("thousand" if conversion[1] == "*" else "million"), conversion.end()
    return which, begin, end, unit


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
