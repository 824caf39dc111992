"""How an agent of a trajectory puts things: several ways of each, none of which tells whether it is right."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from pipeline.benchmarks.ledgerqa.planted.figures import Figure

_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
    "November", "December",
)  # fmt: skip
_DATED = re.compile(r"_([0-9]{4})_([0-9]{2})\.")

FIRST = (
    "First, which tables fit this question.",
    "I start by looking for the table.",
    "The collection is large; a search narrows it down.",
    "A first look at what is there.",
)
LOOK = (
    "Now for {what}.",
    "Next, {what}.",
    "{what}: see which tables of these documents have it.",
    "I need {what}.",
)
READ = (
    "This table should have it; read it in full.",
    "Read it, so that it can be cited.",
    "The title fits. I read the whole table.",
    "A look at the rows themselves.",
)
READ_AGAIN = (
    "Read this one as well before settling on a figure.",
    "Check what this one prints.",
    "The same figure may be printed again; read that too.",
)
OTHERS = (
    "Is the figure printed in any other issue?",
    "Other issues may print the same month or period; look there.",
    "Before going on, see how other issues report it.",
)
KEEP = (
    "Keep what the question needs.",
    "Take the figures down with their source.",
    "These are the figures to work with.",
    "Note this.",
)
CHANGE = (
    "The two differ; this is the report that the question is about.",
    "I take this figure in place of the one that I had.",
    "Of the two reports, this one goes into the answer.",
)
STAY = (
    "I have seen both reports; the figure that I noted stands.",
    "Having read this too, I keep to the figure that I noted.",
    "I stay with the report that I took down.",
)
COMPUTE = (
    "All operands are there; compute.",
    "Now the computation.",
    "Put the figures together.",
    "Work it out.",
)
DIRECT = (
    "That is the figure asked for: {answer}.",
    "So the answer is {answer}.",
    "Nothing further to do: {answer}.",
)
BY_HEAD = (
    "Put together, these figures give {answer}.",
    "From these figures the result is {answer}.",
    "Worked out from the figures above, that makes {answer}.",
)
FROM_VALUE = (
    "In the form asked for, that is {answer}.",
    "So I answer {answer}.",
    "That gives {answer}.",
)
GAPS = (
    "Open: {what}.",
    "Still to be found: {what}.",
    "The figure for {what}.",
)
GAPS_OTHER = (
    "Does another issue report it differently?",
    "Whether other issues print the same figure.",
)
CLAIMS = (
    "The answer rests on {what}.",
    "From the bulletin: {what}.",
    "Found: {what}.",
)


def issue(document: str) -> str:
    """An issue as one speaks of it: `April 2005 issue`."""
    found = _DATED.search(document)
    kind = "circular" if "circular" in document else "issue"
    return f"{_MONTHS[int(found[2]) - 1]} {found[1]} {kind}" if found else document


def subject(figures: Sequence[Figure]) -> str:
    """What figures are, in a few words: the one, or the column and the rows from first to last."""
    first, last = figures[0], figures[-1]
    if len(figures) == 1:
        return first.name
    if {figure.column for figure in figures} == {first.column}:
        return f'"{first.column}" from {first.row} to {last.row}'
    return f"{first.name} and {last.name}"


def _table(figure: Figure) -> str:
    return f"Table {figure.code}" if figure.code else "the table"


def _listed(figures: Sequence[Figure]) -> str:
    if len({figure.column for figure in figures}) == 1:
        items = "; ".join(f"{figure.row} {figure.quote}" for figure in figures)
        return f'"{figures[0].column}": {items}'
    return "; ".join(f"{figure.name} {figure.quote}" for figure in figures)


def _titled(figures: Sequence[Figure]) -> str:
    first = figures[0]
    where = f'{_table(first)}, "{first.title}" ({issue(first.span.document)}'
    what = _listed(figures) if len(figures) > 1 else f"{first.name} is {first.quote}"
    return f"{where}; in {first.unit}s of dollars): {what}."


def _short(figures: Sequence[Figure]) -> str:
    first = figures[0]
    what = _listed(figures) if len(figures) > 1 else f"{first.name}: {first.quote}"
    return f"{what} ({first.unit}s of dollars; {_table(first)}, {issue(first.span.document)})."


def _prints(figures: Sequence[Figure]) -> str:
    first = figures[0]
    what = _listed(figures) if len(figures) > 1 else f"{first.quote} for {first.name}"
    table = f"{_table(first)} of the {issue(first.span.document)}"
    return f"{table[0].upper()}{table[1:]} prints, in {first.unit}s of dollars, {what}."


def _corrects(figures: Sequence[Figure]) -> str:
    first = figures[0]
    what = "; ".join(f"{figure.name} {figure.quote}" for figure in figures)
    return f"The {issue(first.span.document)} corrects {_table(first)} (in {first.unit}s of dollars): {what}."


STATEMENTS: tuple[Callable[[Sequence[Figure]], str], ...] = (_titled, _short, _prints)
"""Ways to state figures of one table."""


def statement(figures: Sequence[Figure], style: Callable[[Sequence[Figure]], str]) -> str:
    """State figures that were read in one range."""
    return _corrects(figures) if figures[0].note else style(figures)


def query(figures: Sequence[Figure], full: bool) -> str:
    """Words to search for figures by: their table's title, and in `full` their column and row."""
    first = figures[0]
    opening = "Errata Corrections " if first.note else ""
    words = f" {first.column} {first.row}" if full or first.note else ""
    return f"{opening}{first.title}{words}"
