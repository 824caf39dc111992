"""The form of an answer, read from the question (contract 3.21). No gold is seen here."""

from __future__ import annotations

import re

from pipeline.protocols import AnswerFormat

_LIST = re.compile(
    r"\bbracketed list\b|\bin (?:square )?brackets\b|\b[Aa]nswer (?:as|with|in the form) \[[^\[\]]+,"
)
_DECIMALS = re.compile(r"\b(\w+) decimal places?\b")
_DIGITS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_SEVERAL = re.compile(r"\b(?:lists?|each|both|respectively|which|who|whom|whose|name)\b|\[", re.IGNORECASE)


def answer_format(question: str) -> AnswerFormat:
    """Return the form that the question asks for, by its text alone (contract 3.21).

    A form is checked before an answer is accepted, so it is a list or a number only where the question says
    so beyond doubt. A unit and a list's length are never asked for: right answers come with other spellings
    of a unit, and with commas inside items.
    """
    if _LIST.search(question):
        return AnswerFormat("list")
    places = _DECIMALS.findall(question)
    if len(places) == 1 and not _SEVERAL.search(question) and question.count("?") <= 1:
        word = places[0].lower()
        decimals = int(word) if word.isascii() and word.isdigit() else _DIGITS.get(word)
        if decimals is not None:
            return AnswerFormat("number", decimals=decimals)
    return AnswerFormat("line")
