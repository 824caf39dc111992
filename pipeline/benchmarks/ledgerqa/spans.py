"""Finds a printed figure in an issue's text."""

from __future__ import annotations

import re

from pipeline.benchmarks.ledgerqa.reading import Place
from pipeline.benchmarks.ledgerqa.rendering import Issue
from pipeline.benchmarks.tasks import Span

_FIGURE = re.compile(r"-?[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?")


def span(document: str, issue: Issue, place: Place) -> Span:
    """Where a figure stands, without its `r` mark."""
    start = _in_note(issue, place) if place.note else _in_table(issue, place)
    found = _FIGURE.match(issue.text, start)
    if found is None:
        raise ValueError(f"{document}: no figure at {start}, where {place} should stand")
    return Span(document, found.start(), found.end(), found.group())


def _in_note(issue: Issue, place: Place) -> int:
    note = next(n for n in issue.notes if (n.family, n.month) == (place.family, place.row))
    return note.total if place.column == -1 else note.value


def _in_table(issue: Issue, place: Place) -> int:
    table = next(t for t in issue.tables if (t.family, t.restated) == (place.family, place.restated))
    start = table.body
    for _ in range(place.row):
        start = issue.text.index("\n", start) + 1
    line = issue.text[start : issue.text.index("\n", start)]
    cells = line.split(" | ")
    before = len(cells) - 1 if place.column == -1 else place.column + 1
    return start + sum(len(cell) + len(" | ") for cell in cells[:before])
