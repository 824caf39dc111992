"""Whether a number or a quotation stands in cited texts, and where (contract 7.1, 7.2)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import islice

from pipeline.figures.digits import ascii_digits
from pipeline.figures.quotations import Folded
from pipeline.figures.reading import TOKEN, Figure, around, falls, is_mark, plain, read
from pipeline.figures.units import SCALES, Declared, unit_words

_FREE = frozenset((*range(11), 12, 52, 60, 100, 360, 365, 366, 1000, 10**6, 10**9, -1))
_MOST = 1000  # places of one number that are judged, so that a text of nothing else costs no more
_LITERAL = re.compile(r"(-?)([0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE]([+-]?[0-9]{1,6}))?")


@dataclass(frozen=True)
class Place:
    """Where a number or a quotation was found: which text, and which of its lines, from 1."""

    label: str
    line: int


def free(literal: str) -> bool:
    """Say whether a calculator's literal needs no evidence (contract 7.1).

    Of negative ones only -1 does not: a lone "-6" is more often a footnote's mark that was read as a value.
    """
    return bool(_LITERAL.fullmatch(literal)) and Decimal(literal) in _FREE


def normal(digits: str, exponent: int = 0) -> tuple[str, int]:
    """Return a number's significant digits and their power of ten: ("41", 2) for "4100.00", ("", 0) for 0."""
    whole, _, decimals = digits.partition(".")
    written = (whole + decimals).lstrip("0")
    significant = written.rstrip("0")
    if not significant:
        return "", 0
    return significant, exponent - len(decimals) + len(written) - len(significant)


@dataclass(frozen=True)
class _Claim:
    """A number to find: `significant` times ten to `exponent`, times ten to `scale` by its own unit."""

    significant: str
    exponent: int
    scale: int = 0
    negative: bool = False
    year: bool = False

    def written(self) -> list[int]:
        """Return the powers of ten with which a text may write it, its own first."""
        if not self.significant:
            return [0]
        full = self.exponent + self.scale
        return list(dict.fromkeys((self.exponent, full, *(full - scale for scale in SCALES.values()))))

    def is_scaled(
        self, exponent: int, beside: int, lines: frozenset[int] | None, others: frozenset[int]
    ) -> bool:
        """Say whether a text that writes it with `exponent` means it.

        `beside` is the scale of the unit word there; `lines` are those of the unit line above, None if there
        is none, and then `others` are those of all texts: a table's unit line may have been read apart.
        """
        written, full = self.exponent - exponent, self.exponent + self.scale - exponent
        above = others if lines is None else lines
        if self.scale == 0:
            return written in (0, beside) or (not beside and written in above)
        if self.scale < 0:
            return beside <= 0 and (written == 0 or full == beside)
        if beside:
            return full == beside
        return full == 0 or full in above or (written == 0 and lines is None)


# Patterns that are searched for in whole texts begin with a set of characters: `re` skips to those quickly.
_DIGITS = re.compile("[0-9]+")
_SHORT_YEAR = re.compile(
    r"['’Yy](?:(?<=[CcFf].)(?<!\w..) ?['’]?|(?<!\w['’]))(?:[0-9]{2})?([0-9]{2})(?![0-9])"
)
# "1, 204", "1 204", "4,1 00": digits in groups of three, which a scan has broken.
_BROKEN = re.compile(
    r"[0-9](?<![0-9,.].)[0-9]{0,2}(?:, ?(?:[0-9]{3}|[0-9] [0-9]{2}|[0-9]{2} [0-9])| [0-9]{3}){1,4}"
    r"(?:\.[0-9]+)?(?![0-9,])"
)


