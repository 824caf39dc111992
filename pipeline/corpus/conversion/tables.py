"""HTML tables as grids of text, and grids as pipe tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lxml.html import HtmlElement

_SECTIONS = ("thead", "tbody", "tfoot")
_BREAKS = ("br", "p", "div", "li", "td", "th")
_SPAN = re.compile(r"\s*(\d+)")
_WIDEST = 1_000
"""The largest span that counts; HTML has the same for columns."""

Rows = list[list[str]]


@dataclass(frozen=True)
class Grid:
    """A table's cells: every row has as many as the widest, empty ones are empty strings.

    A cell that spans columns or rows has its text in each of them.
    """

    header: Rows
    body: Rows


def grid(table: HtmlElement) -> Grid:
    """Return the cells of a `<table>`; tables inside a cell are part of its text.

    The header is what stands in `<thead>`, else the leading rows that have no `<td>`. Raises `ValueError` for
    a table without a row.
    """
    header, body = _rows(table)
    if not header:
        heads = next((at for at, row in enumerate(body) if not _is_header(row)), len(body))
        header, body = body[:heads], body[heads:]
    if not header and not body:
        raise ValueError("the table has no row")
    above, below = _spread(header), _spread(body)
    width = max(map(len, [*above, *below]))
    return Grid(_padded(above, width), _padded(below, width))


def pipe_table(header: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """Return a GitHub pipe table, without a line end after the last row."""
    rows = [header, ["---"] * len(header), *body]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows)


def set_breaks(root: HtmlElement) -> None:
    """Put blanks where a reader sees words apart: line breaks, blocks, and raised marks behind a digit.

    Without it, `1,234<sup>2</sup>` would read 1,2342.
    """
    for element in root.iter(*_BREAKS):
        element.text = f" {element.text}" if element.text else element.text
        element.tail = f" {element.tail or ''}"
    for mark in root.iter("sup"):
        before = mark.getprevious().tail if mark.getprevious() is not None else mark.getparent().text
        if mark.text and before and before[-1:].isdigit():
            mark.text = f" {mark.text}"


def _rows(table: HtmlElement) -> tuple[list[HtmlElement], list[HtmlElement]]:
    """Return the rows of `<thead>`, and all others: those of `<tfoot>` last."""
    found: dict[str, list[HtmlElement]] = {"thead": [], "tbody": [], "tfoot": []}
    for child in table:
        if child.tag == "tr":
            found["tbody"].append(child)
        elif child.tag in _SECTIONS:
            found[child.tag] += [row for row in child if row.tag == "tr"]
    return found["thead"], found["tbody"] + found["tfoot"]


def _is_header(row: HtmlElement) -> bool:
    cells = list(_cells(row))
    return bool(cells) and all(cell.tag == "th" for cell in cells)


def _cells(row: HtmlElement) -> Iterator[HtmlElement]:
    return (cell for cell in row if cell.tag in ("td", "th"))


def _spread(rows: Sequence[HtmlElement]) -> Rows:
    """Return the rows with the cells that span several of them in each."""
    spread: Rows = []
    hanging: dict[int, tuple[str, int]] = {}
    for row in rows:
        line, hanging = _line(row, hanging)
        spread.append(line)
    return spread


def _line(
    row: HtmlElement, hanging: Mapping[int, tuple[str, int]]
) -> tuple[list[str], dict[int, tuple[str, int]]]:
    """Return a row's texts, and what hangs into the next: by column, a cell's text and its further rows.

    `hanging` is the same from the rows above.
    """
    line = {at: text for at, (text, _) in hanging.items()}
    below = {at: (text, left - 1) for at, (text, left) in hanging.items() if left > 1}
    start = 0
    for cell in _cells(row):
        while start in line:
            start += 1
        text, left = _text(cell), _span(cell, "rowspan") - 1
        end = start + _span(cell, "colspan")
        for at in range(start, end):
            line[at] = text
            if left:
                below[at] = text, left
        start = end
    return [line.get(at, "") for at in range(max(line, default=-1) + 1)], below


def _text(cell: HtmlElement) -> str:
    whole = cell.text_content() if len(cell) else cell.text or ""  # few cells hold elements
    return " ".join(whole.split())


def _span(cell: HtmlElement, name: str) -> int:
    """Return how many columns or rows a cell takes; as in browsers, what is no number is 1."""
    value = cell.get(name)
    if value is None:  # nearly always
        return 1
    found = _SPAN.match(value)
    return min(max(int(found[1]), 1), _WIDEST) if found else 1


def _padded(rows: Rows, width: int) -> Rows:
    return [row + [""] * (width - len(row)) for row in rows]
