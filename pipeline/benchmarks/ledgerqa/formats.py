"""The answer's format (contract 3.21), read from the question's text alone."""

from __future__ import annotations

import re

from pipeline.protocols import AnswerFormat

_NUMERALS = {"zero": 0, "no": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_DECIMALS = re.compile(
    r"\b(\w+) (?:decimal places?|decimals?|digits? after the (?:decimal )?point|places? after the point)\b"
)
_WHOLE = re.compile(r"\b(?:whole number|integer|without (?:any )?decimals?|no decimals)\b")
_UNITS = (
    (re.compile(r"\bin millions of dollars|\bmillion dollars"), "millions of dollars"),
    (re.compile(r"\bin thousands of dollars|\bthousand dollars"), "thousands of dollars"),
    (re.compile(r"\bin percent,|\b(?:in|state) per cent\b(?! of)"), "percent"),
)


def answer_format(question: str) -> AnswerFormat:
    """The form that a question asks of its answer: a number, its decimals and unit where it names them."""
    unit = next((name for pattern, name in _UNITS if pattern.search(question)), None)
    return AnswerFormat(form="number", decimals=_decimals(question), unit=unit)


def _decimals(question: str) -> int | None:
    if _WHOLE.search(question):
        return 0
    for word in _DECIMALS.findall(question):
        if word.isdecimal():
            return int(word)
        if word in _NUMERALS:
            return _NUMERALS[word]
    return None
