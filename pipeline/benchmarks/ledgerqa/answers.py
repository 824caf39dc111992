"""Exact arithmetic on printed figures: the gold answer, its rounding and the expression that gives it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal, localcontext
from enum import StrEnum

from pipeline.benchmarks.ledgerqa.families import Unit

_CONTEXT = Context(prec=60, rounding=ROUND_HALF_EVEN)
_NEAR_TIE = Decimal("1e-6")  # of the last decimal: closer to a rounding border than this is no clear answer


class Operation(StrEnum):
    """What is done with the operands, in their order."""

    value = "value"
    difference = "difference"  # first minus second
    percent_change = "percent_change"  # from first to second
    share = "share"  # first in percent of second
    ratio = "ratio"  # first by second
    sum = "sum"
    mean = "mean"
    geometric_mean = "geometric_mean"
    sample_deviation = "sample_deviation"
    population_deviation = "population_deviation"


@dataclass(frozen=True)
class Operand:
    """A figure as printed, without commas, and what a unit of it is."""

    literal: str
    unit: Unit


@dataclass(frozen=True)
class Asked:
    """The form asked of an answer: its unit (`None` for percents and ratios) and decimals."""

    unit: Unit | None
    decimals: int


def answer(operation: Operation, operands: Sequence[Operand], asked: Asked) -> str | None:
    """The answer as the question asks it; `None` where it isn't clear (a rounding tie, a zero divisor)."""
    with localcontext(_CONTEXT):
        unit = asked.unit or operands[0].unit
        values = [Decimal(each.literal) * each.unit.dollars / unit.dollars for each in operands]
        try:
            exact = _evaluate(operation, values)
        except (ArithmeticError, ValueError):
            return None
        step = Decimal(1).scaleb(-asked.decimals)
        below = (exact / step) % 1
        if abs(abs(below) - Decimal("0.5")) < _NEAR_TIE:
            return None
        rounded = exact.quantize(step)
        return f"{rounded if rounded else abs(rounded):f}"


def _evaluate(operation: Operation, values: Sequence[Decimal]) -> Decimal:
    first, count = values[0], len(values)
    total = sum(values, Decimal(0))
    match operation:
        case Operation.value:
            return first
        case Operation.difference:
            return first - values[1]
        case Operation.percent_change:
            return (values[1] - first) / first * 100
        case Operation.share:
            return first / values[1] * 100
        case Operation.ratio:
            return first / values[1]
        case Operation.sum:
            return total
        case Operation.mean:
            return total / count
        case Operation.geometric_mean:
            if min(values) <= 0:
                raise ValueError("a geometric mean needs figures above zero")
            return (sum((value.ln() for value in values), Decimal(0)) / count).exp()
        case Operation.sample_deviation | Operation.population_deviation:
            squares = sum(((value - total / count) ** 2 for value in values), Decimal(0))
            return (squares / (count - (operation is Operation.sample_deviation))).sqrt()


_FUNCTIONS = {
    Operation.sum: "sum",
    Operation.mean: "mean",
    Operation.geometric_mean: "geomean",
    Operation.sample_deviation: "stdev",
    Operation.population_deviation: "pstdev",
}


def expression(operation: Operation, operands: Sequence[Operand], asked: Asked) -> str:
    """The computation in the runtime's expression language (contract 3.19), before rounding."""
    terms = [_term(operand, asked.unit or operands[0].unit) for operand in operands]
    match operation:
        case Operation.value:
            return terms[0]
        case Operation.difference:
            return f"{terms[0]} - ({terms[1]})" if terms[1].startswith("-") else f"{terms[0]} - {terms[1]}"
        case Operation.percent_change:
            return f"percent_change({terms[0]}, {terms[1]})"
        case Operation.share:
            return f"{terms[0]} / ({terms[1]}) * 100"
        case Operation.ratio:
            return f"{terms[0]} / ({terms[1]})"
        case _:
            return f"{_FUNCTIONS[operation]}([{', '.join(terms)}])"


def _term(operand: Operand, unit: Unit) -> str:
    if unit.dollars == operand.unit.dollars:
        return operand.literal
    return f"{operand.literal} * 1000" if unit.dollars < operand.unit.dollars else f"{operand.literal} / 1000"
