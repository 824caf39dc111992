"""The question reader: which figures a question asks for, from where, and what is to be done with them.

It looks for the parts that any phrasing must name (periods, issues, an operation, a form) and takes what is
left over as the subject, which tables decide: no phrasing is matched as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from pipeline.backbone.reference.aims import Aim, is_reversed, read_aim
from pipeline.backbone.reference.forms import (
    Order,
    asked_scale,
    decimals,
    form,
    read_order,
    wants_list,
    wants_names,
    wants_period,
)
from pipeline.backbone.reference.periods import (
    Mention,
    expand,
    mentions,
    months_of,
    run_of_months,
    wants_months,
)
from pipeline.backbone.reference.prints import Print, read_prints, without_prints
from pipeline.backbone.reference.subjects import Side, quoted_title, sides, subject_words
from pipeline.backbone.reference.words import Period

_NEGATED = re.compile(r"\bminus signs?\b|\bcount\w* as negative\b", re.I)  # says how figures are written
_LABELLED = re.compile(r'["“][^"”]+["”]')  # what quotes its labels needs no sides to be told apart
_ENDS = ("difference", "percent_change", "cagr", "ratio", "share")  # aims that want a range's two ends


@dataclass(frozen=True)
class Told:
    """A period whose figure is wanted, and where it is named. A calendar year may be given by its months."""

    period: Period
    at: int
    calendar: bool = False


@dataclass(frozen=True, eq=False)  # compared by identity: `read_question` gives one object for one text
class Question:
    """What is asked. Words name the table, its rows and columns; which is which, the table decides."""

    text: str
    title: str  # the table's, where the text quotes it
    aim: Aim
    words: tuple[str, ...]
    sides: tuple[Side, ...]  # the two sides of a comparison within one period, in the order of the text
    mentions: tuple[Mention, ...]
    told: tuple[Told, ...]  # the periods whose figures are wanted
    prints: tuple[Print, ...]  # issue and vintage: one, or one for each figure
    reversed: bool  # the figure that is named second comes first in the operation
    decimals: int | None
    scale: float | None  # 1e6: asked in millions; None: as printed
    bracketed: bool
    names_period: bool  # "in which month …": the answer is a period
    names_row: bool  # the answer is rows' names
    order: Order  # of a list

    @property
    def issues(self) -> tuple[Period, ...]:
        """The issues that are named."""
        return tuple(dict.fromkeys(issue for issue, _ in self.prints if issue))

    @property
    def periods(self) -> tuple[Period, ...]:
        """The periods that are named, each once."""
        return tuple(dict.fromkeys(told.period for told in self.told))


@lru_cache(maxsize=1024)
def read_question(text: str, answer_format: str = "") -> Question:
    """Read a question. What it doesn't say is left open."""
    found = mentions(text)
    rest = _NEGATED.sub(" ", without_prints(_without(text, found)))
    prints = read_prints(text, found)
    said = re.sub(r'"[^"]*"|“[^”]*”', " ", rest)  # what stands in quotes is a name
    aim = read_aim(said, compared=len(prints) > 1 and not all(issue for issue, _ in prints))
    told = [mention for mention in found if not mention.issue]
    if aim == "value" and not any(issue for issue, _ in prints) and (issue := _implied_issue(text, told)):
        prints = ((issue.periods[0], "issue"),)
        told.remove(issue)
    periods = _told(text, told, aim)
    order = read_order(said)
    if form(answer_format) == "list" and aim in ("value", "max", "min", "sum"):
        aim = "list"
    elif aim == "value" and len({each.period for each in periods}) > 1:
        aim = "list" if re.search(r"\blist\b|respectively|\[|\border\b", rest, re.I) else "sum"
    return Question(
        text=text,
        title=quoted_title(text),
        aim=aim,
        words=subject_words(rest),
        sides=sides(rest, aim) if len(periods) < 2 and len(prints) < 2 and not _LABELLED.search(text) else (),
        mentions=tuple(found),
        told=periods,
        prints=prints,
        reversed=is_reversed(rest, aim),
        decimals=decimals(f"{text} {answer_format}"),
        scale=asked_scale(text),
        bracketed=wants_list(f"{text} {answer_format}"),
        names_period=wants_period(text),
        names_row=aim == "list" and wants_names(said),
        order=order,
    )


def _without(text: str, found: Sequence[Mention]) -> str:
    """The text with its period and issue mentions blanked out, offsets kept."""
    blank = list(text)
    for mention in found:
        blank[mention.start : mention.end] = " " * (mention.end - mention.start)
    return "".join(blank)


def _implied_issue(text: str, told: Sequence[Mention]) -> Mention | None:
    """Of two dates apart, for one figure, the later is the issue's: an issue prints what went before it.

    So in `the December 1939 summary … at the end of October 1939`.
    """
    if len(told) != 2 or any(mention.ranged for mention in told):
        return None
    later = max(told, key=lambda mention: mention.periods[0].ordinal if mention.periods[0].month else 0)
    between = text[told[0].end : told[1].start]
    joined = re.fullmatch(r"[\s,;]*(?:and|or|&)?\s*(?:for|in|of)?\s*", between)
    return None if joined or not later.periods[0].month else later


def _told(text: str, told: Sequence[Mention], aim: Aim) -> tuple[Told, ...]:
    """The periods whose figures are wanted, with where they stand, in order."""
    found: list[Told] = []
    for mention in told:
        wanted = expand(*mention.periods) if mention.ranged and aim not in _ENDS else mention.periods
        found.extend(Told(period, mention.start, mention.calendar) for period in wanted)
    if len(found) == 1:
        period, at = found[0].period, found[0].at
        if run := run_of_months(text, period):
            return tuple(Told(month, at) for month in run)
        if aim != "value" and aim not in _ENDS and wants_months(text):
            return tuple(Told(month, at) for month in months_of(period, told[0].fiscal))
    return tuple(found)
