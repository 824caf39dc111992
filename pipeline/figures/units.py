"""Units that scale: the word beside a number, and the line that declares one for a table."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping

SCALES: Mapping[str, int] = {"thousand": 3, "million": 6, "billion": 9, "trillion": 12, "percent": -2}
"""The power of ten that each unit word stands for."""

_WORDS = re.compile(
    r"\b(?P<word>thousand|million|billion|trillion)s?\b|\b(?P<short>[mbt]n)\b|(?P<zeros>\b000'?s\b)"
    r"|(?P<percent>%|\bper\s?cent|\bpct\b)",
    re.IGNORECASE,
)
_SHORT = {"mn": "million", "bn": "billion", "tn": "trillion"}
# Beside a number: "4.1 million", "4.1-million", "4.1bn", "$4.1B", "5.2%", "(5.2) percent".
_BESIDE = re.compile(
    r"\)?(?:[\s-]{0,2}(?P<word>thousand|million|billion|trillion)s?\b|\s?(?P<short>[mbt]n)\b"
    r"|\s{0,2}(?P<percent>%|per\s?cent\b|percentage\b|pct\b))",
    re.IGNORECASE,
)
_LETTER = re.compile(r"(?P<letter>[KMBT])\b", re.IGNORECASE)
_LETTERS = {"K": 3, "M": 6, "B": 9, "T": 12}
# For a table: "(In millions of dollars)", "[In thousands]", "Amounts in billions", "$ millions", "($000s)",
# "Millions of dollars", "[In percent]". Not "hundreds of millions", nor the "4 million" of a sentence.
_DECLARED = re.compile(
    r"(?:\b(?:in|as)\s+|[(\[]\s*(?:in\s+)?(?:US)?[$€£¥]?\s*(?:U\.?S\.?D?\s+)?|[$€£¥]\s?)"
    r"(?P<word>thousand|million|billion|trillion|per\s?cent)s?\b"
    r"|(?<!of )\b(?P<heading>thousand|million|billion|trillion)s\s+of\s+(?:U\.?S\.?\s+)?[a-z]+"
    r"|(?P<zeros>\b000'?s\b|'000\b)",
    re.IGNORECASE,
)


def unit_words(text: str) -> tuple[str, ...]:
    """Return which of `SCALES`' words a text has, also as "%", "bn" or "000s", in the order of `SCALES`."""
    found = set()
    for match in _WORDS.finditer(text):
        written = (match["word"] or match["short"] or "").lower()
        default = "percent" if match["percent"] else "thousand"
        found.add(_SHORT.get(written, written) or default)
    return tuple(word for word in SCALES if word in found)


def beside(text: str, end: int, currency: bool = False) -> tuple[int, int]:
    """Return the power of ten that the unit right after a number declares (0: none), and where that ends.

    A single letter ("$4.1B") is a unit only after a number with a currency sign.
    """
    if match := _BESIDE.match(text, end, end + 24):
        written = (match["word"] or match["short"] or "percent").lower()
        return SCALES[_SHORT.get(written, written)], match.end()
    if currency and (match := _LETTER.match(text, end)):
        return _LETTERS[match["letter"].upper()], match.end()
    return 0, end


class Declared:
    """The unit lines of a text: what scales the bare numbers below each, and beside it."""

    def __init__(self, text: str) -> None:
        self.starts: list[int] = []
        self.scales: list[frozenset[int]] = []
        for match in _DECLARED.finditer(text):
            written = re.sub(r"\s", "", (match["word"] or match["heading"] or "thousand").lower())
            line = text.rfind("\n", 0, match.start()) + 1
            scale = frozenset({SCALES[written]})
            if self.starts and self.starts[-1] == line:
                self.scales[-1] |= scale
            else:
                self.starts.append(line)
                self.scales.append(scale)

    def at(self, position: int) -> frozenset[int] | None:
        """Return the scales of the last unit line that begins before `position`; None where there is none."""
        before = bisect_right(self.starts, position)
        return self.scales[before - 1] if before else None
