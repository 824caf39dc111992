"""A parsed document as text, in the form of OfficeQA's published texts.

Elements follow each other in order, each with an empty line after it, and tables as pipe tables. The levels
of a header are joined by ` > `; an empty one is `Unnamed: COLUMN_level_LEVEL`, or where there is one level,
`Unnamed: COLUMN`; a name that an earlier column has gets `.1`; without a header, columns are numbered. An
empty cell is `nan`, and figures have no thousands commas. (The published texts also end the figures of some
columns in `.0`, where other cells of the column are empty. That is left out: no document prints it.) A table
without a word stays HTML, in a fence.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import lxml.html
import orjson
from lxml.etree import ParserError
from lxml.html import HtmlElement

from pipeline.benchmarks.officeqa.config import Rendering
from pipeline.corpus.conversion.tables import Grid, grid, pipe_table, set_breaks

EMPTY = "nan"
_LINE_END = re.compile(r"\r\n?")
_TABLE = re.compile(r"<table\b", re.IGNORECASE)
_FIGURE = re.compile(r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?")


def render(raw: bytes, rendering: Rendering) -> str:
    """Return the text of a parsed document, JSON of `document.elements[]` with `type`, `content` and `bbox`.

    With pages, a line `--- PAGE n ---`, n as the elements have it in `page_id`, stands before each page.
    Raises `ValueError`, which names the element, counted from 1.
    """
    parts: list[str] = []
    page: int | None = None
    for place, element in _elements(raw):
        content = element.get("content")
        if content is not None and not isinstance(content, str):
            raise ValueError(f"{place}: content is no text")
        if not content or not content.strip():
            continue
        if rendering is Rendering.page_level and (number := _page(place, element)) != page:
            parts.append(f"--- PAGE {number} ---\n\n" if page is None else f"\n--- PAGE {number} ---\n\n")
            page = number
        parts += [f"{block}\n\n" for block in _blocks(place, content)]
    if not parts:
        raise ValueError("no element has content")
    return "".join(parts)


def _elements(raw: bytes) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the elements, and what to call each in an error."""
    try:
        parsed = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise ValueError(f"no JSON, at line {error.lineno}: {error.msg}") from error
    document = parsed.get("document") if isinstance(parsed, dict) else None
    elements = document.get("elements") if isinstance(document, dict) else None
    if not isinstance(elements, list):
        raise ValueError("there is no list document.elements")
    for number, element in enumerate(elements, start=1):
        if not isinstance(element, dict) or not isinstance(element.get("type"), str):
            raise ValueError(f"element {number}: it is no object with a type")
        yield f"element {number} ({element['type']})", element


def _page(place: str, element: Mapping[str, Any]) -> int:
    box = element.get("bbox")
    first = box[0] if isinstance(box, list) and box else None
    page = first.get("page_id") if isinstance(first, dict) else None
    if type(page) is not int:
        raise ValueError(f"{place}: bbox names no page_id")
    return page


def _blocks(place: str, content: str) -> list[str]:
    """Return an element's text: its tables, or what it says. Tables that say nothing stay HTML."""
    if not _TABLE.search(content):
        return [_LINE_END.sub("\n", content.strip())]
    try:
        root = lxml.html.document_fromstring(content)
    except ParserError as error:
        raise ValueError(f"{place}: its table can't be read: {error}") from error
    if not root.text_content().strip():
        return [f"```html\n{content.strip()}\n```"]
    set_breaks(root)
    outer = [table for table in root.iter("table") if next(table.iterancestors("table"), None) is None]
    return [_table(place, table) for table in outer]


def _table(place: str, table: HtmlElement) -> str:
    try:
        cells = grid(table)
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from error
    return pipe_table(_header(cells), [[_cell(cell) for cell in row] for row in cells.body])


def _cell(text: str) -> str:
    return text.replace(",", "") if _FIGURE.fullmatch(text) else text or EMPTY


def _header(cells: Grid) -> list[str]:
    """Return one name for each column."""
    levels = [row for row in cells.header if any(row)]
    width = len((cells.header or cells.body)[0])
    if not levels:
        return [str(column) for column in range(width)]
    return _told_apart([_name(column, [row[column] for row in levels]) for column in range(width)])


def _name(column: int, levels: Sequence[str]) -> str:
    if len(levels) == 1:
        return levels[0] or f"Unnamed: {column}"
    return " > ".join(text or f"Unnamed: {column}_level_{level}" for level, text in enumerate(levels))


def _told_apart(names: Sequence[str]) -> list[str]:
    """Append to each name how many columns before it have it, if any."""
    seen: Counter[str] = Counter()
    apart = []
    for name in names:
        apart.append(f"{name}.{seen[name]}" if seen[name] else name)
        seen[name] += 1
    return apart
