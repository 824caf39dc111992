"""The question reader: which figures a question asks for, from where, and what is to be done with them.

It looks for parts that any phrasing must name (periods, issues, an operation, a form) and takes what is left over
as the subject, which tables decide: no phrasing is matched as a whole.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from pipeline.backbone.reference.numerals import SCALES
from pipeline.backbone.reference.periods import (
    Mention,
    expand,
    mentions,
    months_of,
    run_of_months,
    wants_months,
)
from pipeline.backbone.reference.words import Period, stems

Aim = Literal[
    "value", "list", "sum", "difference", "percent_change", "mean", "geomean", "median", "stdev", "pstdev",
    "ratio", "share", "max", "min", "slope", "cagr",
]  # fmt: skip
Vintage = Literal["latest", "first", "issue", "any"]

_AIMS: tuple[tuple[Aim, str], ...] = (
    ("geomean", r"geometric\s+(?:mean|average)"),
    ("pstdev", r"population\s+standard\s+deviation"),
    ("stdev", r"standard\s+deviation"),
    ("median", r"\bmedian\b"),
    ("slope", r"\bslope\b|least[- ]squares|regression|trend line"),
    ("cagr", r"compound(?:ed)?\s+(?:annual\s+)?(?:rate|growth|annual)|\bCAGR\b"),
    ("percent_change", r"per\s?cent(?:age)?\s+(?:\w+\s+)?(?:change|increase|decrease|growth|decline|rise|fall|drop|gain|difference)"
        r"|(?:by|how)\s+(?:what|many|much)\s+(?:a\s+)?per\s?cent|by what percentage|(?:change|increase|decrease|growth|decline|rise|rose|fell|grew|grow|move|differ)[^.?]*\b(?:in|as a)\s+per\s?cent(?:age)?\b(?!\s+points?)"
        r"|growth rate|rate of (?:growth|change|increase|decrease)|relative change|percentage terms"),
    ("share", r"\bshare\b|per\s?cent(?:age)?\s+of\b|proportion|what fraction|what per\s?cent"),
    ("ratio", r"\bratio\b|divided by|how many times|quotient|\btimes as\b|relative to"),
    ("difference", r"\bdifference\b|how much (?:\w+\s+){0,3}?(?:more|less|higher|lower|larger|smaller|greater|fewer|above|below|bigger)"
        r"|by how (?:much|many)|\bexceed|\bminus\b|\bgap\b|\bnet change\b|absolute change|\bchange (?:in|of|from|between)\b|subtract|what (?:is|was) the (?:change|increase|decrease|rise|fall|drop|decline)"
        r"|how (?:much|far|many) did|how much (?:has|have|had)|\b(?:more|higher|lower|larger|greater|fewer|less) than\b|\bchanged? by\b|(?:increase|decrease|rise|fall|drop|decline|grow|change|move)d? (?:from|between|over)"),
    ("mean", r"\bmean\b|\baverage\b|averaged?\s+(?:out|over|across)"),
    ("max", r"\b(?:highest|largest|maximum|peak(?:ed)?|greatest|most|top|biggest)\b"),
    ("min", r"\b(?:lowest|smallest|minimum|least|bottom|trough)\b"),
    ("sum", r"\bsum\b|combined|together|add(?:ed|ing)?\b|cumulat|altogether|\bin all\b|aggregate|\btotal(?:l?ed|s|ling)?\b|overall|taken as a whole|plus"),
)  # fmt: skip
_LATEST = re.compile(
    r"most recent|latest|newest|last (?:reported|published|printed)|as (?:last )?(?:revised|corrected|amended|restated|updated)|\b(?:revis|correct|restat|amend)(?:ed|ions?)\b"
    r"|finally|current(?:ly)? (?:figure|stand|report)|errat|corrections?\b|up[- ]to[- ]date|\bnow (?:stands?|reported|published)|definitive|after (?:any |all )?(?:revision|correction)",
    re.I,
)  # fmt: skip
_FIRST = re.compile(
    r"as first|first (?:\w+\s+)?(?:published|reported|printed|issued|released|appear|given|announced|figure|estimate)|initial(?:ly)?|original(?:ly)?|preliminar|"
    r"before (?:\w+ )?(?:revision|correction)|unrevised|earliest (?:published|reported|printed)|prior to (?:\w+ )?(?:revision|correction)",
    re.I,
)  # fmt: skip
_LATER_PRINT = re.compile(
    r"\b(?:most recent\w*|latest|last|newest|final)\s+(?:\w+\s+){0,2}?(?:figure|value|amount|report|print|publish|version|revision)|\brevised figure|\bcorrected figure",
    re.I,
)
_EARLIEST = re.compile(r"\b(?:earliest|first|oldest|earlier)\b", re.I)
_DECIMALS = re.compile(
    r"\b(one|two|three|four|five|six|\d)\s+(?:decimal|digits? after|places?)|\bnearest\s+(?:\w+\s+)?(tenth|hundredth|thousandth|whole|integer|million|billion|thousand|dollar|unit|ton|one|number|percent|full)",
    re.I,
)
_COUNTS = {
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "tenth": 1,
    "hundredth": 2,
    "thousandth": 3,
}
_SCALE = re.compile(
    r"\b(?:in|of|as|many|to the nearest)\s+(?:\w+\s+)?(thousand|million|billion|trillion)s?\b", re.I
)
FILLER = frozenset(
    stems(
        "figure value amount number report reported publication published printed print shown show given give state stated answer round rounded "
        "nearest decimal decimals place places express expressed issue issues bulletin bulletins edition treasury table tables file files question "
        "month months year years monthly fiscal calendar quarter using use used take taking taken consider every latest recent recently most first "
        "according appear appears appearing record recorded percent percentage change difference ratio sum mean average combined highest "
        "lowest largest smallest all any bracketed list order million millions thousand thousands billion billions dollar dollars unit units "
        "initially originally revised corrected last newest following find compute calculate determine say says whole integer period stand stood "
        "increase decrease growth deviation standard geometric median share proportion exactly actual more less higher lower larger smaller "
        "errata including include counting count compare compared respectively later earlier document documents correction revision original restated sample population"
    )
)


@dataclass(frozen=True)
class Side:
    """One side of a comparison within one period."""

    words: tuple[str, ...]


@dataclass(frozen=True, eq=False)  # compared by identity: `read_question` gives one object for one text
class Question:
    """What is asked. Words name the table, its rows and columns; which is which, the table decides."""

    text: str
    aim: Aim
    words: tuple[str, ...]
    sides: tuple[
        Side, ...
    ]  # the two sides of a comparison (first: minuend, part), if the text tells them apart
    mentions: tuple[Mention, ...]
    told: tuple[tuple[Period, int], ...]  # the periods whose figures are wanted, and where they are named
    fiscal: bool
    prints: tuple[tuple[Period | None, Vintage], ...]  # issue and vintage: one, or one for each figure
    reversed: bool  # the second figure less the first
    decimals: int | None
    scale: float | None  # 1e6: asked in millions; None: as printed
    bracketed: bool
    names_period: bool  # "in which month …": the answer is a period

    @property
    def issues(self) -> tuple[Period, ...]:
        """The issues that are named."""
        return tuple(dict.fromkeys(issue for issue, _ in self.prints if issue))

    @property
    def periods(self) -> tuple[Period, ...]:
        """The periods that are named, each once."""
        return tuple(dict.fromkeys(period for period, _ in self.told))


@lru_cache(maxsize=1024)
def read_question(text: str, answer_format: str = "") -> Question:
    """Read a question. What it doesn't say is left open."""
    found = mentions(text)
    rest = _without(text, found)
    prints = _prints(text, found)
    aim = _aim(_FIRST.sub(_blank, _LATEST.sub(_blank, rest)), len(prints) > 1)
    told = [mention for mention in found if not mention.issue]
    if aim == "value" and len(told) > 1 and not _joined(text, told):
        told = told[-1:]  # "the December 1939 summary … at the end of October 1939"
    fiscal = any(mention.fiscal for mention in told)
    periods = _told(text, told, aim, fiscal)
    if aim in ("sum", "mean", "max", "min") and len(periods) < 2 and not _wants_rows(rest, aim):
        aim = "value"  # "total receipts", "average balance", "highest yield" may name a measure
    if aim == "value" and len(periods) > 1:
        aim = "list" if re.search(r"\blist\b|respectively|\[", text, re.I) else "sum"
    return Question(
        text=text,
        aim=aim,
        words=subject_words(rest),
        sides=_sides(rest, aim) if len(periods) < 2 and len(prints) < 2 else (),
        mentions=tuple(found),
        told=periods,
        fiscal=fiscal,
        prints=prints,
        reversed=_reversed(rest, aim),
        decimals=_decimals(f"{text} {answer_format}"),
        scale=_scale(text),
        bracketed=bool(re.search(r"\[|bracket|as a list", f"{text} {answer_format}", re.I)),
        names_period=bool(
            re.search(r"\b(?:which|what)\s+(?:calendar\s+|fiscal\s+)?(?:month|year|quarter)\b", text, re.I)
        ),
    )


