"""Tables in a document."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.corpus.lines import Lines


@dataclass(frozen=True)
class TableLines:
    """A table: lines `first:end`, from its title to its last row; its rows proper begin at line `body`.

    `title`, `unit` and `header` are cleaned for index and snippets; the text itself stays as it is.
    """

    first: int
    end: int
    body: int
    title: str
    unit: str
    header: str


def find(lines: Lines) -> list[TableLines]:
    """Return the tables of a document, in order, none overlapping another."""
    del lines
    return []


def year_before(lines: Lines, table: TableLines, start: int) -> str:
    """Return the year that the rows from byte `start` on inherit from rows above, or nothing."""
    del lines, table, start
    return ""
