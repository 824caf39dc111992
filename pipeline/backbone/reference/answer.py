"""From the figures held to an expression, and from its value to the answer in the form that is asked."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation
from itertools import groupby
from operator import itemgetter

from pipeline.backbone.reference.facts import Fact
from pipeline.backbone.reference.numerals import scale
from pipeline.backbone.reference.operands import Operand
from pipeline.backbone.reference.question import Question

UNKNOWN = "unable to determine"
_FUNCTIONS = {
    "sum": "sum",
    "mean": "mean",
    "geomean": "geomean",
    "median": "median",
    "stdev": "stdev",
    "pstdev": "pstdev",
    "max": "max",
    "min": "min",
}
_UNITLESS = ("percent_change", "ratio", "share", "cagr")


def expression(question: Question, operands: Sequence[Operand], facts: Sequence[Fact]) -> str | None:
    """The expression that answers the question; `None` if it is a figure (or a list of them) as printed.

    `facts` are the figures of `operands`, one each.
    """
    terms = _terms(question, operands, facts)
    first, last = terms[0], terms[-1]
    if question.aim == "list":
        return None
    if question.aim == "absolute":
        return f"abs({first})"
    if question.aim in _FUNCTIONS:
        return f"{_FUNCTIONS[question.aim]}([{', '.join(terms)}])" if len(terms) > 1 else _converted(first)
    if len(terms) < 2:
        return _converted(first)
    if question.aim == "slope":
        return f"slope([{', '.join(map(str, places(question, facts)))}], [{', '.join(terms)}])"
    if question.aim == "cagr":
        years = facts[-1].period.year - facts[0].period.year if facts[0].period and facts[-1].period else 1
        return f"cagr({first}, {last}, {max(years, 1)})"
    one, other = (last, first) if question.reversed else (first, last)
    match question.aim:
        case "difference":
            return f"{one} - {_grouped(other)}"
        case "percent_change":
            return f"percent_change({one}, {other})"
        case "ratio":
            return f"{_grouped(one)} / {_grouped(other)}"
        case "share":
            return f"{_grouped(one)} / {_grouped(other)} * 100"
    return f"sum([{', '.join(terms)}])"


def places(question: Question, facts: Sequence[Fact]) -> list[int]:
    """Where the figures of a trend stand in time: its months (or quarters) from 1 on, else its years."""
    if question.aim != "slope":
        return []
    periods = [fact.period for fact in facts]
    if all(period and not (period.month or period.quarter) for period in periods):
        return [period.year for period in periods if period]
    return list(range(1, len(facts) + 1))


def _terms(question: Question, operands: Sequence[Operand], facts: Sequence[Fact]) -> list[str]:
    """The question's terms, added up where one has several figures, in one unit.

    The unit is the one asked for, else the largest of theirs.
    """
    scales = [scale(fact.unit) for fact in facts]
    known = all(fact.unit for fact in facts)
    target = question.scale if question.scale and question.aim not in _UNITLESS and known else max(scales)
    figures = [_term(fact.figure.literal, own / target) for fact, own in zip(facts, scales, strict=True)]
    placed = zip((operand.term for operand in operands), figures, strict=True)
    terms = [[figure for _, figure in group] for _, group in groupby(placed, itemgetter(0))]
    return [f"sum([{', '.join(term)}])" if len(term) > 1 else term[0] for term in terms]


def _term(literal: str, factor: float) -> str:
    if factor == 1:
        return literal
    return f"{literal} * {round(factor)}" if factor > 1 else f"{literal} / {round(1 / factor)}"


def _converted(term: str) -> str | None:
    return term if " " in term else None


def _grouped(term: str) -> str:
    return f"({term})" if " " in term or term.startswith("-") else term


def wording(question: Question, operands: Sequence[Operand], facts: Sequence[Fact], value: str | None) -> str:
    """The answer's text, from the expression's value (`None`: the figures as printed)."""
    if question.names_period and question.aim in ("max", "min"):
        choose = max if question.aim == "max" else min
        return str(choose(facts, key=lambda fact: fact.amount).period)
    if question.aim == "list" or value is None:
        shown = _items(question, operands, facts)
        return f"[{', '.join(shown)}]" if len(shown) > 1 or question.bracketed else shown[0]
    return rounded(value, question.decimals)


def _items(question: Question, operands: Sequence[Operand], facts: Sequence[Fact]) -> list[str]:
    """The items of a list, names or figures, in the unit and the order asked for."""
    pairs = list(zip(operands, facts, strict=True))
    if question.order:
        pairs.sort(key=lambda pair: pair[1].amount, reverse=question.order == "descending")
    if question.names_row:
        return [operand.row or fact.label for operand, fact in pairs]
    return [rounded(_in_unit(question, fact), question.decimals) for _, fact in pairs]


def _in_unit(question: Question, fact: Fact) -> str:
    """A figure in the unit asked for, exactly."""
    if question.aim != "list" or not question.scale or not fact.unit:
        return fact.figure.literal
    factor = Decimal(scale(fact.unit)) / Decimal(question.scale)
    return f"{Decimal(fact.figure.literal) * factor:f}"


def rounded(value: str, decimals: int | None) -> str:
    """A number at the decimals asked for; without any, as it is."""
    try:
        number = Decimal(value)
    except InvalidOperation:
        return value
    if decimals is None:
        return f"{number:f}"
    shown = number.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_EVEN)
    return f"{shown if shown else abs(shown):f}"