def _blank(found: re.Match[str]) -> str:
    return " " * len(found.group())


def _without(text: str, found: list[Mention]) -> str:
    """The text with its period and issue mentions blanked out, offsets kept."""
    blank = list(text)
    for mention in found:
        blank[mention.start : mention.end] = " " * (mention.end - mention.start)
    return "".join(blank)


def _prints(text: str, found: list[Mention]) -> tuple[tuple[Period | None, Vintage], ...]:
    """Which print each figure is wanted from: one for all, or two or more in the order of the text."""
    issues = [period for mention in found if mention.issue for period in mention.periods]
    latest, first = _LATER_PRINT.search(text) or _LATEST.search(text), _FIRST.search(text)
    if len(issues) > 1 and (latest or _EARLIEST.search(text)):
        ends: list[tuple[Period | None, Vintage]] = [(max(issues), "issue"), (min(issues), "issue")]
        early = _EARLIEST.search(text)
        return tuple(ends[::-1] if early and latest and early.start() < latest.start() else ends)
    if issues:
        return tuple((issue, "issue") for issue in issues)
    if latest and first:
        pair: list[tuple[Period | None, Vintage]] = [(None, "latest"), (None, "first")]
        return tuple(pair if latest.start() < first.start() else pair[::-1])
    if first:
        return ((None, "first"),)
    return ((None, "latest" if latest else "any"),)


