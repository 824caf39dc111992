"""The forms of an answer: how they are asked for, and how they are checked (contract 3.21)."""

from __future__ import annotations

import re

from pipeline.errors import InvalidOperation
from pipeline.protocols import AnswerFormat

_NUMBER = re.compile(
    r"(?P<open>\()?[-−+]?[$€£¥]?[-−]?"
    r"(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.(?P<decimals>[0-9]+))?(?P<percent>\s?%)?(?(open)\))"
    r"(?:\s+(?P<unit>[^\d\s][^\d]*))?"
)


def describe(form: AnswerFormat) -> str:
    """Return the sentence that asks for this form."""
    if form.form == "letter":
        return "The letter of one option, A, B, C or D, and nothing else."
    if form.form == "text":
        return "Free text."
    if form.form == "list":
        count = f"{form.length} items" if form.length is not None else "the items"
        return f"A list in square brackets of {count}, separated by comma and space: [a, b]."
    if form.form == "number":
        decimals = f" with exactly {form.decimals} decimals" if form.decimals is not None else ""
        unit = f", in {form.unit}" if form.unit else ""
        return f"One number{decimals}{unit}, on one line."
    return "One non-empty line."


def check(form: AnswerFormat, answer: str) -> None:
    """Check the form of an answer, not its truth. Raises `InvalidOperation` (`answer_format`)."""
    if problem := _problem(form, answer):
        raise InvalidOperation(
            "answer_format", f"the answer {answer[:80]!r} {problem}; asked for is: {describe(form)}"
        )


def _problem(form: AnswerFormat, answer: str) -> str | None:
    if not answer.strip():
        return "is empty"
    if form.form == "text":
        return None
    if len(answer.strip().splitlines()) > 1:
        return "has more than one line"
    if form.form == "letter":
        return None if answer in ("A", "B", "C", "D") else "is not one of the letters A, B, C, D alone"
    if form.form == "list":
        return _list_problem(form, answer.strip())
    return _number_problem(form, answer.strip()) if form.form == "number" else None


def _list_problem(form: AnswerFormat, answer: str) -> str | None:
    if not (answer.startswith("[") and answer.endswith("]")):
        return "is not in square brackets"
    items = answer[1:-1].split(", ")
    if not all(item.strip() for item in items):
        return "has an empty item"
    if form.length is not None and len(items) != form.length:
        return f"has {len(items)} items, not {form.length}"
    return None


def _number_problem(form: AnswerFormat, answer: str) -> str | None:
    number = _NUMBER.fullmatch(answer)
    if number is None:
        return "is not one number"
    if form.decimals is not None and len(number["decimals"] or "") != form.decimals:
        return f"has {len(number['decimals'] or '')} decimals, not {form.decimals}"
    if number["unit"] and form.unit and number["unit"].casefold() != form.unit.casefold():
        return f"has the unit {number['unit'][:40]!r}, not {form.unit!r}"
    return None
