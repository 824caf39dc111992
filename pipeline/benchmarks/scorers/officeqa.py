"""Scorer `officeqa`: the verdicts of OfficeQA's official scorer as of its 2026-06-13 revision.

Its clauses (A extraction, B guard, C1 to C10 matching) are those of the benchmark's semantics; the code is
our own. Quirks are kept on purpose: units are compared but never multiplied, a glued suffix is not a unit
(to `officeqa_strict`, beside it, it is), a number may be read out of a word.

A gold matches itself, bare or between tags, unless it is blank, has several lines, more than 250 characters,
markup, or the words "unable to determine".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from pipeline.benchmarks.scorers import INTERNAL_ERROR, NO_ANSWER, Metric
from pipeline.benchmarks.tasks import Gold

NAME = "officeqa"
VERSION = "2026-06-13"
PARAMS: Mapping[str, Mapping[str, float]] = {
    "exact": {"tolerance": 0.0},
    "within_0.1%": {"tolerance": 0.001},
    "within_1%": {"tolerance": 0.01},
    "within_5%": {"tolerance": 0.05},
}

MAX_ANSWER_CHARACTERS = 250
UNIT_WINDOW = 20


def score(gold: Gold, answer: str | None) -> list[Metric]:
    """Return one metric a tolerance: 1 for a match, else 0 with the reason. No answer scores 0."""
    return metrics(gold, answer)


def score_answer(gold: str, answer: str, tolerance: float) -> float:
    """Return 1.0 if `answer` matches `gold` within the relative `tolerance` (0 to 1), else 0.0."""
    return float(not faults(gold, answer, [tolerance])[0])


def metrics(gold: Gold, answer: str | None, glued: bool = False) -> list[Metric]:
    """Return the metrics of `PARAMS`. With `glued`, a suffix such as that of `2.6B` is read as its unit."""
    if answer is None:
        return [Metric(metric, 0.0, NO_ANSWER) for metric in PARAMS]
    found = faults(gold.answer, answer, [params["tolerance"] for params in PARAMS.values()], glued)
    return [Metric(metric, float(not fault), fault) for metric, fault in zip(PARAMS, found, strict=True)]


def faults(gold: str, answer: str, tolerances: Sequence[float], glued: bool = False) -> list[str]:
    """Return, for each tolerance, why `answer` doesn't match `gold`, or the empty string if it does."""
    try:
        return _faults(gold, answer, tolerances, glued)
    except Exception as error:  # noqa: BLE001 - any internal error scores 0; its reason makes it countable
        return [f"{INTERNAL_ERROR}: {type(error).__name__}: {error}"] * len(tolerances)


def _faults(gold: str, answer: str, tolerances: Sequence[float], glued: bool) -> list[str]:
    if not gold:
        raise ValueError("the gold answer is empty")
    for tolerance in tolerances:
        if not 0 <= tolerance <= 1:
            raise ValueError(f"the tolerance {tolerance} is outside 0 to 1")
    expected, given = _Answer(gold, glued), _Answer(extract(answer), glued)
    fault = _guard(expected, given)
    return [fault or _mismatch(expected, given, tolerance) for tolerance in tolerances]


_TAG = re.compile(r"<(/?)FINAL_ANSWER>", re.IGNORECASE)


def extract(text: str) -> str:
    """A. Return the body of the last FINAL_ANSWER pair, or the whole text if there is none."""
    body, start = text, None
    for tag in _TAG.finditer(text):  # in one pass, however many tags are left open
        if not tag[1]:
            start = tag.end() if start is None else start
        elif start is not None:
            body, start = text[start : tag.start()], None
    return body.strip()


# --- Reading an answer: C2 to C5, C9

