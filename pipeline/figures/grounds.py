"""Whether a number or a quotation stands in cited texts, and where (contract 7.1, 7.2)."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import accumulate

from pipeline.figures.reading import (
    FRACTION,
    NUMBER,
    SPAN,
    Figure,
    around,
    following,
    fraction,
    is_mark,
    plain,
)
from pipeline.figures.units import SCALES, Declared, unit_words

_FREE = frozenset((*range(11), 12, 52, 60, 100, 360, 365, 366, 1000, 10**6, 10**9, -1))
_LITERAL = re.compile(r"(-?)([0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE]([+-]?[0-9]{1,6}))?")
_SHIFTS = (0, *SCALES.values())


@dataclass(frozen=True)
class Place:
    """Where a number or a quotation was found: which text, and which of its lines, from 1."""

    label: str
    line: int


def free(literal: str) -> bool:
    """Say whether a calculator's literal needs no evidence (contract 7.1).

    Of negative ones only -1 does not: a lone "-6" is more often a footnote's mark that was read as a value.
    """
    match = _LITERAL.fullmatch(literal)
    return bool(match) and Decimal(literal) in _FREE


def quotations(text: str) -> tuple[str, ...]:
    """Return what a text has in double quotes, straight or curly. An inch mark after a digit opens none."""
    return tuple(match[1] or match[2] for match in _QUOTED.finditer(text) if (match[1] or match[2]).strip())


_QUOTED = re.compile(r'(?<!\w)"([^"]+)"|“([^“”]+)”')


def normal(digits: str, exponent: int = 0) -> tuple[str, int]:
    """Return a number's significant digits and its power of ten: ("41", 2) for "4100.00"."""
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

    def exponents(self) -> set[int]:
        """Return every power of ten with which a text could write it."""
        if not self.significant:
            return {0}
        full = {self.exponent + self.scale - shift for shift in _SHIFTS}
        return full | {self.exponent}


class Grounds:
    """What the cited texts say. Built once, asked often.

    A number is looked up by its significant digits and then judged where it stands: its sign, the unit beside it,
    the last unit line above. A claim with a minus needs a negative number, or one whose sign is formatting or
    in words; a claim without one is a magnitude and matches either.
    """

    def __init__(self, texts: Mapping[str, str]) -> None:
        """`texts` maps a label ("s1", "e1") to a text; places name the first that has a number."""
        self._texts = [_Text(label, text) for label, text in texts.items()]
        self._declared = frozenset(scale for text in self._texts for s in text.declared.scales for scale in s)

    def operand(self, literal: str) -> Place | None:
        """Find a calculator's literal ("-4400", "0.052", "1.5e9"), in any format of contract 7.1."""
        match = _LITERAL.fullmatch(literal)
        if not match:
            return None
        significant, exponent = normal(match[2], int(match[3] or 0))
        return self._find(_Claim(significant, exponent, negative=bool(match[1])))

    def figure(self, figure: Figure) -> Place | None:
        """Find a statement's or an answer's number by value, also scaled by units (contract 7.2, 7.7)."""
        significant, exponent = normal(f"{abs(figure.value):f}")
        negative = figure.value < 0 and not figure.either_sign
        return self._find(_Claim(significant, exponent, figure.scale, negative, figure.year))

    def quotation(self, quoted: str) -> Place | None:
        """Find a quotation, case and white space folded; a comma or stop at its end may be the quoter's."""
        wanted = _fold(quoted).rstrip(" .,;:")
        for text in self._texts:
            if wanted and (line := text.line_of(wanted)):
                return Place(text.label, line)
        return None

    def lacks(self, statement: str) -> tuple[str, ...]:
        """Return the unit words of a statement that no text has."""
        has = {word for text in self._texts for word in text.unit_words}
        return tuple(word for word in unit_words(statement) if word not in has)

    def _find(self, claim: _Claim) -> Place | None:
        for text in self._texts:
            for exponent in sorted(claim.exponents(), key=lambda e: e != claim.exponent):
                for start, end, year in text.numbers.get((claim.significant, exponent), ()):
                    if self._says(text, claim, exponent, start, end, year):
                        return Place(text.label, text.text.count("\n", 0, start) + 1)
        return None

    def _says(self, text: _Text, claim: _Claim, exponent: int, start: int, end: int, year: bool) -> bool:
        if claim.year:
            return year or (end - start == 4 and claim.exponent == exponent)
        if year:
            return claim.exponent == exponent and not claim.scale
        seen = around(text.text, start, end)
        if claim.negative and not (seen.negative or seen.either_sign):
            return False
        if not claim.significant:
            return True
        above = text.declared.at(start)
        lines = self._declared if above is None else above
        written, full = claim.exponent - exponent, claim.exponent + claim.scale - exponent
        if claim.scale == 0:
            return written in (0, seen.scale) or (not seen.scale and written in lines)
        if claim.scale < 0:
            return seen.scale <= 0 and (written == 0 or full == seen.scale)
        if seen.scale:
            return full == seen.scale
        return full == 0 or full in lines or (written == 0 and above is None)


