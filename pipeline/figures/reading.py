"""Reading numbers out of a text, with what documents put around digits."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from pipeline.figures.digits import ascii_digits
from pipeline.figures.units import CURRENCIES, beside


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
    r"|(?:[,'’\u00a0\u2009\u202f][0-9]{3})+(?![0-9])(?:\.[0-9]+)?)"
    r"|[0-9]*(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3}(?!\w|\.[0-9]))?)))"
)
_GROUPING = re.compile("[,'’\u00a0\u2009\u202f ]")
_VULGAR = dict(zip("¼½¾⅛⅜⅝⅞", ("1/4", "1/2", "3/4", "1/8", "3/8", "5/8", "7/8"), strict=True))
_QUOTES = ("'", "’")
_CODES = frozenset(CURRENCIES.split("|"))
_OPENING = frozenset("$€£¥(-−–+rpe") | {code[-1] for code in _CODES}
_CURRENCY = rf"(?:[$€£¥]|(?<![^\W_])(?:{CURRENCIES}))"
_BEFORE = re.compile(
    rf"(?:{_CURRENCY} ?)?(?P<open>\([ \u00a0]?)?"
    r"(?:(?:(?<![^\W_])(?<![.,%)])|(?<=\b[rpe]))(?P<sign>[-−–+])(?P<gap> ?))?"
    rf"(?P<currency>{_CURRENCY} ?(?P<inner>[-−–])?)?\Z"
)
_MONEY = re.compile("[$€£¥A-Z]")  # in what `_BEFORE` matches
_CLOSING = re.compile(r"[ \u00a0]?\)")
_FALL = re.compile(
    r"[DdFfLlRrNnMmOoSsCc](?<!\w.)(?i:ecreas|eclin|eficit|ell\b|all|oss|ost\b|rop|own\b|educ|egative|inus|ower"
    r"|ess\b|utflow|hrank|hrunk|ontract(?:ed|ion))\w*(?!\s*\(\s*[-−–]\s*\))"
)
_DOTTED = re.compile(r"[\w.)]\.\Z")  # "No.753", or the last leader dot of "....753"; else ".753" is 0.753
# An underscore glues digits to a name ("x_5", "bulletin_1942_05"), and is emphasis elsewhere ("_9,999_").
_NAME_BEFORE, _NAME_AFTER = re.compile(r"[^\W\d_]\w*_\Z"), re.compile(r"_\w*?[^\W\d_]")
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
        match = _BEFORE.search(text, max(0, start - 12), start)
        assert match  # each part is optional
        begin, opened = match.start(), match.start("open")
        currency = bool(_MONEY.search(match[0]))
        dash = match["sign"] not in (None, "+")
        negative, either = bool(match["inner"]) or (dash and not match["gap"]), dash and bool(match["gap"])
    scale, after = beside(text, end, currency)
    closing = _CLOSING.match(text, after) if opened >= 0 else None
    if closing or (opened >= 0 and ")" in text[end:after]):
        # "Total receipts (6)": a column's number or a footnote's mark, not minus six.
        mark = end - start <= 2 and not scale and text[max(0, begin - 2) : begin - 1].isalpha()
        negative = either = not mark
        after = closing.end() if closing else after
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

    Not counted: digits glued to letters (Q3, 10-K, 10-year, 1990s, FY1942, s1, x_5) and short years ('42),
    footnote marks ("2/"), a list's item numbers at the start of a line, and of a date in digits (3/31/25,
    2025-03-31) all but a year of four digits, because dates are rewritten freely. The range of years
    "1941-42" is two years. Letters that a scan put for digits ("l,204") are not guessed.
    """
    whole, text = text, ascii_digits(text)
    items = {match.end() - 1 for match in _ITEM.finditer(text)}
    turning = [match.start() for match in _FALL.finditer(text)]
    found = []
    for match in TOKEN.finditer(text):
        for reading in read(text, match):
            if match.end() not in items and (figure := _figure(whole, text, match, reading, turning)):
                found.append(figure)
    return tuple(found)


def _figure(
    whole: str, text: str, match: re.Match[str], reading: Reading, turning: list[int]
) -> Figure | None:
    digits, start, end, year = reading
    seen = Around(start, end) if year else around(text, start, end)
    if _in_word(text, *match.span(), seen.end > end):
        return None
    near = bisect_left(turning, start - _NEAR) < bisect_left(turning, end + _NEAR)
    value = Decimal(digits)
    return Figure(
        whole[seen.start : seen.end],
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
    """Say whether digits are glued to letters, before or (where no unit follows) after, hyphenated or not.

    A currency's code is no such letters; two digits after a lone apostrophe are a short year.
    """
    before, after = text[max(0, start - 2) : start], "" if unit else text[end : end + 2]
    joined = before[-1:] in ("-", "‑")
    return (
        ((_letter(before[-1:]) or (joined and _letter(before[:-1]))) and not _coded(text, start - joined))
        or _letter(after[:1])
        or (after[:1] in ("-", "‑") and _letter(after[1:]))
        or (before[-1:] in _QUOTES and end - start == 2 and not unit and after[:1] not in _QUOTES)
        or bool(before[-1:] == "_" and _NAME_BEFORE.search(text, max(0, start - 40), start))
        or bool(after[:1] == "_" and _NAME_AFTER.match(text, end, end + 40))
    )


def _letter(char: str) -> bool:
    """Say whether a character is a letter that may be glued: scripts without case set no blank at numbers."""
    return char.lower() != char.upper()


def _coded(text: str, end: int) -> bool:
    """Say whether a currency's code, itself glued to no letter, ends at `end`."""
    return text[max(0, end - 3) : end] in _CODES and not _letter(text[max(0, end - 4) : end - 3])


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
