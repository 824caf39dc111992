"""A dataset's questions with all that is known of them, and their formulas taken apart."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal
from pathlib import Path
from typing import Any

import orjson

from pipeline.benchmarks.ledgerqa.dataset import GOLD
from pipeline.benchmarks.tasks import Span, Task
from pipeline.calculator import evaluate
from pipeline.errors import BenchmarkError, InvalidOperation

_CONVERSION = re.compile(r" ([*/]) 1000\b(?!\.)")


@dataclass(frozen=True)
class Operand:
    """A figure that the answer rests on: where it stands, and the other places that print the same."""

    literal: str
    unit: str
    span: Span
    alternates: tuple[Span, ...]


@dataclass(frozen=True)
class Question:
    """A question, and what only its maker knows."""

    task: Task
    operation: str
    operands: tuple[Operand, ...]
    expression: str
    stale_answer: str | None

    @property
    def id(self) -> str:
        """The task's id."""
        return self.task.view.id

    @property
    def answer(self) -> str:
        """The gold answer."""
        return self.task.gold.answer

    @property
    def listed(self) -> bool:
        """Whether a list is asked."""
        return self.answer.startswith("[")

    def gold_spans(self) -> Iterator[Span]:
        """Every place that prints one of its figures."""
        for operand in self.operands:
            yield operand.span
            yield from operand.alternates


def questions(folder: Path, tasks: Sequence[Task]) -> Iterator[Question]:
    """Yield the tasks of the dataset in `folder` with their gold in full.

    Raises `BenchmarkError`, naming file and row, where the gold lacks what it takes.
    """
    path = folder / GOLD
    rows: dict[str, Mapping[str, Any]] = {}
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        row = orjson.loads(line)
        missing = [name for name in ("operands", "expression", "stale_answer") if name not in row]
        if missing or len(row["operands"]) != len(row["spans"]):
            raise BenchmarkError(
                f"{path}, row {number}: {missing[0] if missing else 'operands'!r} is missing or does not go "
                "with spans: generate the dataset anew with `longharness ledgerqa`"
            )
        rows[row["id"]] = row
    for task in tasks:
        yield _question(task, rows[task.view.id])


def _question(task: Task, row: Mapping[str, Any]) -> Question:
    gold = task.gold
    alternates = gold.alternates or ((),) * len(gold.spans)
    operands = tuple(
        Operand(fact["literal"], fact["unit"], span, others)
        for fact, span, others in zip(row["operands"], gold.spans, alternates, strict=True)
    )
    operation = task.fields.get("operation", "value")
    return Question(task, operation, operands, row["expression"], row["stale_answer"])


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
    expression, operands = question.expression, question.operands
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
    expression: str, position: int, operands: Sequence[Operand], any_order: bool
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
