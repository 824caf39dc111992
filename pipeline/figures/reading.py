"""Reading numbers out of a text, with what documents put around digits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from pipeline.figures.units import beside


@dataclass(frozen=True)
class Figure:
    """A number as a text writes it. `text == whole[start:end]`, in code points.

    `value` is signed and as written, before any scaling: 5.2 for "5.2%", -1204 for "(1,204)", 2.5 for "2-1/2".
    `scale` is the power of ten that its own unit word declares: 6 for "4.1 million", -2 for percent, else 0.
    `either_sign`: the text writes the sign as formatting or in words, so the number may mean either:
    in parentheses, after a detached dash, beside "decrease" or "deficit".
    `year`: stands as a year ("May 1942", "fiscal 1942", the 42 of "1941-42", whose value is 1942).
    """

    text: str
    start: int
    end: int
    value: Decimal
    decimals: int
    scale: int
    either_sign: bool = False
    year: bool = False


NUMBER = (
    r"[0-9]{1,3}(?:\.[0-9]{3}){2,}(?![0-9])"  # 1.779.352
    r"|[0-9]{1,3}(?:[,\u00a0\u202f][0-9]{3})+(?![0-9])(?:\.[0-9]+)?"
    r"|[0-9]+(?:\.[0-9]+)?"
    r"|(?<![\w.)])\.[0-9]+"  # .753, but not the last leader dot of "....753"
)
FRACTION = (
    r"(?<![0-9/.,])(?:(?P<whole>[0-9]{1,3})(?:-| ))?(?P<over>[0-9]{1,2})/(?P<under>2|4|8|16|32|64)(?![0-9/])"
    r"|(?P<whole2>[0-9]{0,3}) ?(?P<vulgar>[¼½¾⅛⅜⅝⅞])"
)
DATE = r"(?<![0-9/-])(?:[0-9]{1,2}/[0-9]{1,2}/(?P<y>[0-9]{4}|[0-9]{2})|(?P<iso>[0-9]{4})-[0-9]{2}-[0-9]{2})(?![0-9/])"
SPAN = r"(?<![0-9,.])(?P<first>1[5-9][0-9]{2}|20[0-9]{2})[-–/](?P<second>[0-9]{2})(?![0-9/,.]|-[0-9])"
_VULGAR = dict(zip("¼½¾⅛⅜⅝⅞", ("0.25", "0.5", "0.75", "0.125", "0.375", "0.625", "0.875"), strict=True))
_TOKEN = re.compile(f"(?P<date>{DATE})|(?P<span>{SPAN})|(?P<fraction>{FRACTION})|(?P<number>{NUMBER})")
_BEFORE = re.compile(
    r"(?:(?:US)?[$€£¥] ?)?(?P<open>\( ?)?(?:(?:(?<![\w.,%)])|(?<=\b[rpe]))(?P<sign>[-−–+])(?P<gap> ?))?"
    r"(?P<currency>(?:US)?[$€£¥] ?(?P<inner>[-−–])?)?\Z"
)
_FALL = re.compile(
    r"\b(?:decreas|declin|deficit|fell\b|fall|loss|lost\b|drop|down\b|reduc|negative|minus|lower|less\b|outflow"
    r"|shrank|shrunk|contract(?:ed|ion))\w*(?!\s*\(\s*[-−–]\s*\))",
    re.IGNORECASE,
)
_YEAR = re.compile(
    r"(?:\b(?:in|since|during|through|until|fiscal|calendar|years?|FY|CY)"
    r"|\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?(?:\s[0-9]{1,2},)?)\s\Z",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Around:
    """What stands around digits: their sign, their own unit, and the whole's start and end."""

    start: int
    end: int
    negative: bool
    either_sign: bool
    scale: int


def around(text: str, start: int, end: int) -> Around:
    """Read what documents write around the digits at `start` to `end`."""
    low = max(0, start - 10)
    match = _BEFORE.search(text, low, start)
    assert match  # every part is optional
    scale, after = beside(
        text, end, bool(match["currency"]) or text[low:start].rstrip().endswith(("$", "€", "£"))
    )
    begin, negative, either = match.start(), bool(match["inner"]), False
    if match["open"] and text[after : after + 1] == ")":
        after, negative, either = after + 1, True, True
    elif match["open"] and after > end and text[end : end + 1] == ")":
        negative, either = True, True
    elif match["open"]:
        begin = match.end("open")
    if match["sign"] and match["sign"] != "+":
        negative, either = (negative, True) if match["gap"] else (True, either)
    if text[after : after + 1] in ("-", "−") and not text[after + 1 : after + 2].strip():
        either = True
    return Around(begin, after, negative, either or bool(falls(text, start, end)), scale)


