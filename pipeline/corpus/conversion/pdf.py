"""PDF as text: each page's characters where they stand, so that columns stay columns.

A page begins with `--- PAGE n ---`. Its characters are put into lines by their height and into words by the
gaps between them; a gap that is wider than a word's begins a cell, which is moved to its column. What is
written sideways comes after what is upright, or before it if it is most of the page.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence
from ctypes import c_float
from dataclasses import dataclass
from itertools import pairwise
from math import pi
from statistics import median

import pypdfium2
from pypdfium2 import raw as pdfium

_WORD, _CELL = 0.3, 0.8
"""A gap of so much of a character's height parts words, or cells."""

_PARAGRAPH = 1.8
"""Lines that are so many heights apart have an empty one between them."""

_LEADER = re.compile(r"\s?(?:[.…]\s?){4,}")

_HYPHEN = 2
"""The code that the library has for a hyphen at the end of a line."""


@dataclass(frozen=True)
class _Character:
    """A character and its box, as one reads it: from left to right and, downwards, from top to bottom."""

    text: str
    left: float
    right: float
    top: float
    bottom: float
    spaced: bool

    @property
    def height(self) -> float:
        return self.bottom - self.top


def text_of(content: bytes) -> tuple[str, list[int]]:
    """Return the text, and the pages that have none. Raises `ValueError`: encrypted, damaged, no text."""
    try:
        document = pypdfium2.PdfDocument(content)
    except pypdfium2.PdfiumError as error:
        raise ValueError(_reason(error)) from error
    try:
        pages = [_page(document, number) for number in range(len(document))]
    except pypdfium2.PdfiumError as error:
        raise ValueError(f"it is damaged: {error}") from error
    finally:
        document.close()
    empty = [number for number, page in enumerate(pages, start=1) if not page]
    if len(empty) == len(pages):
        raise ValueError("no page has text: it holds images, and needs text recognition (OCR) first")
    marked = (f"--- PAGE {number} ---\n\n{page}\n" for number, page in enumerate(pages, start=1))
    return "\n".join(marked), empty


def _reason(error: pypdfium2.PdfiumError) -> str:
    if error.err_code == pdfium.FPDF_ERR_PASSWORD:
        return "it is encrypted: save it without a password"
    return f"it is damaged, or no PDF: {error}"


def _page(document: pypdfium2.PdfDocument, number: int) -> str:
    page = document[number]
    found: defaultdict[int, list[_Character]] = defaultdict(list)
    for quarter, character in _characters(page.get_textpage()):
        found[quarter].append(character)
    page.close()
    parts = sorted(found.values(), key=len, reverse=True)
    return "\n\n".join(_text(part) for part in parts)


def _characters(textpage: pypdfium2.PdfTextPage) -> Iterator[tuple[int, _Character]]:
    """Yield what is printed, with how many quarter turns its writing is turned to the right."""
    spaced = False
    high = ""  # the first half of a pair, where the library gives a character in two
    for index in range(textpage.count_chars()):
        code = pdfium.FPDFText_GetUnicode(textpage, index)
        if 0xD800 <= code < 0xDC00:
            high = chr(code)
            continue
        text = "-" if code == _HYPHEN else _whole(high + chr(code))
        high = ""
        if text.isspace():
            spaced = True
        elif unicodedata.category(text[0]) not in ("Cc", "Cf", "Cn", "Cs"):
            yield _placed(textpage, index, text, spaced)
            spaced = False


def _whole(text: str) -> str:
    """Join a pair of halves to the character that it is."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _placed(textpage: pypdfium2.PdfTextPage, index: int, text: str, spaced: bool) -> tuple[int, _Character]:
    box = pdfium.FS_RECTF(c_float(), c_float(), c_float(), c_float())
    pdfium.FPDFText_GetLooseCharBox(textpage, index, box)
    left, right = sorted((box.left, box.right))
    low, high = sorted((box.bottom, box.top))
    quarter = round(pdfium.FPDFText_GetCharAngle(textpage, index) / (pi / 2)) % 4
    sides = {
        0: (left, right, -high, -low),
        1: (-high, -low, -right, -left),
        2: (-right, -left, low, high),
        3: (low, high, left, right),
    }[quarter]
    return quarter, _Character(text, *sides, spaced)


def _text(characters: Sequence[_Character]) -> str:
    """Return characters of one direction as lines, with columns below each other."""
    lines = [_cells(line) for line in _lines(characters)]
    margin = min(cell.left for line in lines for cell in line)
    advance = median((cell.right - cell.left) / len(cell.text) for line in lines for cell in line) or 1.0
    written = [_written(line, margin, advance) for line in lines]
    parts = [written[0]]
    for (above, below), text in zip(pairwise(lines), written[1:], strict=True):
        apart = below[0].bottom - above[0].bottom > _PARAGRAPH * below[0].height
        parts.append(f"\n{text}" if apart else text)
    return "\n".join(parts)


def _lines(characters: Sequence[_Character]) -> list[list[_Character]]:
    """Return the lines, downwards, each from left to right: its characters share half of their height."""
    lines: list[list[_Character]] = []
    top = bottom = 0.0
    for character in sorted(characters, key=lambda each: each.top + each.bottom):
        shared = min(bottom, character.bottom) - max(top, character.top)
        if lines and shared >= min(character.height, bottom - top) / 2:
            lines[-1].append(character)
        else:
            lines.append([character])
            top, bottom = character.top, character.bottom
    return [sorted(line, key=lambda each: each.left) for line in lines]


def _cells(line: Sequence[_Character]) -> list[_Character]:
    """Join a line's characters to words, and words to cells."""
    cells = [line[0]]
    for character in line[1:]:
        last = cells[-1]
        gap = (character.left - last.right) / (max(character.height, last.height) or 1.0)
        if gap >= _CELL:
            cells.append(character)
        else:
            blank = " " if gap >= _WORD or (character.spaced and gap > 0) else ""
            cells[-1] = _Character(
                last.text + blank + character.text,
                last.left,
                max(last.right, character.right),
                min(last.top, character.top),
                max(last.bottom, character.bottom),
                last.spaced,
            )
    return cells


def _written(line: Sequence[_Character], margin: float, advance: float) -> str:
    """Return a line whose cells stand in their columns, at least two blanks apart; leaders are two points."""
    text = ""
    for cell in line:
        column = round((cell.left - margin) / advance)
        text = text.ljust(max(column, len(text) + 2 if text else 0)) + _LEADER.sub(" .. ", cell.text).rstrip()
    return text
