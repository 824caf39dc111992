"""An issue's text: masthead, contents, tables with prose between them, errata notes."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.benchmarks.ledgerqa import prose
from pipeline.benchmarks.ledgerqa.families import Family
from pipeline.benchmarks.ledgerqa.ledger import Figures, Ledger, figure
from pipeline.benchmarks.ledgerqa.streams import Purpose, Stream, derive


@dataclass(frozen=True)
class PrintedTable:
    """Where a table's body starts in an issue's text."""

    family: int
    restated: bool
    body: int


@dataclass(frozen=True)
class PrintedNote:
    """Where an errata note gives a month's corrected figure and total."""

    family: int
    month: int
    column: int
    value: int
    total: int


@dataclass(frozen=True)
class Issue:
    """An issue's text, and where its tables and notes stand in it, in code points."""

    text: str
    tables: tuple[PrintedTable, ...]
    notes: tuple[PrintedNote, ...]


def table(ledger: Ledger, family: Family, issue: int, restated: bool = False) -> tuple[str, int]:
    """A table from title to footnotes, and where its body starts."""
    if family.entities:
        figures = ledger.cross(family, issue - 1 if restated else issue, restated)
        labels = [*family.entities, "Total"]
    else:
        figures = ledger.monthly(family, issue)
        labels = ledger.row_labels(family, issue)
    head = _head(ledger, family, issue, restated)
    return f"{head}{_body(family, issue, labels, figures)}\n\n{_foot(family, figures)}", len(head)


def _head(ledger: Ledger, family: Family, issue: int, restated: bool) -> str:
    unit = f"{family.unit_at(issue).word}s of dollars"
    if family.entities:
        period = ledger.calendar.period(issue - restated)
        line = f"({period[0].upper()}{period[1:]}; in {unit})"
        first = family.concept.by
    else:
        signs = "; negative figures are net repayments" if family.concept.signed else ""
        line = f"(In {unit}{signs})"
        first = "Fiscal year or month"
    cells = [(column.group, f"{column.label}{column.mark}") for column in family.columns]
    if family.stacked:
        names = [f"{first} > {first}", *(f"{group} > {label}" for group, label in cells), "Total > Total"]
    else:
        names = [first, *(label for _, label in cells), "Total"]
    again = ", Restated" if restated else ""
    title = f"TABLE {family.code}.—{family.title}{again}"
    return f"{title}\n\n{line}\n\n| {' | '.join(names)} |\n|{' --- |' * len(names)}\n"


def _body(family: Family, issue: int, labels: list[str], figures: Figures) -> str:
    unit = family.unit_at(issue)
    rows, columns = figures.values.shape
    flat = figures.values.ravel()
    cells = [f"{value:.3f}" for value in (flat / 1_000).tolist()] if unit.places else flat.tolist()
    for at in figures.revised.ravel().nonzero()[0]:
        cells[at] = f"{figure(int(flat[at]), unit, commas=True)} r"
    line = " | %s" * columns + " |"
    return "\n".join([f"| {label}{line}" for label in labels]) % tuple(cells)


def _foot(family: Family, figures: Figures) -> str:
    lines = [family.source]
    if family.note:
        lines.append(family.note)
    if figures.revised.any():
        lines.append("r Revised.")
    return "\n".join(lines)


def render(ledger: Ledger, issue: int, paragraphs: int) -> Issue:
    """The text of an issue with so many paragraphs between its tables."""
    builder = _Builder(pages=Stream(ledger.key, Purpose.rendering, issue).chance(40))
    families = [ledger.family(number) for number in range(ledger.families)]
    builder.add(prose.masthead(ledger.calendar, issue))
    builder.add("Contents")
    builder.add("\n".join(f"{family.code}. {family.title}" for family in families))
    stream = Stream(ledger.key, Purpose.prose, issue)
    printed = 0
    tables: list[PrintedTable] = []
    for family in families:
        builder.page()
        while printed * len(families) < paragraphs * (family.number + 1):
            builder.add(prose.paragraph(stream))
            printed += 1
        if family.unit_change == issue:
            builder.add(prose.unit_notice(family))
        for restated in (False, True):
            if restated and not (family.entities and ledger.restates(family, issue)):
                continue
            text, body = table(ledger, family, issue, restated)
            tables.append(PrintedTable(family.number, restated, builder.add(text) + body))
    notes = _errata(builder, ledger, issue)
    return Issue(builder.text(), tuple(tables), notes)


def _errata(builder: _Builder, ledger: Ledger, issue: int) -> tuple[PrintedNote, ...]:
    notes = []
    for family, month, event in ledger.errata(issue):
        if not notes:
            builder.page()
            builder.add("Errata and Corrections")
        text, value, total = prose.erratum(ledger, family, month, event)
        start = builder.add(text)
        notes.append(PrintedNote(family.number, month, event.column, start + value, start + total))
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
