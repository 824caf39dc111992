"""Tables in a document: pipe tables and layout tables, each with title, unit line, header and range.

Pipe tables are GitHub's, with header levels joined by ` > `, fillers `Unnamed: k_level_j` and `nan`. Layout
tables are rows of values in columns, as they come from page images and born-digital pages (`rows`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from pipeline.corpus import headings
from pipeline.corpus.headings import Heading
from pipeline.corpus.lines import Lines
from pipeline.corpus.rows import Rows

HEADER = 320
"""The longest header kept, in characters."""

_BETWEEN = 12
"""So many lines without values may stand between two rows of a layout table: labels, wrapped headers."""

_ABOVE = 8_192
"""The year that a row inherits stands at most so many bytes above it."""

_FILLER = re.compile(r"Unnamed: \d+(?:_level_\d+)?|nan")
_RULE = re.compile(r"[|\s:-]+")
_YEAR = re.compile(r"\b(?:1[789]|20)\d\d\b")
_NUMBER = re.compile(r"\S*\d\S*")
_COLUMN_NUMBER = re.compile(r"\(\d{1,2}\)")
_GAP = re.compile(r"\s{2,}|\.{2,}|\|")


@dataclass(frozen=True)
class TableLines:
    """A table: lines `first:end`, from its title to its last row; its rows proper begin at line `body`.

    `title` (empty if there is none), `unit` and `header` are cleaned for index and snippets; the text itself
    stays as it is.
    """

    first: int
    end: int
    body: int
    title: str
    unit: str
    header: str


def find(lines: Lines, rows: Rows) -> list[TableLines]:
    """Return the tables of a document, in order, none overlapping another."""
    found: list[TableLines] = []
    for first, end in sorted([*_pipe_runs(rows), *_layout_runs(lines, rows)]):
        floor = found[-1].end if found else 0
        heading = headings.above(lines, rows, first, floor)
        if heading is None or not heading.title:
            heading = _inherited(lines, first, found[-1] if found else None, heading)
        make = _pipe_table if rows.pipe[first] else _layout_table
        found.append(make(lines, first, end, heading))
    return found


def _inherited(lines: Lines, first: int, before: TableLines | None, own: Heading | None) -> Heading:
    """A table without a title, right below another one, goes on under that one's."""
    start, header = (own.first, own.header) if own else (first, first)
    unit = own.unit if own else ""
    if before is None or not lines.blank[before.end : start].all():
        return Heading(start, header, "", unit)
    return Heading(start, header, before.title, unit or before.unit)


def _pipe_runs(rows: Rows) -> Iterator[tuple[int, int]]:
    return _runs(rows.pipe)


def _runs(mask: np.ndarray) -> Iterator[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(np.concatenate(([0], mask.astype(np.int8), [0]))))
    yield from zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)


def _layout_runs(lines: Lines, rows: Rows) -> Iterator[tuple[int, int]]:
    """Yield runs of layout rows, with what stands between them; a run has at least two rows."""
    at = np.flatnonzero(rows.layout)
    for start, end in pairwise([0, *_partings(lines, rows, at), len(at)]):
        if end - start > 1:
            yield int(at[start]), int(at[end - 1]) + 1


def _partings(lines: Lines, rows: Rows, at: np.ndarray) -> list[int]:
    """Return which of the layout rows, at lines `at`, begin another table than the row before."""

    def between(mask: np.ndarray) -> np.ndarray:
        totals = np.concatenate(([0], np.cumsum(mask)))
        counts: np.ndarray = totals[at[1:]] - totals[at[:-1] + 1]
        return counts

    filled = between(~lines.blank)
    far = (filled > _BETWEEN) | (between(rows.prose | rows.pipe) > 0)
    near = np.flatnonzero((filled > 0) & ~far) + 1
    parted = [row for row in near.tolist() if _says_so(lines, range(int(at[row - 1]) + 1, int(at[row])))]
    return sorted([*(np.flatnonzero(far) + 1).tolist(), *parted])


def _says_so(lines: Lines, between: range) -> bool:
    """Return whether a line between two rows is a title, a page marker or a note."""
    texts = [lines.text(line) for line in between if not lines.blank[line]]
    return any(headings.is_title(text) or headings.is_page(text) or headings.is_note(text) for text in texts)


def _layout_table(lines: Lines, first: int, end: int, heading: Heading) -> TableLines:
    body = first
    while body + 1 < end and _belongs_to_header(lines.text(body)):
        body += 1
    texts = [lines.text(line) for line in range(heading.header, body) if not lines.blank[line]]
    header = "\n".join(texts)
    if len(header) > HEADER:
        header = header[-HEADER:].partition("\n")[2]
    return TableLines(heading.first, end, body, heading.title, heading.unit, header)


def _belongs_to_header(row: str) -> bool:
    """Return whether a row's numbers are column numbers, or years and nothing else."""
    if all(_COLUMN_NUMBER.fullmatch(number) for number in _NUMBER.findall(row)):
        return True
    return all(_YEAR.fullmatch(word) or word in "rp" for word in row.split())


def _pipe_table(lines: Lines, first: int, end: int, heading: Heading) -> TableLines:
    header = clean_header(lines.text(first))
    ruled = end - first > 1 and _RULE.fullmatch(lines.text(first + 1)) is not None
    body = min(first + 2 if ruled else first + 1, end - 1)
    return TableLines(heading.first, end, body, heading.title, heading.unit, header)


def clean_header(line: str) -> str:
    """Return a pipe table's header line without fillers and repeated levels; empty columns show as `-`."""
    cells: list[str] = []
    for cell in line.strip().strip("|").split("|"):
        levels = [level.strip() for level in cell.split(" > ")]
        kept = [level for level in levels if level and not _FILLER.fullmatch(level)]
        cells.append(" > ".join(dict.fromkeys(kept)) or "-")
    while cells and cells[-1] == "-":
        cells.pop()
    text = " | ".join(cells)
    return text if len(text) <= HEADER else text[: HEADER - 1] + "…"


def year_before(lines: Lines, table: TableLines, start: int) -> str:
    """Return the year that the rows from byte `start` on inherit from rows above, or nothing."""
    above = lines.raw[max(int(lines.starts[table.body]), start - _ABOVE) : start]
    for row in reversed(above.decode(errors="ignore").splitlines()):
        year = year_of(row.strip())
        if year:
            return year
    return ""


def year_of(row: str) -> str:
    """Return the year in a row's label, or nothing."""
    label = _GAP.split(row.lstrip("| "), maxsplit=1)[0]
    found = _YEAR.findall(label)
    return found[-1] if found else ""
