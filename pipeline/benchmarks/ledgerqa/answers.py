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
    absolute = "absolute"
    difference = "difference"  # first minus second
    excess = "excess"  # the sum of all but the last, minus the last
    percent_change = "percent_change"  # from first to second
    share = "share"  # first in percent of second
    ratio = "ratio"  # first by second
    sum = "sum"
    mean = "mean"
    geometric_mean = "geometric_mean"
    sample_deviation = "sample_deviation"
    population_deviation = "population_deviation"
    trend = "trend"  # the least-squares slope, the operands being one step apart
    list = "list"
    descending = "descending"  # a list from the largest to the smallest
    ranking = "ranking"  # their names in that order


LISTS = (Operation.list, Operation.descending, Operation.ranking)


@dataclass(frozen=True)
class Operand:
    """A figure as printed, without commas or parentheses, and what a unit of it is."""

    literal: str
    unit: Unit


@dataclass(frozen=True)
class Asked:
    """The form asked of an answer: its unit (`None` for percents, ratios and names) and decimals."""

    unit: Unit | None
    decimals: int


def answer(
    operation: Operation, operands: Sequence[Operand], asked: Asked, names: Sequence[str] = ()
) -> str | None:
    """The answer as the question asks it; `names` are the operands', for a ranking.

    `None` where it isn't clear: a rounding tie, a zero divisor, two of a ranking alike.
    """
    with localcontext(_CONTEXT):
        values = _values(operands, asked)
        if operation not in LISTS:
            return _rounded(operation, values, asked)
        order = _order(operation, values)
        if order is None:
            return None
        if operation is Operation.ranking:
            return f"[{', '.join(names[at] for at in order)}]"
        items = [_rounded(Operation.value, [values[at]], asked) for at in order]
        return None if None in items else f"[{', '.join(map(str, items))}]"


def _values(operands: Sequence[Operand], asked: Asked) -> list[Decimal]:
    unit = asked.unit or operands[0].unit
    return [Decimal(each.literal) * each.unit.dollars / unit.dollars for each in operands]


def _order(operation: Operation, values: Sequence[Decimal]) -> list[int] | None:
    """The operands' numbers in the order of the answer; `None` if two that are ranked are alike."""
    if operation is Operation.list:
        return list(range(len(values)))
    if len(set(values)) < len(values):
        return None
    return sorted(range(len(values)), key=lambda at: -values[at])


def _rounded(operation: Operation, values: Sequence[Decimal], asked: Asked) -> str | None:
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
        case Operation.absolute:
            return abs(first)
        case Operation.difference:
            return first - values[1]
        case Operation.excess:
            return total - 2 * values[-1]
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
        case Operation.trend:
            # With x = 1 … n, the sum of (x - mean)² is n(n² - 1)/12.
            moments = sum(((2 * at - count + 1) * value for at, value in enumerate(values)), Decimal(0))
            return moments * 6 / (count * (count * count - 1))
        case _:
            return first


_FUNCTIONS = {
    Operation.sum: "sum",
    Operation.mean: "mean",
    Operation.geometric_mean: "geomean",
    Operation.sample_deviation: "stdev",
    Operation.population_deviation: "pstdev",
}


def expression(operation: Operation, operands: Sequence[Operand], asked: Asked) -> str:
    """The computation in the runtime's expression language (contract 3.19), before rounding.

    A list's is in brackets, in the order of the answer: an expression an item.
    """
    terms = [_term(operand, asked.unit or operands[0].unit) for operand in operands]
    if operation in LISTS:
        with localcontext(_CONTEXT):
            order = _order(operation, _values(operands, asked)) or range(len(terms))
        return f"[{', '.join(terms[at] for at in order)}]"
    listed = ", ".join(terms)
    match operation:
        case Operation.value:
            return terms[0]
        case Operation.absolute:
            return f"abs({terms[0]})"
        case Operation.difference:
            return _minus(terms[0], terms[1])
        case Operation.excess:
            return _minus(f"sum([{', '.join(terms[:-1])}])", terms[-1])
        case Operation.percent_change:
            return f"percent_change({terms[0]}, {terms[1]})"
        case Operation.share:
            return f"{terms[0]} / ({terms[1]}) * 100"
        case Operation.ratio:
            return f"{terms[0]} / ({terms[1]})"
        case Operation.trend:
            return f"slope([{', '.join(map(str, range(1, len(terms) + 1)))}], [{listed}])"
        case _:
            return f"{_FUNCTIONS[operation]}([{listed}])"


def _minus(term: str, other: str) -> str:
    return f"{term} - ({other})" if other.startswith("-") else f"{term} - {other}"


def _term(operand: Operand, unit: Unit) -> str:
    if unit.dollars == operand.unit.dollars:
        return operand.literal
    return f"{operand.literal} * 1000" if unit.dollars < operand.unit.dollars else f"{operand.literal} / 1000"
