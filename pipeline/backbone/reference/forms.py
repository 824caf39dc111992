"""The form that a question asks of its answer: decimals, unit, a list, a period."""

from __future__ import annotations

import re
from typing import Literal

from pipeline.backbone.reference.numerals import SCALES

_NUMERALS = {"no": 0, "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_PLACES = re.compile(
    rf"\b({'|'.join(_NUMERALS)}|\d)\s+(?:decimals?\b|digits?\s+(?:after|behind|past|to the right)|places?\b)",
    re.I,
)
_NEAREST = re.compile(r"\bnearest\s+(?:\w+\s+)?(tenth|hundredth|thousandth|\w+)", re.I)
_WHOLE = re.compile(
    r"\bwhole (?:number|\w+ of dollars)|\binteger|\bwithout (?:any )?decimals?|\bunrounded whole", re.I
)
_FRACTIONS = {"tenth": 1, "hundredth": 2, "thousandth": 3}
_SCALE = re.compile(
    r"\b(?:in|of|as|many|to the nearest)\s+(?:\w+\s+)?(thousand|million|billion|trillion)s?\b", re.I
)
_SCALED = re.compile(r"\b(thousand|million|billion|trillion)s?\s+(?:of\s+)?dollars?\b", re.I)

Form = Literal["letter", "text", "list", "number", "line"]

_FORMS: tuple[tuple[Form, str], ...] = (
    ("letter", r"\bletter\b"),
    ("text", r"\bfree text\b"),
    ("list", r"\blist\b"),
    ("number", r"\bnumber\b"),
)


def form(answer_format: str) -> Form:
    """What an answer format asks for."""
    found = (name for name, pattern in _FORMS if re.search(pattern, answer_format, re.I))
    return next(found, "line")


def list_length(answer_format: str) -> int | None:
    """How many items a list shall have; `None` where that is open."""
    found = re.search(r"\bof (\d+) items?\b", answer_format)
    return int(found[1]) if found else None


def decimals(text: str) -> int | None:
    """The decimals asked for; `None` if a text doesn't say."""
    if found := _PLACES.search(text):
        return _NUMERALS.get(found[1].lower(), int(found[1]) if found[1].isdigit() else 0)
    if _WHOLE.search(text):
        return 0
    if found := _NEAREST.search(text):
        return _FRACTIONS.get(found[1].lower(), 0)
    return None


def asked_scale(text: str) -> float | None:
    """What one of the unit asked for stands for: 1e6 for millions; `None` if a text doesn't say."""
    if found := _SCALED.search(text) or _SCALE.search(text):
        return SCALES[found[1].lower()]
    return 1.0 if re.search(r"\bin (?:whole )?dollars\b", text, re.I) else None


def wants_list(text: str) -> bool:
    """Whether the answer is a bracketed list."""
    return re.search(r"\[|bracket|as a list", text, re.I) is not None


_GREATER, _SMALLER = r"(?:large|high|great|big)(?:st|est|gest)", r"(?:small|low|least)(?:est)?"

Order = Literal["", "descending", "ascending"]


def read_order(text: str) -> Order:
    """The order of a list's items by size; empty if a text asks for none."""
    if re.search(rf"\b{_GREATER}(?: \w+)? (?:to|first)\b|\bdescending\b|\bdecreasing\b", text, re.I):
        return "descending"
    if re.search(rf"\b{_SMALLER}(?: \w+)? (?:to|first)\b|\bascending\b|\bincreasing\b", text, re.I):
        return "ascending"
    return ""


def wants_names(text: str) -> bool:
    """Whether the items of a list are names, not figures."""
    return re.search(r"\bnames?\b|\brank(?:ed|ing)?\b", text, re.I) is not None


def wants_period(text: str) -> bool:
    """Whether the answer is a period: `in which month …`."""
    return (
        re.search(r"\b(?:which|what)\s+(?:calendar\s+|fiscal\s+)?(?:month|year|quarter)\b", text, re.I)
        is not None
    )
