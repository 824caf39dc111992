"""Figures as somebody could read them: the right ones, outdated ones, and those of a table near by."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pipeline.benchmarks.ledgerqa.loading import OperandFacts
from pipeline.benchmarks.ledgerqa.planted.questions import Question
from pipeline.benchmarks.ledgerqa.planted.steps import Range
from pipeline.benchmarks.ledgerqa.planted.tables import Cell, PrintedTable, Tables, literal
from pipeline.benchmarks.tasks import Span

_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_NAMED = re.compile(r'"([^"]+)"')
_DATED = re.compile(r"\b([A-Z][a-z]+ [0-9]{4})\b")


@dataclass(frozen=True)
class Figure:
    """A figure that was read. `span` is where it stands, `where` what was read to see it.

    `code`, `title` and `period` are its table's; `column` and `row` say what it is. In a `note` (a correction
    in a paragraph) the code may be unknown.
    """

    quote: str
    unit: str
    span: Span
    where: Range
    code: str
    title: str
    period: str
    column: str
    row: str
    note: bool = False

    @property
    def literal(self) -> str:
        """The figure as a number is written."""
        return literal(self.quote)

    @property
    def value(self) -> tuple[str, str]:
        """The figure and its unit, as a formula takes them."""
        return self.literal, self.unit

    @property
    def name(self) -> str:
        """What it is: `"Salaries" for April 2004`."""
        return f'"{self.column}" for {self.row}{f" in the {self.period}" if self.period else ""}'


def overlap(where: Range, span: Span) -> bool:
    """Whether a range shows any of a span."""
    return where.document == span.document and where.start < span.end and span.start < where.end


class Figures:
    """Finds the figures of questions in a corpus."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables

    def right(self, question: Question) -> tuple[Figure, ...]:
        """The figures that the answer rests on, in the operands' order."""
        return tuple(self._right(operand) for operand in question.facts.operands)

    def outdated(self, question: Question) -> tuple[Figure, ...] | None:
        """The same, each that was revised as it was printed before, where that is known; None if none was."""
        changed = False
        found = []
        for operand, right in zip(question.facts.operands, self.right(question), strict=True):
            old = self._before(operand)
            changed = changed or old is not None
            found.append(old or right)
        return tuple(found) if changed else None

    def nearby(self, question: Question) -> Iterator[tuple[Figure, ...]]:
        """The figures at the same places of other tables, one table after the other, likeliest first.

        First come tables of the same issues with the same rows and columns, then others of the issues that
        have the rows, then the table itself in other issues. None of them shows a figure of the gold.
        """
        anchors = [self._anchor(operand) for operand in question.facts.operands]
        placed = [anchor for anchor in anchors if anchor is not None]
        if len(placed) < len(anchors):
            return
        first = placed[0][0]
        tables = self.tables.of(first.where.document)
        titles = [table.title for table in tables if table.title != first.title]
        alike = {table.title for table in tables if table.columns == first.columns}
        for title in sorted(titles, key=lambda title: title not in alike):
            yield from self._checked(question, [_moved(self.tables, at, title) for at in placed])
        if all(table == first for table, _, _ in placed):
            for document in self._around(first.where.document):
                for table in self.tables.of(document):
                    if table.title == first.title and _labels(table)[:1] == _labels(first)[:1]:
                        moved = [_at(table, row, column) for _, row, column in placed]
                        yield from self._checked(question, moved)

    def _checked(self, question: Question, figures: Sequence[Figure | None]) -> Iterator[tuple[Figure, ...]]:
        """Yield the figures if all are there, are numbers, and no read of them shows any gold."""
        known = tuple(figure for figure in figures if figure and _NUMBER.fullmatch(figure.literal))
        if len(known) < len(figures):
            return
        ranges = {figure.where for figure in known}
        if not any(overlap(where, span) for where in ranges for span in question.gold_spans()):
            yield known

    def _around(self, document: str) -> Iterator[str]:
        """Documents beside one, the next ones first."""
        ids, number = self.tables.corpus.document_ids, self.tables.number(document)
        for step in (1, -1, 2, -2):
            if 0 <= number + step < len(ids):
                yield ids[number + step]

    def _right(self, operand: OperandFacts) -> Figure:
        table = self.tables.holding(operand.span)
        if table is not None:
            return _figure(table, *_place(table, operand.span))
        return self._noted(operand)

    def _noted(self, operand: OperandFacts) -> Figure:
        """A figure of a paragraph: named by the table that printed it before, else by what it says."""
        where, span = self.tables.around(operand.span), operand.span
        before = self._before(operand)
        if before is not None:
            names = (before.code, before.title, before.period, before.column, before.row)
        else:
            paragraph = self._paragraph(span)
            quoted, dated = _NAMED.findall(paragraph), _DATED.search(paragraph)
            column = quoted[-1] if len(quoted) > 1 else "Total"
            names = ("", quoted[0] if quoted else "", "", column, dated[1] if dated else "the month")
        return Figure(span.quote, operand.unit, span, where, *names, note=True)

    def _paragraph(self, span: Span) -> str:
        """The paragraph that a span stands in."""
        where = self.tables.around(span)
        text = self.tables.text(where)
        at = span.start - where.start
        first = text.rfind("\n\n", 0, at)
        last = text.find("\n\n", at)
        return text[first + 2 if first >= 0 else 0 : last if last >= 0 else len(text)]

    def _before(self, operand: OperandFacts) -> Figure | None:
        """The figure as last printed before it was revised; None if it was not, or stood in no table."""
        if operand.stale is None:
            return None
        found = None
        for span in operand.stale.spans:
            table = self.tables.holding(span)
            if table is not None:
                figure = _figure(table, *_place(table, span))
                if figure.value == (operand.stale.literal, operand.stale.unit):
                    found = figure
        return found

    def _anchor(self, operand: OperandFacts) -> tuple[PrintedTable, int, int] | None:
        """Table, row and column of an operand; for a note's, where it was printed before."""
        table, span = self.tables.holding(operand.span), operand.span
        if table is None:
            before = self._before(operand)
            if before is None:
                return None
            table, span = self.tables.holding(before.span), before.span
        return (table, *_place(table, span)) if table else None