_CURRENCY = "[$£€¥₹¢₩₽]"
_PARENTHESISED = re.compile(
    rf"\(\s*(?P<currency>{_CURRENCY})?\s*(?P<number>\d{{1,3}}(?:,\d{{3}})*(?:\.\d+)?|\d+(?:\.\d+)?)\s*\)"
)
_GROUPED = re.compile(r"(?<![\d.])\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\d)")
_NUMBER = re.compile(r"-?\d+\.?\d*%?")
_SUFFIXES = (
    ("trillion", r"trillions?|trn|tn|t"),
    ("billion", r"billions?|bln|bn|b"),
    ("million", r"millions?|mln|mn|mm|m"),
    ("thousand", r"thousands?|k"),
)
_SUFFIX = re.compile("(?:" + "|".join(f"(?P<{unit}>{forms})" for unit, forms in _SUFFIXES) + r")\b")
_NUMBER_WITH_SUFFIX = re.compile(rf"{_NUMBER.pattern}(?:(?:{'|'.join(forms for _, forms in _SUFFIXES)})\b)?")
_UNITS = (
    ("trillion", re.compile(r"\btrillions?\b")),
    ("billion", re.compile(r"\b(?:billions?|b)\b")),
    ("million", re.compile(r"\b(?:millions?|m)\b")),
    ("thousand", re.compile(r"\b(?:thousands?|k)\b")),
)
_UNIT_WORD = re.compile(r"\b(?:(?:trillion|billion|million|thousand|hundred)s?|percent(?:age)?|%)\b")
_NOT_WORD = re.compile(r"[^\w\s]")


@dataclass(frozen=True)
class _Quantity:
    value: float
    unit: str | None

    def admits(self, other: _Quantity, tolerance: float) -> bool:
        """C4, C7. Say whether `other` has a compatible unit and lies within the tolerance of this one."""
        if self.unit and other.unit and self.unit != other.unit:
            return False
        if self.value == 0:
            return other.value == 0
        return abs(self.value - other.value) / abs(self.value) <= tolerance


class _Answer:
    """A gold or an answer, and what the scorer reads out of it; each reading is made once, when asked for."""

    def __init__(self, text: str, glued: bool = False) -> None:
        self.text = text
        self.glued = glued

    @cached_property
    def plain(self) -> str:
        """The text with ASCII minus signs and single spaces."""
        return " ".join(self.text.replace("\u2212", "-").split())

    @cached_property
    def numbers(self) -> list[_Quantity]:
        """C2 to C4. The numbers in order, with their units; a suffix that is read as one comes first."""
        text = _GROUPED.sub(lambda match: match[0].replace(",", ""), _without_accounting(self.plain)).lower()
        return [
            _Quantity(
                float(match[0].rstrip("%")),
                (self.glued and _suffix(text, match.end()))
                or _unit(text[max(match.start() - UNIT_WINDOW, 0) : match.end() + UNIT_WINDOW]),
            )
            for match in _NUMBER.finditer(text)
        ]

    @cached_property
    def words(self) -> str:
        """C9. What is left when numbers, commas, unit words and punctuation are removed; "" if one letter."""
        number = _NUMBER_WITH_SUFFIX if self.glued else _NUMBER
        text = _UNIT_WORD.sub("", number.sub("", self.plain.lower()).replace(",", ""))
        words = " ".join(_NOT_WORD.sub(" ", text).split())
        return words if len(words) >= 2 else ""

    @cached_property
    def phrase(self) -> str:
        """C10. The text as phrases are compared: lower case, no outer quotes, no parenthesised part."""
        bare = self.text.strip().lower().strip('"').strip("'")
        return " ".join(re.sub(r"\([^)]*\)", "", bare).split())

    def numbers_beside(self, gold: _Answer) -> list[_Quantity]:
        """C5. The numbers without years that only give context."""
        if any(_is_year(number) for number in gold.numbers) or (len(gold.numbers) == 1 and gold.words):
            return self.numbers
        return [number for number in self.numbers if not _is_year(number)]


def _is_year(number: _Quantity) -> bool:
    return 1900 <= number.value <= 2100 and number.value.is_integer()


def _without_accounting(text: str) -> str:
    """C2. Make parenthesised numbers negative, but for a bare year, and delete currency signs."""

    def negative(match: re.Match[str]) -> str:
        number = match["number"]
        if not match["currency"] and _is_year(_Quantity(float(number.replace(",", "")), None)):
            return match[0]
        return f"-{number}"

    return re.sub(_CURRENCY, "", _PARENTHESISED.sub(negative, text))


def _unit(context: str) -> str | None:
    """C4. Return the first unit of the list that occurs in the text around a number, whichever is nearer."""
    return next((unit for unit, pattern in _UNITS if pattern.search(context)), None)


def _suffix(text: str, end: int) -> str | None:
    """Return the unit that is glued to the number which ends there, as in `2.6b`."""
    match = _SUFFIX.match(text, end)
    return match.lastgroup if match else None


# --- B: the guard

_MARKUP = re.compile(r"<[^>]*>")


