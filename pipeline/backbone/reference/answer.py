"""From the figures held to an expression, and from its value to the answer in the form that is asked."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation

from pipeline.backbone.reference.facts import Fact
from pipeline.backbone.reference.numerals import scale
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


def expression(question: Question, facts: Sequence[Fact]) -> str | None:
    """The expression that answers the question; `None` if it is a figure (or a list of them) as printed."""
    terms = _terms(question, facts)
    first, last = terms[0], terms[-1]
    if question.aim in _FUNCTIONS:
        return f"{_FUNCTIONS[question.aim]}([{', '.join(terms)}])" if len(terms) > 1 else _converted(first)
    if len(terms) < 2 or question.aim == "list":
        return _converted(first) if question.aim != "list" else None
    if question.aim == "slope":
        xs = [str(fact.period.year if fact.period else number) for number, fact in enumerate(facts)]
        return f"slope([{', '.join(xs)}], [{', '.join(terms)}])"
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


def _terms(question: Question, facts: Sequence[Fact]) -> list[str]:
    """The figures, brought to one unit: the one asked for, else the largest of theirs."""
    scales = [scale(fact.unit) for fact in facts]
    known = [bool(fact.unit) for fact in facts]
    target = (
        question.scale if question.scale and question.aim not in _UNITLESS and all(known) else max(scales)
    )
    return [_term(fact.figure.literal, own / target) for fact, own in zip(facts, scales, strict=True)]


def _term(literal: str, factor: float) -> str:
    if factor == 1:
        return literal
    return f"{literal} * {round(factor)}" if factor > 1 else f"{literal} / {round(1 / factor)}"


def _converted(term: str) -> str | None:
    return term if " " in term else None


def _grouped(term: str) -> str:
    return f"({term})" if " " in term or term.startswith("-") else term


def wording(question: Question, facts: Sequence[Fact], value: str | None) -> str:
    """The answer's text, from the expression's value (`None`: the figures as printed)."""
    if question.names_period and question.aim in ("max", "min"):
        choose = max if question.aim == "max" else min
        return str(choose(facts, key=lambda fact: fact.amount).period)
    if question.aim == "list" or value is None:
        shown = [rounded(fact.figure.literal, question.decimals) for fact in facts]
        return f"[{', '.join(shown)}]" if len(shown) > 1 or question.bracketed else shown[0]
    return rounded(value, question.decimals)


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
