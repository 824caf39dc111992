"""Corrections in running text: `it should read 1,234 thousand dollars instead of 1,243`, `for 88 read 86`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from pipeline.backbone.reference.numerals import NUMBER, Figure, literal
from pipeline.backbone.reference.periods import mentions
from pipeline.backbone.reference.words import Period

CORRECTS = re.compile(
    r"errat|correct(?:ed|ion)|misprint|should\b[^.]{0,30}\bread|instead of|amended to|in (?:the )?place of"
    r"|takes? the place|in error|\bfor [-−$(]*\d[\d.,)]* read\b",
    re.I,
)
_UNIT = re.compile(r"\b(thousand|million|billion)s?\s+(?:of\s+)?\w+", re.I)
_NEW = re.compile(
    rf"(?:should\b[^.\d]{{0,30}}\bread(?:s|ing)?|(?:corrected|amended|changed|revised|restated)\s+to"
    rf"|\bis now|\bto read|\bread|\bbecomes|\bto)\s+(?P<number>{NUMBER})",
    re.I,
)
_DISPLACES = re.compile(
    rf"(?<![\w.,])(?P<number>{NUMBER})(?:\s+(?!and\b)[a-z]+){{0,3}}?"
    rf"\s+(?:(?:takes?|in) the place of|replaces?|instead of|that of)\s+{NUMBER}",
    re.I,
)
_PARAGRAPH = re.compile(r"[^\n]+(?:\n(?!\s*\n)[^\n]+)*")


@dataclass(frozen=True)
class Correction:
    """A corrected figure. `clause` is the text that says what of; `note` the whole paragraph."""

    figure: Figure
    unit: str
    clause: str
    note: str
    period: Period
    start: int
    end: int
    note_start: int
    note_end: int


@lru_cache(maxsize=1024)
def corrections(text: str, offset: int) -> tuple[Correction, ...]:
    """The corrections in a text that starts at `offset` of its document."""
    found: list[Correction] = []
    for paragraph in _PARAGRAPH.finditer(text):
        note = paragraph.group()
        if note.startswith("|") or not CORRECTS.search(note):
            continue
        periods = [mention.periods[0] for mention in mentions(note) if not mention.issue]
        if periods:
            found.extend(_of_note(note, offset + paragraph.start(), periods[0]))
    return tuple(found)


def _of_note(note: str, at: int, period: Period) -> Iterator[Correction]:
    unit = _UNIT.search(note)
    for number, start, clause in _after(note) or _before(note):
        yield Correction(
            figure=Figure(number, literal(number), revised=True),
            unit=f"in {unit[1].lower()}s of dollars" if unit else "",
            clause=clause,
            note=note,
            period=period,
            start=at + start,
            end=at + start + len(number),
            note_start=at,
            note_end=at + len(note),
        )


def _before(note: str) -> list[tuple[str, int, str]]:
    """New figures that stand after what they are of: `the figure for … should read 12 instead of 13`."""
    found, last = [], 0
    for match in _NEW.finditer(note):
        found.append((match["number"].strip(), match.start("number"), note[last : match.start()]))
        last = match.end()
    return found


def _after(note: str) -> list[tuple[str, int, str]]:
    """New figures that stand before what they are of: `12 takes the place of 13 as the figure for …`."""
    matches = [m for m in _DISPLACES.finditer(note) if not _NEW.search(note[: m.end("number")])]
    ends = [*(match.start() for match in matches), len(note)][1:]
    return [
        (match["number"].strip(), match.start("number"), note[match.end() : end])
        for match, end in zip(matches, ends, strict=True)
    ]