def _joined(text: str, told: list[Mention]) -> bool:
    """Whether the periods of a text stand in one list."""
    return all(
        re.fullmatch(r"[\s,;]*(?:and|or|&)?\s*(?:for|in|of)?\s*", text[a.end : b.start])
        for a, b in zip(told, told[1:], strict=False)
    )


def _reversed(rest: str, aim: Aim) -> bool:
    """Whether a difference is told as second less first: a lower one, a change over time, or a subtraction from."""
    if aim == "percent_change":
        return (
            re.search(r"\b(?:more|higher|larger|greater|lower|less|smaller|fewer)\b.*\bthan\b", rest, re.I)
            is not None
        )
    if aim != "difference":
        return False
    if re.search(r"subtract\w*\b.*\bfrom\b", rest, re.I):
        return True
    if re.search(
        r"\b(?:lower|less|smaller|fewer|below|short)\b(?!\s+(?:the|than the) )", rest, re.I
    ) and not re.search(r"\bless\s+(?:the\s+)?[\"“]", rest):
        return True
    compares = r"\bminus\b|\bexceed|\bmore\b|\bhigher\b|\blarger\b|\bgreater\b|\babove\b|difference"
    return not re.search(compares, rest, re.I)


def _aim(rest: str, across: bool) -> Aim:
    for aim, pattern in _AIMS:
        if re.search(pattern, rest, re.I):
            if across and aim in ("sum", "max", "min", "mean", "share"):
                continue
            return aim
    return "difference" if across else "value"


def _wants_rows(rest: str, aim: Aim) -> bool:
    """Whether a single period's aim is over rows: a sum of named series, or the row that is highest."""
    if aim in ("max", "min"):
        return re.search(r"\bwhich\b", rest, re.I) is not None
    return (
        aim == "sum"
        and re.search(r"\bsum\b|combined|together|added?\b|\bin all\b|altogether", rest, re.I) is not None
    )


