"""An issue's text: masthead, contents, tables with prose between them, errata notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pipeline.benchmarks.ledgerqa import prose
from pipeline.benchmarks.ledgerqa.families import Family, Unit, printed
from pipeline.benchmarks.ledgerqa.ledger import Event, Figures, Ledger, Notice
from pipeline.benchmarks.ledgerqa.noise import Noise
from pipeline.benchmarks.ledgerqa.streams import Purpose, Stream, derive

Noted = Sequence[tuple[Family, Event]]
_SCANNED_PERCENT = 40  # of the issues


@dataclass(frozen=True)
class PrintedTable:
    """Where a table's body starts in an issue's text."""

    family: int
    restated: bool
    body: int


@dataclass(frozen=True)
class PrintedNote:
    """Where a note gives a month's corrected figure and total."""

    family: int
    month: int
    value: int
    total: int


@dataclass(frozen=True)
class Printed:
    """A document's text, and where its tables and notes stand in it, in code points."""

    document: str
    text: str
    tables: tuple[PrintedTable, ...]
    notes: tuple[PrintedNote, ...]
    circular: bool = False


def render(ledger: Ledger, issue: int, paragraphs: int, noise: Noise | None = None) -> list[Printed]:
    """An issue with so many paragraphs between its tables, and the circular of its date if there is one.

    A scan shows its pages, and what `noise` makes of its figures.
    """
    scanned = Stream(ledger.key, Purpose.rendering, issue).chance(_SCANNED_PERCENT)
    builder, noise = _Builder(pages=scanned), noise if scanned else None
    families = [ledger.family(number) for number in range(ledger.families)]
    builder.add(prose.masthead(ledger.calendar, issue))
    builder.add("Contents")
    builder.add("\n".join(f"{family.code}. {family.title}" for family in families))
    stream = Stream(ledger.key, Purpose.prose, issue)
    written = 0
    tables: list[PrintedTable] = []
    noted: list[tuple[Family, Event]] = []
    for family in families:
        builder.page()
        while written * len(families) < paragraphs * (family.number + 1):
            builder.add(prose.paragraph(stream))
            written += 1
        if family.unit_change == issue:
            builder.add(prose.unit_notice(family))
        for restated in (False, True) if family.entities and ledger.restates(family, issue) else (False,):
            text, body, figures = table(ledger, family, issue, restated, noise)
            tables.append(PrintedTable(family.number, restated, builder.add(text) + body))
            noted.extend((family, event) for event in figures.noted)
    notes = _errata(builder, ledger, [at for at in noted if at[1].notice is Notice.erratum])
    documents = [Printed(ledger.calendar.document(issue), builder.text(), tuple(tables), notes)]
    late = [at for at in noted if at[1].notice is Notice.circular]
    return [*documents, _circular(ledger, issue, late)] if late else documents


def table(
    ledger: Ledger, family: Family, issue: int, restated: bool = False, noise: Noise | None = None
) -> tuple[str, int, Figures]:
    """A table from title to footnotes, where its body starts, and its figures."""
    if family.entities:
        figures = ledger.cross(family, issue - restated, restated)
        period = ledger.calendar.period(issue - restated)
        line = f"{period[0].upper()}{period[1:]}; in"
    else:
        figures = ledger.monthly(family, issue)
        line = "In"
    unit = family.unit_at(issue)
    signs = ""
    if family.concept.signed:
        signs = (
            f"; {'figures in parentheses' if family.parentheses else 'negative figures'} are net repayments"
        )
    again = ", Restated" if restated else ""
    head = (
        f"TABLE {family.code}.—{family.title}{again}\n\n({line} {unit.word}s of dollars{signs})\n\n"
        f"{_header(family)}"
    )
    cells = _cells(family, unit, figures)
    columns = figures.values.shape[1]
    if noise is not None:
        cells = noise.misread(family, issue, restated, map(str, cells), columns)
    line = " | %s" * columns + " |"
    labels = f"{line}\n| ".join(ledger.row_labels(family, issue))
    body = f"| {labels}{line}" % tuple(cells)
    return f"{head}{body}\n\n{_foot(family, bool(figures.revised))}", len(head), figures


@lru_cache(maxsize=8_192)
def _header(family: Family) -> str:
    first = family.concept.by if family.entities else "Fiscal year or month"
    labels = [(column.group, f"{column.label}{column.mark}") for column in family.columns]
    if family.stacked:
        names = [f"{first} > {first}", *(f"{group} > {label}" for group, label in labels), "Total > Total"]
    else:
        names = [first, *(label for _, label in labels), "Total"]
    return f"| {' | '.join(names)} |\n|{' --- |' * len(names)}\n"


def _cells(family: Family, unit: Unit, figures: Figures) -> list[Any]:
    """What stands in the cells, row by row."""
    columns = figures.values.shape[1]
    values: list[int] = figures.values.ravel().tolist()
    cells: list[Any] = _decimals(values, unit.places) if unit.places else values[:]
    if family.concept.signed:
        for at, value in enumerate(values):
            if value < 0:
                cells[at] = printed(value, unit, parentheses=family.parentheses)
    for row, column in figures.revised:
        at = row * columns + column
        cells[at] = f"{printed(values[at], unit, commas=True, parentheses=family.parentheses)} r"
    return cells


def _decimals(values: list[int], places: int) -> list[str]:
    """The values, without their signs, as `printed` has them, many at a time."""
    scale = 10**places
    parts = [part for value in values for part in divmod(abs(value), scale)]
    return (f"%d.%0{places}d " * len(values) % tuple(parts)).split()


def _foot(family: Family, revised: bool) -> str:
    lines = [family.source, family.note, "r Revised." if revised else ""]
    return "\n".join(line for line in lines if line)


def _errata(builder: _Builder, ledger: Ledger, events: Noted) -> tuple[PrintedNote, ...]:
    if events:
        builder.page()
        builder.add("Errata and Corrections")
    return _notes(builder, ledger, events)


def _circular(ledger: Ledger, issue: int, events: Noted) -> Printed:
    builder = _Builder(pages=False)
    builder.add(prose.circular_head(ledger.calendar, issue))
    notes = _notes(builder, ledger, events)
    return Printed(ledger.calendar.circular(issue), builder.text(), (), notes, circular=True)


def _notes(builder: _Builder, ledger: Ledger, events: Noted) -> tuple[PrintedNote, ...]:
    notes = []
    for family, event in events:
        text, value, total = prose.note(ledger, family, event)
        start = builder.add(text)
        notes.append(PrintedNote(family.number, event.month, start + value, start + total))
    return tuple(notes)


class _Builder:
    """Text in blocks with a blank line after each; knows the offset of what it adds."""

    def __init__(self, pages: bool) -> None:
        self._parts: list[str] = []
        self._length = 0
        self._pages = pages
        self._page = 0

    def add(self, block: str) -> int:
        """Append a block and return where it starts."""
        start = self._length
        self._parts.append(block)
        self._length += len(block) + 2
        return start

    def page(self) -> None:
        """Begin a page, in a document that shows its pages."""
        self._page += 1
        if self._pages:
            self.add(f"--- PAGE {self._page} ---")

    def text(self) -> str:
        """The whole, with a final newline."""
        return "\n\n".join(self._parts) + "\n"


def prose_bytes(ledger: Ledger) -> int:
    """The bytes of a paragraph, on average over a hundred."""
    stream = Stream(derive(ledger.key, Purpose.prose))
    return sum(len(prose.paragraph(stream).encode()) + 2 for _ in range(100)) // 100
