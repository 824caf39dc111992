"""The answer's format (contract 3.21), read from the question's text alone."""

from __future__ import annotations

import re

from pipeline.protocols import AnswerFormat

_NUMERALS = {
    word: number
    for number, word in enumerate(("no", "one", "two", "three", "four", "five", "six", "seven", "eight"))
} | {"zero": 0}
_DECIMALS = re.compile(
    r"\b(\w+) (?:decimal places?|decimals?|digits? after the (?:decimal )?point|places? after the point)\b"
)
_WHOLE = re.compile(r"\b(?:whole numbers?|integers?|without (?:any )?decimals?|no decimals)\b")
_UNITS = (
    (re.compile(r"\bin millions of dollars|\bmillion dollars"), "millions of dollars"),
    (re.compile(r"\bin thousands of dollars|\bthousand dollars"), "thousands of dollars"),
    (re.compile(r"\bin percent,|\b(?:in|state) per cent\b(?! of)"), "percent"),
)
_LIST = re.compile(r"\b(?:square )?bracket(?:s|ed)\b")
_ITEMS = re.compile(r"\b(\w+) (?:whole numbers|integers|numbers|amounts|names|items|entries)\b")


def answer_format(question: str) -> AnswerFormat:
    """The form that a question asks for: a number or a list, its decimals and unit where it names them."""
    unit = next((name for pattern, name in _UNITS if pattern.search(question)), None)
    if _LIST.search(question):
        length = _number(_ITEMS, question)
        return AnswerFormat(form="list", decimals=_decimals(question), unit=unit, length=length)
    return AnswerFormat(form="number", decimals=_decimals(question), unit=unit)


def _decimals(question: str) -> int | None:
    return 0 if _WHOLE.search(question) else _number(_DECIMALS, question)


def _number(pattern: re.Pattern[str], text: str) -> int | None:
    """The number before the words of a pattern, the first that is one."""
    for word in pattern.findall(text):
        if word.isdecimal():
            return int(word)
        if word in _NUMERALS:
            return _NUMERALS[word]
    return None
