"""Corrections in running text: `it should read 1,234 thousand dollars instead of 1,243`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from pipeline.backbone.reference.numerals import NUMBER, Figure, literal
from pipeline.backbone.reference.periods import mentions
from pipeline.backbone.reference.words import Period

CORRECTS = re.compile(
    r"errat|correct(?:ed|ion)|misprint|should\b[^.]{0,30}\bread|instead of|amended to", re.I
)
_NEW = re.compile(
    rf"(?:should\b[^.\d]{{0,30}}\bread(?:s|ing)?|(?:corrected|amended|changed|revised|restated)\s+to"
    rf"|\bis now|\bto read|\bto)"
    rf"\s+(?P<number>{NUMBER})(?:\s+(?P<unit>thousand|million|billion)\b)?",
    re.I,
)
_PARAGRAPH = re.compile(r"[^\n]+(?:\n(?!\s*\n)[^\n]+)*")


@dataclass(frozen=True)
class Correction:
    """A corrected figure. `clause` is the text before it, which says what of; `note` the whole paragraph."""

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


def _of_note(note: str, at: int, period: Period) -> list[Correction]:
    found: list[Correction] = []
    unit, before = "", 0
    for match in _NEW.finditer(note):
        unit = match["unit"] or unit
        number = match["number"].strip()
        start = at + match.start("number")
        found.append(
            Correction(
                figure=Figure(number, literal(number), revised=True),
                unit=f"in {unit}s of dollars" if unit else "",
                clause=note[before : match.start()],
                note=note,
                period=period,
                start=start,
                end=start + len(number),
                note_start=at,
                note_end=at + len(note),
            )
        )
        before = match.end()
    return found