def _labels(table: PrintedTable) -> list[str]:
    return [row.label for row in table.rows]


def _place(table: PrintedTable, span: Span) -> tuple[int, int]:
    found = table.find(span)
    assert found is not None, f"{table.where} was found by {span}"
    return found


def _figure(table: PrintedTable, row: int, column: int) -> Figure:
    cell: Cell = table.rows[row].cells[column]
    span = Span(table.where.document, cell.start, cell.end, cell.quote)
    names = (table.code, table.title, table.period, table.columns[column], table.rows[row].name)
    return Figure(cell.quote, table.unit, span, table.where, *names)


def _moved(tables: Tables, anchor: tuple[PrintedTable, int, int], title: str) -> Figure | None:
    """The figure at the anchor's place in another table of its issue; None if that has no such row."""
    table, row, column = anchor
    for other in tables.of(table.where.document):
        if other.title == title and other.unit == table.unit:
            return _at(other, _row(other, table.rows[row].name), column, table.columns)
    return None


def _row(table: PrintedTable, name: str) -> int | None:
    return next((number for number, row in enumerate(table.rows) if row.name == name), None)


def _at(table: PrintedTable, row: int | None, column: int, columns: Sequence[str] = ()) -> Figure | None:
    """A table's figure in a row, at a column or, if that was the last of `columns`, in its own last one."""
    if row is None or row >= len(table.rows):
        return None
    if columns and column == len(columns) - 1:
        column = len(table.columns) - 1
    return _figure(table, row, column) if column < len(table.columns) else None
