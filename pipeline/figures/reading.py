"""Reading numbers out of a text, with what documents put around digits."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from pipeline.figures.units import beside


@dataclass(frozen=True)
class Figure:
    """A number as a text writes it. `text == whole[start:end]`, in code points.

    `value` is signed and as written, before any scaling: 5.2 for "5.2%", -1204 for "(1,204)", 2.5 for
    "2-1/2". `scale` is the power of ten that its own unit word declares: 6 for "4.1 million", -2 for percent,
    else 0. `either_sign`: its sign is formatting or in words, so it may mean either: in parentheses, after a
    detached dash, beside "decrease" or "deficit". `year`: it stands as a year ("May 1942", "fiscal 1942", or
    the 42 of "1941-42", whose value is 1942).
    """

    text: str
    start: int
    end: int
    value: Decimal
    decimals: int
    scale: int
    either_sign: bool = False
    year: bool = False


# What is searched for in whole texts begins with a set of characters: `re` skips to those quickly.
TOKEN = re.compile(
    r"[0-9¼½¾⅛⅜⅝⅞](?:(?<![0-9.,/].)(?:"
    r"(?P<fraction>(?<=[¼½¾⅛⅜⅝⅞])|[0-9]{0,2} ?[¼½¾⅛⅜⅝⅞]"
    r"|[0-9]{0,2}(?:[- ][0-9]{1,2})?/(?:2|4|8|16|32|64)(?![0-9/]))"
    r"|(?P<date>[0-9]?/[0-9]{1,2}/(?:[0-9]{4}|[0-9]{2})(?![0-9/])|[0-9]{3}-[0-9]{2}-[0-9]{2}(?![0-9-]))"
    r"|(?P<range>(?:(?<=1)[5-9]|(?<=2)0)[0-9]{2}[-–/][0-9]{2}(?![0-9/]|[,.-][0-9]))"
    r")|(?P<number>(?<=[0-9])(?:[0-9]{0,2}(?:(?:\.[0-9]{3}){2,}(?![0-9])"  # 1.779.352
    r"|(?:[,\u00a0\u202f][0-9]{3})+(?![0-9])(?:\.[0-9]+)?)|[0-9]*(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3}(?![\w.]))?)))"
)
_GROUPING = re.compile("[,\u00a0\u202f ]")
_VULGAR = dict(zip("¼½¾⅛⅜⅝⅞", ("1/4", "1/2", "3/4", "1/8", "3/8", "5/8", "7/8"), strict=True))
_CURRENCY = frozenset("$€£¥")
_OPENING = _CURRENCY | frozenset("(-−–+rpe")
_BEFORE = re.compile(
    r"(?:[$€£¥] ?)?(?P<open>\( ?)?(?:(?:(?<![\w.,%)])|(?<=\b[rpe]))(?P<sign>[-−–+])(?P<gap> ?))?"
    r"(?P<currency>[$€£¥] ?(?P<inner>[-−–])?)?\Z"
)
_FALL = re.compile(
    r"[DdFfLlRrNnMmOoSsCc](?<!\w.)(?i:ecreas|eclin|eficit|ell\b|all|oss|ost\b|rop|own\b|educ|egative|inus|ower"
    r"|ess\b|utflow|hrank|hrunk|ontract(?:ed|ion))\w*(?!\s*\(\s*[-−–]\s*\))"
)
_DOTTED = re.compile(r"[\w.)]\.\Z")  # "No.753", or the last leader dot of "....753"; else ".753" is 0.753
_NEAR = 60  # characters within which a word turns a number's sign
_YEAR = re.compile(
    r"(?:\b(?:in|since|during|through|until|fiscal|calendar|years?|FY|CY)"
    r"|\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?(?:\s[0-9]{1,2},)?)\s\Z",
    re.IGNORECASE,
)
_ITEM = re.compile(r"(?m)^[ \t]{0,8}(?:[-*•][ \t])?\(?[0-9]{1,2}[.)](?=[ \t])")


@dataclass(frozen=True)
class Around:
    """What a document writes around digits: the whole's start and end, its sign, its own unit."""

    start: int
    end: int
    negative: bool = False
    either_sign: bool = False
    scale: int = 0


def around(text: str, start: int, end: int) -> Around:
    """Read what stands around the digits at `start` to `end`."""
    begin, negative, either, opened, currency = start, False, False, -1, False
    if text[start - 1 : start] in _OPENING or text[max(0, start - 2) : start - 1] in _OPENING:
        match = _BEFORE.search(text, max(0, start - 8), start)
        assert match  # each part is optional
        begin, opened = match.start(), match.start("open")
        currency = not _CURRENCY.isdisjoint(match[0])
        dash = match["sign"] not in (None, "+")
        negative, either = bool(match["inner"]) or (dash and not match["gap"]), dash and bool(match["gap"])
    scale, after = beside(text, end, currency)
    if opened >= 0 and ")" in text[end : after + 1]:
        # "Total receipts (6)": a column's number or a footnote's mark, not minus six.
        mark = end - start <= 2 and not scale and text[max(0, begin - 2) : begin - 1].isalpha()
        negative = either = not mark
        after += text[after : after + 1] == ")"
    elif opened >= 0:
        begin = opened + 1
    elif text[after : after + 1] in ("-", "−") and not text[after + 1 : after + 2].strip():
        either = True
    return Around(begin, after, negative, either, scale)


