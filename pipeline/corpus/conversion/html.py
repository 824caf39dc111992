"""HTML as text: what a browser shows, with each table as a pipe table below its title."""

from __future__ import annotations

import re

import lxml.html
from inscriptis import Inscriptis
from inscriptis.css_profiles import CSS_PROFILES
from inscriptis.model.config import ParserConfig
from lxml.etree import ErrorTypes, ParserError
from lxml.html import HtmlElement

from pipeline.corpus.conversion.tables import Grid, grid, pipe_table, set_breaks
from pipeline.corpus.conversion.titled import CAPTION, HEADING, TABLE, titled

_GAP = re.compile(r"\n{3,}")
_BLANKED = bytes(32 if byte < 32 and byte not in b"\t\n\r" else byte for byte in range(256))
"""Control characters as blanks: no element may hold them."""

_DECLARED = re.compile(rb"""\s*<\?xml\b[^>]*?\bencoding\s*=\s*["']([\w.:-]+)["']""")
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_LAYOUT = ("table", "thead", "tbody", "tfoot", "tr", "td", "th", "caption")


def text_of(raw: bytes) -> str:
    """Return the text of a page. Raises `ValueError` if there is none, or not all of it can be read.

    It is read as UTF-8 if it is that, else in the encoding that it names.
    """
    try:
        return _shown(parsed(raw))
    except RecursionError as error:
        raise ValueError("its elements are nested too deeply") from error


def _shown(root: HtmlElement) -> str:
    title = (root.findtext(".//title") or "").strip()
    tables = list(root.iter("table"))
    outer = [table for table in tables if next(table.iterdescendants("table"), None) is not None]
    for table in reversed(tables):
        if table in outer or not _replace(table):
            _unwrap(table)
    for heading in root.iter(*_HEADINGS):
        _mark(heading)
    lines = Inscriptis(root, ParserConfig(css=CSS_PROFILES["strict"])).get_text().splitlines()
    text = _GAP.sub("\n\n", "\n".join(line.rstrip() for line in lines)).strip()
    text = "\n".join(titled(text.split("\n"))).strip()
    if not text:
        raise ValueError("the page shows no text")
    return f"{title}\n\n{text}\n" if title and title not in text else f"{text}\n"


def parsed(raw: bytes) -> HtmlElement:
    """Return the root of a page. Raises `ValueError`: no markup, or more than the parser takes."""
    encoding: str | None
    try:
        raw.decode()
        encoding, raw = "utf-8", raw.translate(_BLANKED)
    except UnicodeDecodeError:
        declared = _DECLARED.match(raw)
        encoding = declared[1].decode() if declared else None
    try:
        parser = lxml.html.HTMLParser(encoding=encoding, huge_tree=True)
        root = lxml.html.document_fromstring(raw, parser)
    except ParserError as error:
        raise ValueError("it holds no markup") from error
    except LookupError as error:
        raise ValueError(f"its encoding is not known: {encoding}") from error
    for fault in parser.error_log.filter_from_fatals():  # what follows one is dropped, but for this kind
        if fault.type != ErrorTypes.ERR_UNSUPPORTED_ENCODING:
            raise ValueError(f"it can't be read whole: {fault.message.strip()}, at line {fault.line}")
    return root


def _replace(table: HtmlElement) -> bool:
    """Put a table of data, as preformatted text, in its place; say whether it is one."""
    set_breaks(table)
    caption = " ".join("".join(each.text_content() for each in table.findall("caption")).split())
    try:
        cells = grid(table)
    except ValueError:
        return False
    header, body = _levelled(cells)
    if len(header) < 2 or not body:
        return False
    text = f"{TABLE}{pipe_table(header, body)}"
    preformatted = lxml.html.Element("pre")
    preformatted.text = f"\n{CAPTION}{caption}\n\n{text}\n" if caption else f"\n{text}\n"
    preformatted.tail = table.tail
    table.getparent().replace(table, preformatted)
    return True


def _mark(heading: HtmlElement) -> None:
    """Mark a heading, on one line."""
    for line_end in list(heading.iter("br")):
        line_end.tail = f" {line_end.tail or ''}"
        line_end.drop_tag()
    heading.text = f"{HEADING}{heading.text or ''}"


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