class Text:
    """A text that was read once: where it has which number, and which unit lines.

    `numbers` maps significant digits and their power of ten to (start, end, whether a year by its form).
    """

    def __init__(self, text: str) -> None:
        self.text = text = ascii_digits(text)
        self.declared = Declared(text)
        self.numbers: dict[tuple[str, int], list[tuple[int, int, bool]]] = {}
        numbers: dict[str, list[int]] = {}  # nearly all are plain, and most recur: made short work of
        for match in TOKEN.finditer(text):
            if match.lastgroup == "number" and text[match.start() - 1] != ".":
                numbers.setdefault(match[0], []).append(match.start())
            else:
                self._add_special(match)
        for digits, starts in numbers.items():
            places = [(start, start + len(digits), False) for start in starts]
            self.numbers.setdefault(normal(plain(digits)), []).extend(places)
        self._add_rare()

    def _add_special(self, match: re.Match[str]) -> None:
        """Add what a fraction, a date, a range of years or a decimal without a zero says, and its parts."""
        for reading in read(self.text, match):
            self._add(*reading)
        if match.lastgroup != "number":
            for part in _DIGITS.finditer(self.text, *match.span()):
                self._add(part[0], *part.span())
        if match.lastgroup == "date" and match[0][-3] == "/":
            self._add_years(match.end() - 2)

    def _add(self, digits: str, start: int, end: int, year: bool = False) -> None:
        self.numbers.setdefault(normal(digits), []).append((start, end, year))

    def _add_years(self, start: int) -> None:
        """Add the years that two digits may mean."""
        for century in ("19", "20"):
            self._add(century + self.text[start : start + 2], start, start + 2, True)

    def _add_rare(self) -> None:
        for match in _SHORT_YEAR.finditer(self.text):
            self._add_years(match.start(1))
        for match in _BROKEN.finditer(self.text):
            if " " in match[0]:
                self._add(plain(match[0]), *match.span())

    @cached_property
    def unit_words(self) -> tuple[str, ...]:
        """The unit words that it has."""
        return unit_words(self.text)

    @cached_property
    def folded(self) -> Folded:
        """The text as quotations are looked up in it."""
        return Folded(self.text)


class Grounds:
    """What the cited texts say. Built once, asked often.

    A number is looked up by its significant digits, then judged where it stands: its sign, the unit beside
    it, the last unit line above. A claim with a minus needs a negative number, or one whose sign is
    formatting or in words; a claim without one is a magnitude and matches either. A year must stand as one.
    """

    def __init__(self, texts: Mapping[str, str | Text]) -> None:
        """`texts` maps a label ("s1", "e1") to a text, or to the `Text` that was kept of it: reading is what
        costs. A place names the first text that has what was asked for.
        """
        self._texts = {label: text if isinstance(text, Text) else Text(text) for label, text in texts.items()}
        self._declared = frozenset[int]().union(*(text.declared.all() for text in self._texts.values()))

    def operand(self, literal: str) -> Place | None:
        """Find a calculator's literal ("-4400", "0.052", "1.5e9"), in any format of contract 7.1."""
        match = _LITERAL.fullmatch(literal)
        if not match:
            return None
        significant, exponent = normal(match[2], int(match[3] or 0))
        return self._find(_Claim(significant, exponent, negative=bool(match[1])))

    def figure(self, figure: Figure) -> Place | None:
        """Find a statement's or an answer's number by value, also scaled by units (contract 7.2, 7.7)."""
        significant, exponent = normal(f"{figure.value.copy_abs():f}")
        negative = figure.value < 0 and not figure.either_sign
        return self._find(_Claim(significant, exponent, figure.scale, negative, figure.year))

    def quotation(self, quoted: str) -> Place | None:
        """Find a quotation, with case and white space folded (contract 7.2)."""
        for label, text in self._texts.items():
            if line := text.folded.line(quoted):
                return Place(label, line)
        return None

    def lacks(self, statement: str) -> tuple[str, ...]:
        """Return the unit words of a statement that no text has (contract 7.2)."""
        has = {word for text in self._texts.values() for word in text.unit_words}
        return tuple(word for word in unit_words(statement) if word not in has)

    def _find(self, claim: _Claim) -> Place | None:
        for label, text in self._texts.items():
            for exponent in claim.written():
                places = text.numbers.get((claim.significant, exponent), ())
                for start, end, year in islice(places, _MOST):
                    if self._means(text, claim, exponent, start, end, year):
                        return Place(label, text.text.count("\n", 0, start) + 1)
        return None

    def _means(self, text: Text, claim: _Claim, exponent: int, start: int, end: int, year: bool) -> bool:
        if claim.year or year:
            bare = year or end - start == 4
            return bare and claim.exponent == exponent and not claim.scale
        if is_mark(text.text, start, end):
            return False
        seen = around(text.text, start, end)
        if claim.negative and not (seen.negative or seen.either_sign or falls(text.text, start, end)):
            return False
        return claim.is_scaled(exponent, seen.scale, text.declared.at(start), self._declared)