def falls(text: str, start: int, end: int) -> bool:
    """Say whether words near a number, on its line, turn its sign: "a deficit of 12", "8.63% decrease".

    Not where they declare that the sign is written out: "surplus or deficit (-)".
    """
    low = text.rfind("\n", max(0, start - _NEAR), start) + 1 or max(0, start - _NEAR)
    high = text.find("\n", end, end + _NEAR)
    return bool(_FALL.search(text, low, high if high >= 0 else end + _NEAR))


def is_mark(text: str, start: int, end: int) -> bool:
    """Say whether digits are a footnote's mark ("1,204 2/"), not a number."""
    return (
        text[end : end + 1] == "/"
        and end - start <= 2
        and text[start:end].isdigit()
        and not text[end + 1 : end + 2].isdigit()
        and text[start - 1 : start] != "/"
    )


class Reading(NamedTuple):
    """What digits at `start` to `end` say: a plain decimal number, and whether it is a year by its form."""

    digits: str
    start: int
    end: int
    year: bool = False


def read(text: str, match: re.Match[str]) -> list[Reading]:
    """Return what a match of `TOKEN` says: two years for "1941-42", nothing for "2/" or "3/31/25"."""
    (start, end), written = match.span(), match[0]
    if match.lastgroup == "number":
        dot = text[start - 1 : start] == "." and written.isdigit()
        if dot and not _DOTTED.search(text, start - 2, start):
            return [Reading("0." + written, start - 1, end)]
        return [] if is_mark(text, start, end) else [Reading(plain(written), start, end)]
    if match.lastgroup == "range":
        second = Reading(_following(written), end - 2, end, True)
        return [Reading(written[:4], start, start + 4, True), second]
    if match.lastgroup == "fraction":
        return [Reading(_fraction(written), start, end)]
    years = [(start + year.start(), start + year.end()) for year in re.finditer("[0-9]{4}", written)]
    return [Reading(text[low:high], low, high, True) for low, high in years]


def figures(text: str) -> tuple[Figure, ...]:
    """Return the numbers of a text, in order. Linear in its length; never raises.

    Not counted: digits glued to letters or an apostrophe (Q3, 10-K, 10-year, 1990s, FY1942, s1, '42),
    footnote marks ("2/"), a list's item numbers at the start of a line, and of a date in digits (3/31/25,
    2025-03-31) all but a year of four digits, because dates are rewritten freely. The range of years
    "1941-42" is two years. Letters that a scan put for digits ("l,204") are not guessed.
    """
    items = {match.end() - 1 for match in _ITEM.finditer(text)}
    turning = [match.start() for match in _FALL.finditer(text)]
    found = []
    for match in TOKEN.finditer(text):
        for reading in read(text, match):
            if match.end() not in items and (figure := _figure(text, match, reading, turning)):
                found.append(figure)
    return tuple(found)


def _figure(text: str, match: re.Match[str], reading: Reading, turning: list[int]) -> Figure | None:
    digits, start, end, year = reading
    seen = Around(start, end) if year else around(text, start, end)
    if _in_word(text, *match.span(), unit=seen.scale != 0):
        return None
    near = bisect_left(turning, start - _NEAR) < bisect_left(turning, end + _NEAR)
    value = Decimal(digits)
    return Figure(
        text[seen.start : seen.end],
        seen.start,
        seen.end,
        value.copy_negate() if seen.negative else value,
        len(digits.partition(".")[2]),
        seen.scale,
        seen.either_sign or (not year and near and falls(text, start, end)),
        year or (not seen.scale and _is_year(text, start, digits)),
    )


def _is_year(text: str, start: int, digits: str) -> bool:
    """Say whether a plain number stands as a year: after a month, "fiscal", "in" and the like."""
    plausible = len(digits) == 4 and digits.isdigit() and "1500" <= digits < "2200"
    return (
        plausible and text.startswith(digits, start) and bool(_YEAR.search(text, max(0, start - 20), start))
    )


def _in_word(text: str, start: int, end: int, unit: bool = False) -> bool:
    """Say whether digits are glued to letters, before or (where no unit follows) after, hyphenated or not."""
    before, after = text[max(0, start - 2) : start], "" if unit else text[end : end + 2]
    return (
        before[-1:].isalnum()
        or before[-1:] in ("_", "'", "’")
        or (before[:1].isalpha() and before[1:] in ("-", "‑"))
        or after[:1].isalpha()
        or after[:1] == "_"
        or (after[:1] in ("-", "‑") and after[1:].isalpha())
    )


def _fraction(written: str) -> str:
    """Return "2-1/2", "3/4" or "2½" as a decimal number."""
    if written[-1] in _VULGAR:
        written = f"{written[:-1].strip() or 0} {_VULGAR[written[-1]]}"
    head, _, under = written.rpartition("/")
    whole, _, over = head.replace(" ", "-").rpartition("-")
    return str(Decimal(whole or 0) + Decimal(over) / Decimal(under))


def _following(years: str) -> str:
    """Return the year that the end of "1941-42" or "1999-00" means."""
    first, second = int(years[:4]), int(years[-2:])
    year = first // 100 * 100 + second
    return str(year if year >= first else year + 100)


def plain(written: str) -> str:
    """Return digits written out, without what groups them: "1,204.50" as "1204.50", "1.2e-3" as "0.0012"."""
    if written.isdigit():
        return written
    if "e" in written or "E" in written:
        return f"{Decimal(written):f}"
    if written.count(".") > 1:
        written = written.replace(".", "")
    return _GROUPING.sub("", written)
