"""What stands above a table: its title, its unit line, its header."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pipeline.corpus.lines import Lines
from pipeline.corpus.rows import Rows

REACH = 24
"""A title stands at most so many lines above the first row."""

GAP = 3
"""So many blank lines set a table, with what stands above it, apart."""

_TITLED = re.compile(r"(?:TABLE|Table)\s+[A-Z]*\s?[—–-]*\s?(?:[IVX]+\s?[-—–]\s?)?\d*[A-Za-z]?\s?[.,:—–-]")
_UNIT = re.compile(
    r"[\[({].*?(?:dollars|percent|per cent|thousand|million|billion|source|basis|number|units|weight|fiscal)",
    re.IGNORECASE,
)
_PAGE = re.compile(r"--- PAGE \d+ ---")
_MONTH_YEAR = re.compile(
    r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?,?\s+\d{4}|\s*Treasury Bulletin\s*"
)
_PAGE_NUMBER = re.compile(r"[-—–\s]*\d{1,4}[-—–\s]*")
_RUNNING_HEAD = re.compile(r"\d{1,4}\s+[A-Z][A-Z',.&\s]+|[A-Z][A-Z',.&\s]+\s\s\d{1,4}")
_NOTE = re.compile(
    r"\d{1,2}/|\*|†|r\s+Rev|p\s+Prel|Source|Note|NOTE|Footnote|See |Less than|\(?Continued|Detail|Figures",
    re.ASCII,
)

TITLE, UNIT = 200, 160
"""The longest title and unit line kept, in characters."""


@dataclass(frozen=True)
class Heading:
    """Where a table begins, the line after its unit line or title (where its header begins), and both."""

    first: int
    header: int
    title: str
    unit: str


def above(lines: Lines, rows: Rows, line: int, floor: int) -> Heading | None:
    """Return the heading of a table whose first row (or header) is line `line`, looking up to line `floor`.

    A line that says "Table …" is the title; else what stands above a unit line in brackets; else the heading
    right above. None if there is nothing of the kind.
    """
    lowest = max(floor, line - REACH)
    texts: dict[int, str] = {}
    blanks = 0
    for at in range(line - 1, lowest - 1, -1):
        text = lines.text(at)
        blanks = 0 if text else blanks + 1
        if blanks == GAP or _PAGE.fullmatch(text):
            break
        texts[at] = text
        if _TITLED.match(text):
            return _titled(texts, at, line)
    unit = next((at for at, text in texts.items() if _UNIT.match(text) and not rows.layout[at]), None)
    below = line if unit is None else unit
    found = _heading_lines(rows, texts, below)
    if not found and unit is None:
        return None
    title = _joined([texts[at] for at in sorted(found)], TITLE)
    first = min(found, default=below)
    if unit is None:
        return Heading(first, max(found) + 1, title, "")
    return Heading(first, _after_unit(texts, unit, line), title, _unit(texts, unit, line))


def is_title(text: str) -> bool:
    """Return whether a line begins with the word Table and a number or code."""
    return _TITLED.match(text) is not None


def is_unit(text: str) -> bool:
    """Return whether a line says, in brackets, in which unit a table is."""
    return _UNIT.match(text) is not None


def is_page(text: str) -> bool:
    """Return whether a line is a page marker."""
    return _PAGE.fullmatch(text) is not None


def is_note(text: str) -> bool:
    """Return whether a line begins a footnote or a source."""
    return _NOTE.match(text) is not None


def _titled(texts: dict[int, str], title: int, line: int) -> Heading:
    unit = next((at for at in range(title + 1, min(title + 6, line)) if _UNIT.match(texts[at])), None)
    if unit is None:
        return Heading(title, title + 1, _joined([texts[title]], TITLE), "")
    parts = [texts[at] for at in range(title, unit) if texts[at]]
    return Heading(title, _after_unit(texts, unit, line), _joined(parts, TITLE), _unit(texts, unit, line))


def _after_unit(texts: dict[int, str], unit: int, line: int) -> int:
    """Return the line after a unit line, which may run over two."""
    closed = re.search(r"[\])}]", texts[unit])
    return unit + 1 if closed or unit + 1 >= line or not texts[unit + 1] else unit + 2


def _unit(texts: dict[int, str], unit: int, line: int) -> str:
    return _joined([texts[at] for at in range(unit, _after_unit(texts, unit, line))], UNIT)


def _heading_lines(rows: Rows, texts: dict[int, str], below: int) -> list[int]:
    """Return up to three lines above line `below` that read like a heading."""
    found: list[int] = []
    at, blanks = below - 1, 0
    while at in texts and len(found) < 3 and blanks < GAP:
        text = texts[at]
        if text:
            paragraph = rows.prose[at] and (texts.get(at - 1, "") or texts.get(at + 1, ""))
            if rows.layout[at] or rows.pipe[at] or paragraph or not _reads_like_heading(text):
                break
            found.append(at)
            blanks = 0
        else:
            blanks += 1
        at -= 1
    return found


def _reads_like_heading(text: str) -> bool:
    ends = (_PAGE_NUMBER, _MONTH_YEAR, _RUNNING_HEAD)
    if len(text) > 160 or any(pattern.fullmatch(text) for pattern in ends) or _NOTE.match(text):
        return False
    return not (text.endswith(".") and text.count(" ") >= 8) and any(
        character.isalpha() for character in text
    )


def _joined(parts: list[str], longest: int) -> str:
    text = " ".join(" ".join(parts).split())
    return text if len(text) <= longest else text[: longest - 1] + "…"
