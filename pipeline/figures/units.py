"""Units that scale: the word beside a number, and the line that declares one for a table."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping

SCALES: Mapping[str, int] = {"thousand": 3, "million": 6, "billion": 9, "trillion": 12, "percent": -2}
"""The power of ten that each unit word stands for."""

# Patterns that are searched for in whole texts begin with a set of characters: `re` skips to those quickly.
_WORD = re.compile(
    r"[TtMmBbPp0%](?:(?<=%)|(?i:housand|r?illion|er\s?cent|ct|n)(?i:s|age)?\b|(?<![0-9,.].)00(?:['’]?s)?\b)"
)
_NAMES = {
    "th": "thousand", "mi": "million", "bi": "billion", "tr": "trillion", "pe": "percent",
    "00": "thousand", "mn": "million", "bn": "billion", "tn": "trillion", "pc": "percent", "%": "percent",
}  # fmt: skip
_ZEROS = frozenset("$€£¥'’")
_LETTERS = {"k": 3, "m": 6, "b": 9, "t": 12}
_BESIDE = re.compile(r"(?:[ \u00a0]?\))?[\s-]{0,2}(?=[A-Za-z%])")
CURRENCIES = "USD|EUR|GBP|JPY|CAD|AUD|CHF|CNY|INR"
"""The codes that may be glued to a number ("9,999USD"), as a regular expression."""
_CODE = re.compile(rf"-?(?:{CURRENCIES})(?![A-Z])")
# What makes a word a declaration: "(In millions of dollars)", "Amounts in billions", "$ thousands", "(000s)".
_LEAD = re.compile(r"(?:\b(?:in|as)\s+|[(\[]\s*(?:US|U\.S\.)?\s*|[$€£¥]\s?|['’])\Z", re.IGNORECASE)
_HEADING = re.compile(r"[a-z]+s of [A-Z$a-z]", re.IGNORECASE)


def _words(text: str) -> Iterator[tuple[str, int, int]]:
    for match in _WORD.finditer(text):
        name, before = _NAMES.get(match[0][:2].lower()), text[match.start() - 1 : match.start()]
        # "000s" and "$000" are a unit, "1 000" is a number.
        if name and (before in _ZEROS if match[0] == "000" else match[0] == "%" or not before.isalpha()):
            yield name, match.start(), match.end()


def unit_words(text: str) -> tuple[str, ...]:
    """Return which of `SCALES`' words a text has, also as "%", "bn" or "000s", in the order of `SCALES`."""
    found = {name for name, _, _ in _words(text)}
    return tuple(name for name in SCALES if name in found)


def beside(text: str, end: int, currency: bool) -> tuple[int, int]:
    """Return the power of ten that the unit right after a number declares (0: none), and where that ends.

    "4.1 million", "4.1-million", "4.1bn", "5.2%", "(5.2) percent"; a single letter only after a number with a
    currency sign or code ("$4.1B"). A currency's code that is glued to the number belongs to it.
    """
    if code := _CODE.match(text, end):
        end, currency = code.end(), True
    if gap := _BESIDE.match(text, end):
        word = _WORD.match(text, gap.end(), gap.end() + 12)
        if word and (name := _NAMES.get(word[0][:2].lower())):
            return SCALES[name], word.end()
        letter = text[end : end + 1].lower()
        if currency and letter in _LETTERS and not text[end + 1 : end + 2].isalnum():
            return _LETTERS[letter], end + 1
    return 0, end


class Declared:
    """The unit lines of a text: what scales the bare numbers below each, and beside it."""

    def __init__(self, text: str) -> None:
        self._starts: list[int] = []
        self._scales: list[frozenset[int]] = []
        for name, start, end in _words(text):
            if not self._declares(text, start, end):
                continue
            line, scales = text.rfind("\n", 0, start) + 1, frozenset({SCALES[name]})
            if self._starts and self._starts[-1] == line:
                self._scales[-1] |= scales
            else:
                self._starts.append(line)
                self._scales.append(scales)

    @staticmethod
    def _declares(text: str, start: int, end: int) -> bool:
        if text[start] == "%":
            return False
        if _LEAD.search(text, max(0, start - 8), start):
            return True
        heading = _HEADING.match(text, start, end + 6)
        return bool(heading) and not text[max(0, start - 3) : start].rstrip().endswith((*"0123456789", "of"))

    def at(self, position: int) -> frozenset[int] | None:
        """Return the scales of the last unit line that begins before `position`; None where there is none."""
        before = bisect_right(self._starts, position)
        return self._scales[before - 1] if before else None

    def all(self) -> frozenset[int]:
        """Return every scale that the text declares."""
        return frozenset().union(*self._scales)