def _told(text: str, told: list[Mention], aim: Aim, fiscal: bool) -> tuple[tuple[Period, int], ...]:
    """The periods whose figures are wanted, with where they stand, in order."""
    found: list[tuple[Period, int]] = []
    for mention in told:
        ends = mention.ranged and aim in ("difference", "percent_change", "cagr", "ratio")
        periods = mention.periods if ends or not mention.ranged else expand(*mention.periods)
        found.extend((period, mention.start) for period in periods)
    if len(found) == 1:
        period, at = found[0]
        if run := run_of_months(text, period):
            return tuple((month, at) for month in run)
        if aim not in ("value", "difference", "ratio", "share", "percent_change") and wants_months(text):
            return tuple((month, at) for month in months_of(period, fiscal))
    return tuple(found)


_SPLITS: dict[str, tuple[str, ...]] = {
    "share": (
        r"(?:share|per\s?cent(?:age)?|proportion|fraction|portion)\s+of\s+(?P<whole>.+?)\s+(?:was|were|did|is|are|consisted|came|come|made|went|came from|accounted|attribut\w*|represented|held)\b\s*(?:held\s+)?(?:of|up|by|for|from|to|in)*\s*(?P<part>.+)",
        r"(?P<part>.+?)\s+(?:held|was|were|is|are|make up|made up|represent\w*|account\w*\s+for|constitute\w*)?\s*(?:as\s+a\s+|as\s+|what\s+|a\s+)?(?:share|per\s?cent(?:age)?|proportion|fraction|portion)\s+of\s+(?P<whole>.+)",
    ),
    "ratio": (
        r"ratio\s+of\s+(?P<part>.+?)\s+to\s+(?P<whole>.+)",
        r"(?P<part>.+?)\s+(?:divided by|relative to|times as \w+ as)\s+(?P<whole>.+)",
        r"ratio\s+between\s+(?P<part>.+?)\s+and\s+(?P<whole>.+)",
    ),
    "difference": (
        r"difference\s+between\s+(?P<part>.+?)\s+and\s+(?P<whole>.+)",
        r"(?:more|less|higher|lower|larger|smaller|greater|fewer|bigger)\s+(?:was|were|is|are)?\s*(?P<part>.+?)\s+than\s+(?P<whole>.+)",
        r"(?P<part>.+?)\s+(?:exceed\w*|minus|less|above|below|over)\s+(?P<whole>.+)",
        r"(?P<part>.+?)\s+(?:was|were|is|are)?\s*(?:more|less|higher|lower|larger|smaller|greater|fewer)\s+than\s+(?P<whole>.+)",
    ),
    "sum": (
        r"sum\s+of\s+(?P<part>.+?)\s+and\s+(?P<whole>.+)",
        r"(?P<part>.+?)\s+(?:and|plus)\s+(?P<whole>.+?)\s*(?:combined|together|taken|add|in all|altogether)",
        r"(?:combined|together|total)\s+(?P<part>.+?)\s+(?:and|plus)\s+(?P<whole>.+)",
    ),
    "percent_change": (r"(?:higher|lower|larger|smaller|greater|more|less)\s+(?:was|were)?\s*(?P<part>.+?)\s+than\s+(?P<whole>.+)",),
}  # fmt: skip


def _sides(rest: str, aim: Aim) -> tuple[Side, ...]:
    """The two sides of a comparison within one period, if a text tells them apart."""
    for pattern in _SPLITS.get(aim, ()):
        found = re.search(pattern, rest, re.I)
        if found and _content(found["part"]) and _content(found["whole"]):
            return Side(subject_words(found["part"])), Side(subject_words(found["whole"]))
    return ()


def _content(text: str) -> bool:
    return any(word not in FILLER for word in stems(text))


def subject_words(text: str) -> tuple[str, ...]:
    """The words of a subject that may name a series, a row or a column, in order."""
    return tuple(dict.fromkeys(word for word in stems(text) if word not in FILLER and not word.isdigit()))


def _decimals(text: str) -> int | None:
    found = _DECIMALS.search(text)
    if not found:
        return None
    if found[1]:
        return _COUNTS.get(found[1].lower()) or int(found[1])
    return _COUNTS.get(found[2].lower(), 0) if found[2].lower() != "one" else 0


def _scale(text: str) -> float | None:
    found = _SCALE.search(text)
    if found:
        return SCALES[found[1].lower()]
    return 1.0 if re.search(r"\bin (?:whole )?dollars\b", text, re.I) else None