def _guard(gold: _Answer, answer: _Answer) -> str:
    """B. Return why `answer` is not one direct answer of the gold's shape, or the empty string."""
    if not answer.text:
        return "the answer is empty"
    if sum(bool(line.strip()) for line in answer.text.splitlines()) > 1:
        return "more than one line"
    if len(answer.text) > MAX_ANSWER_CHARACTERS:
        return f"more than {MAX_ANSWER_CHARACTERS} characters"
    if _MARKUP.search(answer.text):
        return "markup in the answer"
    if not gold.numbers:
        if answer.numbers:
            return "a number where the gold has none"
        return "" if gold.phrase == answer.phrase else "another text than the gold"
    count = len(answer.numbers_beside(gold))
    if count != len(gold.numbers) and not (
        _is_numeric_list(gold) and _reads_as(answer, gold.numbers, lambda expected, given: True)
    ):
        return f"{count} numbers where the gold has {len(gold.numbers)}"
    return ""


# --- C: matching


def _mismatch(gold: _Answer, answer: _Answer, tolerance: float) -> str:
    """C. Return why an answer of the gold's shape doesn't match, or the empty string."""
    if "unable to determine" in answer.text.lower():  # C1
        return "unable to determine"
    if not gold.numbers:  # C10; the guard has compared the phrases already
        return ""
    if _is_numeric_list(gold):
        return _list_mismatch(gold, answer, tolerance)
    candidates = answer.numbers_beside(gold)
    for number in gold.numbers:  # C7, C8
        if not any(number.admits(candidate, tolerance) for candidate in candidates):
            return f"{number.value:g} is not in the answer"
    return "" if _texts_overlap(gold.words, answer.words) else "the text beside the numbers differs"


def _texts_overlap(gold: str, answer: str) -> bool:
    """C9. Say whether one text contains the other; a gold without words asks for none."""
    return not gold or (bool(answer) and (gold in answer or answer in gold))


def _list_mismatch(gold: _Answer, answer: _Answer, tolerance: float) -> str:
    """C6. Match in order, by any reading of the answer's commas, or by its numbers as they are found."""

    def matches(expected: _Quantity, given: _Quantity) -> bool:
        return expected.admits(given, tolerance)

    found = answer.numbers_beside(gold)
    in_order = len(found) == len(gold.numbers) and all(map(matches, gold.numbers, found))
    return "" if in_order or _reads_as(answer, gold.numbers, matches) else "the list differs"


_BRACKETED = re.compile(r"\[([^\[\]]+)\]")
_ITEM = re.compile(r"-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?%?")


def _list_body(text: str) -> str | None:
    """Return what stands in the only brackets of `text`, if no digit stands outside them."""
    matches = list(_BRACKETED.finditer(text))
    if len(matches) != 1 or re.search(r"\d", text[: matches[0].start()] + text[matches[0].end() :]):
        return None
    return matches[0][1]


def _is_numeric_list(gold: _Answer) -> bool:
    """C6. Say whether the gold is one bracketed list of numbers alone, two or more."""
    if len(gold.numbers) < 2 or _list_body(gold.plain) is None:
        return False
    return _reads_as(gold, gold.numbers, lambda expected, given: expected.value == given.value)


def _reads_as(
    answer: _Answer, expected: Sequence[_Quantity], matches: Callable[[_Quantity, _Quantity], bool]
) -> bool:
    """C6. Say whether the answer can be read as numbers that match `expected` in order.

    A comma may separate two numbers or group the digits of one; all ways are tried at once, by keeping the
    places in the answer that the numbers so far can reach.
    """
    body = _list_body(answer.plain)
    chunks = (answer.plain if body is None else body).split(",")
    items = {
        (start, end): item
        for start in range(len(chunks))
        for end in range(start + 1, len(chunks) + 1)
        if (item := _item(",".join(chunks[start:end])))
    }
    reached = {0}
    for number in expected:
        reached = {end for (start, end), item in items.items() if start in reached and matches(number, item)}
    return len(chunks) in reached


def _item(text: str) -> _Quantity | None:
    """Return the number that a list's item is, or None. A comma beside a space groups nothing."""
    item = text.strip()
    if re.search(r"\s,|,\s", item):
        return None
    item = _without_accounting(item)
    if not _ITEM.fullmatch(item):
        return None
    return _Quantity(float(item.rstrip("%").replace(",", "")), None)
