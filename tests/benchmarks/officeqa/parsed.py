"""Parsed documents, as JSON: by hand, or from real texts, back to the elements that they came from."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence
from typing import Any

_FILLER = re.compile(r"Unnamed: \d+(?:_level_\d+)?")


def element(kind: str, content: Any, page: int = 0) -> dict[str, Any]:
    """One element, on a page."""
    return {"id": 0, "type": kind, "content": content, "bbox": [{"coord": [0, 0, 9, 9], "page_id": page}]}


def document(*elements: Any) -> bytes:
    """A parsed document of these elements."""
    return json.dumps({"document": {"pages": [], "elements": list(elements)}, "error_status": []}).encode()


def from_text(text: str, page: int = 0) -> list[dict[str, Any]]:
    """The elements that a published text was made of: its blocks, and its pipe tables as HTML."""
    return [_element(block, page) for block in text.rstrip("\n").split("\n\n")]


def _element(block: str, page: int) -> dict[str, Any]:
    if block.startswith("```html\n"):
        return element("table", block.removeprefix("```html\n").removesuffix("\n```"), page)
    return element("table", table(block), page) if block.startswith("| ") else element("text", block, page)


def table(block: str) -> str:
    """A pipe table as HTML: its header as rows of levels, and empty cells empty again."""
    header, _, *body = [line[2:-2].split(" | ") for line in block.split("\n")]
    names: list[str] = []
    for name in header:
        plain = re.sub(r"\.\d+$", "", name)
        names.append(plain if plain in names else name)
    numbered = header == [str(column) for column in range(len(header))]
    return f"<table>{'' if numbered else _head(names)}<tbody>{_rows('td', body, 'nan')}</tbody></table>"


def _head(names: Sequence[str]) -> str:
    columns = [name.split(" > ") for name in names]
    levels = [list(level) for level in zip(*columns, strict=True)]
    cleared = [["" if _FILLER.fullmatch(text) else text for text in level] for level in levels]
    return f"<thead>{_rows('th', cleared, '')}</thead>"


def _rows(tag: str, rows: Sequence[Sequence[str]], empty: str) -> str:
    def cell(text: str) -> str:
        return f"<{tag}>{'' if text == empty else html.escape(text)}</{tag}>"

    return "".join(f"<tr>{''.join(map(cell, row))}</tr>" for row in rows)
