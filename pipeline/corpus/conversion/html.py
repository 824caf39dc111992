"""HTML as text: what a browser shows, with each table as a pipe table."""

from __future__ import annotations

import re

import lxml.html
from inscriptis import Inscriptis
from inscriptis.css_profiles import CSS_PROFILES
from inscriptis.model.config import ParserConfig
from lxml.etree import ParserError
from lxml.html import HtmlElement

from pipeline.corpus.conversion.tables import Grid, grid, pipe_table, set_breaks

_GAP = re.compile(r"\n{3,}")
_LAYOUT = ("table", "thead", "tbody", "tfoot", "tr", "td", "th", "caption")


def text_of(raw: bytes) -> str:
    """Return the text of a page. Raises `ValueError` if there is none.

    It is read as UTF-8 if it is that, else in the encoding that it names.
    """
    root = _parsed(raw)
    title = (root.findtext(".//title") or "").strip()
    tables = list(root.iter("table"))
    outer = [table for table in tables if next(table.iterdescendants("table"), None) is not None]
    for table in reversed(tables):
        if table in outer or not _replace(table):
            _unwrap(table)
    lines = Inscriptis(root, ParserConfig(css=CSS_PROFILES["strict"])).get_text().splitlines()
    text = _GAP.sub("\n\n", "\n".join(line.rstrip() for line in lines)).strip()
    if not text:
        raise ValueError("the page shows no text")
    return f"{title}\n\n{text}\n" if title and title not in text else f"{text}\n"


def _parsed(raw: bytes) -> HtmlElement:
    try:
        raw.decode()
        encoding = "utf-8"
    except UnicodeDecodeError:
        encoding = None
    try:
        return lxml.html.document_fromstring(raw, lxml.html.HTMLParser(encoding=encoding))
    except ParserError as error:
        raise ValueError("it holds no markup") from error


def _replace(table: HtmlElement) -> bool:
    """Put a table of data, as preformatted text, in its place; say whether it is one."""
    set_breaks(table)
    caption = " ".join((table.findtext("caption") or "").split())
    try:
        cells = grid(table)
    except ValueError:
        return False
    header, body = _levelled(cells)
    if len(header) < 2 or not body:
        return False
    text = pipe_table(header, body)
    preformatted = lxml.html.Element("pre")
    preformatted.text = f"\n{caption}\n\n{text}\n" if caption else f"\n{text}\n"
    preformatted.tail = table.tail
    table.getparent().replace(table, preformatted)
    return True


def _levelled(cells: Grid) -> tuple[list[str], list[list[str]]]:
    """Return a header of one row, levels joined by ` > `; a table without one has its first row there."""
    if not cells.header:
        return cells.body[0], cells.body[1:]
    columns = zip(*cells.header, strict=True)
    return [" > ".join(filter(None, dict.fromkeys(levels))) for levels in columns], cells.body


def _unwrap(table: HtmlElement) -> None:
    """Make blocks of a table that only places what it holds."""
    for element in table.iter(*_LAYOUT):
        element.tag = "div"