def falls(text: str, start: int, end: int) -> bool:
    """Say whether words near a number, on its line, turn its sign ("a deficit of", "8.63% decrease").

    Not where they declare that the sign is written out: "surplus or deficit (-)".
    """
    low = max(text.rfind("\n", max(0, start - 60), start) + 1, start - 60, 0)
    line = text[low : end + 60]
    return bool(_FALL.search(line.split("\n", 1)[0] if "\n" in line else line))


def is_mark(text: str, start: int, end: int) -> bool:
    """Say whether digits are a footnote's mark ("1,204 2/"), not a number."""
    return (
        end - start <= 2
        and text[end : end + 1] == "/"
        and not text[end + 1 : end + 2].isdigit()
        and text[start - 1 : start] != "/"
    )


def _in_word(text: str, start: int, end: int, unit: bool) -> bool:
    """Say whether digits are glued to letters (Q3, 10-K, 1990s, FY1942), or number a list's item."""
    before, after = text[max(0, start - 2) : start], text[end : end + 2]
    if before and (before[-1].isalnum() or before[-1] in "_'’"):
        return True
    if len(before) == 2 and before[1] in "-‑" and before[0].isalpha():
        return True
    if not unit and (after[:1].isalpha() or after[:1] == "_"):
        return True
    if not unit and len(after) == 2 and after[0] in "-‑" and after[1].isalpha():
        return True
    return False


_ITEM = re.compile(r"(?m)^[ \t]*(?:[-*•][ \t]+)?\(?[0-9]{1,2}[.)](?=[ \t])")


def figures(text: str) -> tuple[Figure, ...]:
    """Return the numbers of a text, in order. Linear in its length; never raises.

    Not counted: digits glued to letters or an apostrophe (Q3, 10-K, 10-year, 1990s, FY1942, s1, '42), footnote
    marks ("2/"), a list's item numbers at the start of a line, and of an all-digit date (3/31/25, 2025-03-31)
    all but a year of four digits, because dates are rewritten freely.
    """
    items = {match.end() - 1 for match in _ITEM.finditer(text)}
    found = (figure for match in _TOKEN.finditer(text) for figure in _read(text, match, items))
    return tuple(found)


def _read(text: str, match: re.Match[str], items: set[int]) -> Iterator[Figure]:
    if match["date"]:
        group = "y" if match["y"] else "iso"
        if len(match[group]) == 4:
            yield _year(text, *match.span(group), int(match[group]))
    elif match["span"]:
        first = int(match["first"])
        if not _in_word(text, match.start(), match.end(), unit=False):
            yield _year(text, *match.span("first"), first)
            yield _year(text, *match.span("second"), following(first, int(match["second"])))
    elif match["fraction"]:
        yield from _figure(text, *match.span(), fraction(match))
    elif match.end() not in items and not is_mark(text, *match.span()):
        yield from _figure(text, *match.span(), plain(match[0]))


def _figure(text: str, start: int, end: int, digits: str) -> Iterator[Figure]:
    seen = around(text, start, end)
    if _in_word(text, start, end, unit=seen.scale != 0):
        return
    value = Decimal(digits)
    year = end - start == 4 and text[start] in "12" and not seen.scale and digits.isdigit()
    yield Figure(
        text[seen.start : seen.end],
        seen.start,
        seen.end,
        -value if seen.negative else value,
        len(digits.partition(".")[2]),
        seen.scale,
        seen.either_sign,
        year and bool(_YEAR.search(text, max(0, start - 20), start)),
    )


def _year(text: str, start: int, end: int, year: int) -> Figure:
    return Figure(text[start:end], start, end, Decimal(year), 0, 0, year=True)


def following(first: int, second: int) -> int:
    """Return the year that the second part of "1941-42" or "1999-00" means."""
    year = first // 100 * 100 + second
    return year if year >= first else year + 100


def fraction(match: re.Match[str]) -> str:
    """Return the decimal digits of a match of `FRACTION`."""
    if match["vulgar"]:
        part = Decimal(_VULGAR[match["vulgar"]])
    else:
        part = Decimal(match["over"]) / Decimal(match["under"])
    return str(Decimal(match["whole"] or match["whole2"] or 0) + part)


def plain(written: str) -> str:
    """Return a number's digits without what groups them: "1,204.50" as "1204.50"."""
    if written.count(".") > 1:
        written = written.replace(".", "")
    for separator in ",\u00a0\u202f ":
        written = written.replace(separator, "")
    return written