_NUMBER = re.compile(NUMBER)
_RARE = re.compile(
    f"(?P<fraction>{FRACTION})|{SPAN}"
    r"|(?<![0-9/])[0-9]{1,2}/[0-9]{1,2}/(?P<y>[0-9]{2})(?![0-9/])"
    r"|\b(?:FY|CY) ?'?(?P<fiscal>(?:[0-9]{2})?[0-9]{2})\b|(?<!\w)['’](?P<short>[0-9]{2})\b"
    r"|(?P<marked>[0-9]{1,3}(?:,[0-9]{3})+)[0-9]{1,2}/(?![0-9])"
)
# "1, 204", "1 204", "4,1 00": a group of three digits that a scan has broken.
_BROKEN = re.compile(
    r"(?<![0-9,.])[0-9]{1,3}(?:, ?[0-9]{3}|, ?[0-9] [0-9]{2}|, ?[0-9]{2} [0-9]| [0-9]{3})+(?:\.[0-9]+)?(?![0-9,])"
)


class _Text:
    """One text, its numbers by significant digits and power of ten, and what its lines declare."""

    def __init__(self, label: str, text: str) -> None:
        self.label = label
        self.text = text
        self.declared = Declared(text)
        self.numbers: dict[tuple[str, int], list[tuple[int, int, bool]]] = {}
        written: dict[str, list[int]] = {}
        for match in _NUMBER.finditer(text):
            written.setdefault(match[0], []).append(match.start())
        for digits, starts in written.items():
            places = self.numbers.setdefault(normal(plain(digits)), [])
            places += [
                (start, start + len(digits), False)
                for start in starts
                if not is_mark(text, start, start + len(digits))
            ]
        for digits, start, end, year in self._rare():
            self.numbers.setdefault(normal(digits), []).append((start, end, year))

    def _rare(self) -> Iterator[tuple[str, int, int, bool]]:
        for match in _BROKEN.finditer(self.text):
            if " " in match[0]:
                yield plain(match[0]), *match.span(), False
        for match in _RARE.finditer(self.text):
            if match["fraction"]:
                yield fraction(match), *match.span(), False
            elif match["marked"]:
                yield plain(match["marked"]), *match.span("marked"), False
            elif match["second"]:
                yield str(following(int(match["first"]), int(match["second"]))), *match.span("second"), True
            else:
                group = "y" if match["y"] else "fiscal" if match["fiscal"] else "short"
                digits, span = match[group], match.span(group)
                for year in (digits,) if len(digits) == 4 else ("19" + digits, "20" + digits):
                    yield year, *span, True

    @cached_property
    def unit_words(self) -> tuple[str, ...]:
        return unit_words(self.text)

    @cached_property
    def _folded(self) -> tuple[str, list[int]]:
        """The text folded, and how many words end with each line."""
        return _fold(self.text), list(accumulate(len(line.split()) for line in self.text.split("\n")))

    def line_of(self, wanted: str) -> int:
        """Return the line on which `wanted`, folded, begins; 0 where the text doesn't have it."""
        folded, words = self._folded
        position = folded.find(wanted)
        return bisect_right(words, folded.count(" ", 0, position)) + 1 if position >= 0 else 0


_PLAIN = str.maketrans("“”‘’–—−‑", "\"\"''----")


def _fold(text: str) -> str:
    return " ".join(text.casefold().translate(_PLAIN).split())
