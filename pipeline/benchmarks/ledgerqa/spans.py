"""Finds a printed figure in a document's text."""

from __future__ import annotations

import re

from pipeline.benchmarks.ledgerqa.reading import Place
from pipeline.benchmarks.ledgerqa.rendering import Printed
from pipeline.benchmarks.tasks import Span

_FIGURE = re.compile(r"(?P<open>\()?-?[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?(?(open)\))")


def span(printed: Printed, place: Place) -> Span:
    """Where a figure stands, without its `r` mark."""
    start = _in_note(printed, place) if place.note else _in_table(printed, place)
    found = _FIGURE.match(printed.text, start)
    if found is None:
        raise ValueError(f"{printed.document}: no figure at {start}, where {place} should stand")
    return Span(printed.document, found.start(), found.end(), found.group())


def _in_note(printed: Printed, place: Place) -> int:
    note = next(n for n in printed.notes if (n.family, n.month) == (place.family, place.row))
    return note.total if place.column == -1 else note.value


def _in_table(printed: Printed, place: Place) -> int:
    table = next(t for t in printed.tables if (t.family, t.restated) == (place.family, place.restated))
    start = table.body
    for _ in range(place.row):
        start = printed.text.index("\n", start) + 1
    line = printed.text[start : printed.text.index("\n", start)]
    cells = line.split(" | ")
    before = len(cells) - 1 if place.column == -1 else place.column + 1
    return start + sum(len(cell) + len(" | ") for cell in cells[:before])
