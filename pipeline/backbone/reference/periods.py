"""Periods in running text: `January, February and March 2022`, `fiscal years 2006 through 2010`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pipeline.backbone.reference.words import NTH, YEAR_PATTERN, Period, month_number

_CAPITALISED = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?"
    r"|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\b\.?"
)
_ATOM = re.compile(
    rf"(?P<month>{_CAPITALISED})(?:\s+\d{{1,2}}(?:st|nd|rd"
    rf"|th)?\b)?(?:,?\s+(?:of\s+)?(?P<year>{YEAR_PATTERN})\b)?"
    rf"|\b(?P<iso>{YEAR_PATTERN})-(?P<number>0[1-9]|1[0-2])\b"
    rf"|\bQ(?P<quarter>[1-4])\s*(?:of\s+)?(?P<qyear>{YEAR_PATTERN})"
    rf"|\b(?P<nth>first|second|third|fourth)[ -]quarter\s*(?:of\s+)?(?P<nyear>{YEAR_PATTERN})?"
    rf"|(?P<fiscal>\b(?:fiscal(?:[ -]years?)?|FYs?|F\.Y\.|financial years?|budget years?)\s*)?"
    rf"(?P<calendar>\bcalendar(?:[ -]years?)?\s*)?"
    rf"(?<!\d)(?P<bare>{YEAR_PATTERN})(?:\s*[-–/]\s*(?P<short>\d\d))?\b(?!,\d)",
)
_MONTHS_OF_YEAR = re.compile(
    rf",?\s*\(\s*(?:from\s+)?(?P<first>{_CAPITALISED})(?:\s+{YEAR_PATTERN})?\s*(?:through|thru|to|until|-|–|—)"
    rf"\s*{_CAPITALISED}(?:\s+{YEAR_PATTERN})?\s*\)"
)
_ISSUE = r"(?:issues?|bulletins?|editions?|reports?|releases?|publications?|numbers?|volumes?|cop(?:y|ies))"
_ISSUE_AFTER = re.compile(
    rf"^(?:'s|’s)?,?\s+(?:(?:[A-Z][a-z]+|monthly|quarterly|annual|statistical)\s+){{0,3}}?(?i:{_ISSUE})\b"
)
_ISSUE_BEFORE = re.compile(
    r"\b(?:issues?|bulletins?|editions?|publications?)\b\s*(?:\w+\s+){0,2}?(?:(?:of|for|dated|from|in"
    r"|is|:|\()\s*)?"
    r"(?:the\s+)?(?:month\s+of\s+)?$",
    re.I,
)
_PUBLISHED = re.compile(
    r"\b(?:published|printed|released|issued|dated|brought out|put out|came out|appear(?:ed|ing"
    r"|s)?)\s+(?:in\s+)?(?:the\s+)?$"
    r"|\bas (?:first )?(?:reported|given|shown|stated|carried|recorded|presented|of)\s+(?:in"
    r"|by)\s+(?:the\s+)?$",
    re.I,
)
_FISCAL_END = re.compile(
    r"\b(?:fiscal|financial|accounting|budget) (?:year|twelve months|12 months)\s+(?:that\s+|which\s+)?"
    r"(?:end(?:ed|ing|s)?|clos(?:ed|ing)|to|through)\s+(?:in|on|with|at)?\s*(?:the end of\s+)?$",
    re.I,
)
_JOINT = re.compile(r"^\s*(?:,|and|or|&|,\s*and|versus|with)\s*(?:of\s+)?(?:the\s+)?$", re.I)
_THROUGH = re.compile(
    r"^\s*(?:through|thru|to|until|till|up to|and ending (?:in|with)|–|—|-"
    r"|and)\s*(?:and including\s+)?(?:the\s+)?(?:end of\s+)?(?:months? of\s+)?$",
    re.I,
)
_OPENS_RANGE = re.compile(
    r"\b(?:from|between|starting (?:in|with)|beginning (?:in"
    r"|with))\s+(?:the\s+)?(?:end of\s+)?(?:fiscal(?:\s+years?)?\s*)?$",
    re.I,
)
_ALL_MONTHS = re.compile(
    r"\b(?:monthly|each month|every month|all (?:the )?(?:12|twelve) months|(?:12|twelve) months"
    r"|months|which month)\b",
    re.I,
)


_COUNTS = {
    "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
    "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12,
}  # fmt: skip


@dataclass(frozen=True)
class Mention:
    """Periods that a stretch of text names. A range keeps its ends apart: the question says what it wants."""

    periods: tuple[Period, ...]
    start: int
    end: int
    fiscal: bool = False
    issue: bool = False
    ranged: bool = False  # two ends of a range
    calendar: bool = False  # a year that is said to be a calendar year


def mentions(text: str) -> list[Mention]:
    """Every period that a text names, in order."""
    atoms = _explained(text, (_atom(found, text) for found in _ATOM.finditer(text)))
    atoms = _with_issues(text, _with_years(text, atoms))
    return _with_ranges(text, [atom for atom in atoms if atom.periods[0].year])


def _atom(found: re.Match[str], text: str) -> Mention:
    parts = found.groupdict()
    fiscal = bool(parts["fiscal"])
    if parts["month"] and parts["year"] and _FISCAL_END.search(text[: found.start()]):
        fiscal, period = True, Period(int(parts["year"]))
    elif parts["month"]:
        period = Period(int(parts["year"] or 0), month_number(parts["month"]))
    elif parts["iso"]:
        period = Period(int(parts["iso"]), int(parts["number"]))
    elif parts["quarter"]:
        period = Period(int(parts["qyear"]), quarter=int(parts["quarter"]))
    elif parts["nth"]:
        period = Period(int(parts["nyear"] or 0), quarter=NTH[parts["nth"].lower()])
    else:
        year = int(parts["bare"])
        if parts["short"] and fiscal:  # fiscal 1995-96 is named by its end
            year = year // 100 * 100 + int(parts["short"])
        period = Period(year)
    return Mention((period,), found.start(), found.end(), fiscal, calendar=bool(parts["calendar"]))


def _explained(text: str, atoms: Iterable[Mention]) -> list[Mention]:
    """Take in the months that say what a year is: `fiscal year 1987 (October 1986 through September 1987)`.

    A year from January is a calendar year, and one from another month a fiscal year.
    """
    kept: list[Mention] = []
    for atom in atoms:
        year = kept[-1] if kept else None
        if year and year.start <= atom.start < year.end:
            continue
        said = _MONTHS_OF_YEAR.match(text, atom.end)
        if said and not atom.periods[0].month:
            calendar = said["first"].startswith("Jan")
            atom = replace(atom, end=said.end(), calendar=calendar, fiscal=not calendar)
        kept.append(atom)
    return kept


def _with_years(text: str, atoms: Sequence[Mention]) -> list[Mention]:
    """`January, February and March 2022`: a bare month takes the year of what follows (else precedes) it."""
    dated = list(atoms)
    for i in range(len(dated) - 2, -1, -1):
        period, later = dated[i].periods[0], dated[i + 1].periods[0]
        if (
            not period.year
            and later.year
            and (period.month or period.quarter)
            and dated[i + 1].start - dated[i].end < 40
        ):
            year = later.year - (1 if later.month and period.month > later.month else 0)
            dated[i] = replace(dated[i], periods=(replace(period, year=year),))
    for i in range(1, len(dated)):
        period, earlier = dated[i].periods[0], dated[i - 1].periods[0]
        if not period.year and earlier.year:
            dated[i] = replace(dated[i], periods=(replace(period, year=earlier.year),))
        if earlier.year and dated[i - 1].fiscal and _JOINT.match(text[dated[i - 1].end : dated[i].start]):
            dated[i] = replace(dated[i], fiscal=dated[i].fiscal or not dated[i].periods[0].month)
    return dated


def _with_issues(text: str, atoms: Sequence[Mention]) -> list[Mention]:
    """Mark the dates that name an issue of a publication, those joined to one included."""
    marked = list(atoms)
    for i, atom in enumerate(marked):
        before, after = text[: atom.start], text[atom.end : atom.end + 60]
        joined = i > 0 and marked[i - 1].issue and _JOINT.match(text[marked[i - 1].end : atom.start])
        named = _ISSUE_AFTER.match(after) or _ISSUE_BEFORE.search(before) or _PUBLISHED.search(before)
        if (named or joined) and not atom.fiscal:
            marked[i] = replace(atom, issue=True)
    for i in range(len(marked) - 2, -1, -1):
        if (
            marked[i + 1].issue
            and _JOINT.match(text[marked[i].end : marked[i + 1].start])
            and not marked[i].fiscal
        ):
            marked[i] = replace(marked[i], issue=True)
    return marked


def _with_ranges(text: str, atoms: Sequence[Mention]) -> list[Mention]:
    merged: list[Mention] = []
    for atom in atoms:
        last = merged[-1] if merged else None
        if last and not last.issue and not atom.issue and not last.ranged:
            between = text[last.end : atom.start]
            opened = _OPENS_RANGE.search(text[: last.start])
            bare_and = re.fullmatch(r"\s*and\s*", between)
            through = _THROUGH.match(re.sub(r"fiscal(?:\s+years?)?", "", between, flags=re.I))
            if through and (opened or not bare_and):
                merged[-1] = Mention(
                    last.periods + atom.periods, last.start, atom.end, last.fiscal or atom.fiscal, ranged=True
                )
                continue
        merged.append(atom)
    return merged


def expand(first: Period, last: Period) -> tuple[Period, ...]:
    """All periods from one to another: months, quarters or years, as the first one is."""
    if first.month:
        start, stop = first.year * 12 + first.month - 1, last.year * 12 + (last.month or 12) - 1
        return tuple(Period(n // 12, n % 12 + 1) for n in range(start, stop + 1))
    if first.quarter:
        start, stop = first.year * 4 + first.quarter - 1, last.year * 4 + (last.quarter or 4) - 1
        return tuple(Period(n // 4, quarter=n % 4 + 1) for n in range(start, stop + 1))
    return tuple(Period(year) for year in range(first.year, last.year + 1))


def months_of(period: Period, fiscal: bool) -> tuple[Period, ...]:
    """The months of a year or a quarter. A fiscal year runs from October."""
    if period.month:
        return (period,)
    if period.quarter:
        return tuple(Period(period.year, period.quarter * 3 - 2 + i) for i in range(3))
    if fiscal:
        return expand(Period(period.year - 1, 10), Period(period.year, 9))
    return expand(Period(period.year, 1), Period(period.year, 12))


def wants_months(text: str) -> bool:
    """Whether a question about a year asks for its months."""
    return _ALL_MONTHS.search(text) is not None


def run_of_months(text: str, period: Period) -> tuple[Period, ...] | None:
    """`the six months ending (beginning) in June 2004`: those months, if a text says so of a month."""
    found = re.search(
        rf"\b(\d+|{'|'.join(_COUNTS)})[ -]months?\s+(?:period\s+)?(?:that\s+)?(end|begin|start|from|to"
        rf"|through)",
        text,
        re.I,
    )
    if not found or not period.month:
        return None
    count = _COUNTS.get(found[1].lower()) or int(found[1])
    at = period.year * 12 + period.month - 1
    first = at - count + 1 if found[2].lower() in ("end", "to", "through") else at
    return tuple(Period(n // 12, n % 12 + 1) for n in range(first, first + count))
