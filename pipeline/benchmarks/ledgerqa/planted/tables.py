"""Printed tables, read cell by cell: which figure stands where, and what a reader would call it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from pipeline.benchmarks.ledgerqa.planted.steps import Range
from pipeline.benchmarks.tasks import Span
from pipeline.corpus import Corpus
from pipeline.errors import BenchmarkError

_FIGURE = re.compile(r"\(?-?[0-9][0-9,]*(?:\.[0-9]+)?\)?")
_MARK = re.compile(r"\s+[0-9]+/$")
_UNIT = re.compile(r"\b[Ii]n (thousand|million)s of dollars")
_PERIOD = re.compile(r"^\(([A-Z][^;)]*); in ")
_YEAR_AND_MONTH = re.compile(r"([0-9]{4})-([A-Z][a-z]+)")
_CODE = re.compile(r"TABLE (\S+?)\.—")
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
    "November", "December",
)  # fmt: skip
_KEPT = 64


@dataclass(frozen=True)
class Cell:
    """A printed figure: code points `start:end` of its document, without its revision mark."""

    start: int
    end: int
    quote: str

    @property
    def literal(self) -> str:
        """The figure without thousands commas; one in parentheses is negative."""
        return literal(self.quote)


@dataclass(frozen=True)
class Row:
    """A row: its label as printed, its name (a month's with its year), its figures from left to right."""

    label: str
    name: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class PrintedTable:
    """A table of an issue. `where` is what is read of it, from its title to its last row.

    `lines` are its rows as printed, each with the code point that it begins at.
    """

    where: Range
    code: str
    title: str
    unit: str
    period: str
    columns: tuple[str, ...]
    lines: tuple[tuple[int, str], ...]

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """The rows, read when they are asked for; none if one has other columns than the header."""
        rows = tuple(_rows(self.lines))
        return rows if all(len(row.cells) == len(self.columns) for row in rows) else ()

    def find(self, span: Span) -> tuple[int, int] | None:
        """Row and column of a figure of this table."""
        for number, row in enumerate(self.rows):
            for column, cell in enumerate(row.cells):
                if cell.start <= span.start and span.end <= cell.end:
                    return number, column
        return None

    def name(self, row: int, column: int) -> str:
        """What the figure is, as one would write it down: `"Salaries" for April 2004`."""
        period = f" in the {self.period}" if self.period else ""
        return f'"{self.columns[column]}" for {self.rows[row].name}{period}'


def literal(quote: str) -> str:
    """A printed figure as a number is written: no thousands commas, a minus for parentheses."""
    plain = quote.replace(",", "")
    return f"-{plain.strip('()')}" if plain.startswith("(") else plain


class Tables:
    """The tables of a corpus, parsed when they are asked for; those of the last documents are kept."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self.of = lru_cache(_KEPT)(self._of)

    def number(self, document: str) -> int:
        """A document's number. Raises `BenchmarkError` if the corpus lacks it: gold of other documents."""
        found = self.corpus.number(document)
        if found is None:
            raise BenchmarkError(f"the gold names {document!r}, which is not among the documents")
        return found

    def text(self, where: Range) -> str:
        """The text of a range."""
        return self.corpus.text(self.number(where.document), where.start, where.end)

    def holding(self, span: Span) -> PrintedTable | None:
        """The table that prints a figure; None if it stands in a paragraph."""
        for table in self.of(span.document):
            if table.where.start <= span.start < span.end <= table.where.end and table.find(span):
                return table
        return None

    def around(self, span: Span) -> Range:
        """What a reader reads to see a span: its table, else the passage that a search would name."""
        if table := self.holding(span):
            return table.where
        number = 0
        while passage := self.corpus.passage(f"{span.document}#{number}"):
            if passage.start <= span.start < passage.end:
                return Range(span.document, passage.start, max(passage.end, span.end))
            number += 1
        raise BenchmarkError(f"the gold names {span}, which is beyond the document's end")

    def _of(self, document: str) -> Sequence[PrintedTable]:
        number = self.number(document)
        text = self.corpus.text(number, 0, self.corpus.length(number))
        found = []
        for table in self.corpus.tables(number):
            where = Range(document, table.start, table.end)
            if printed := _parse(where, text[table.start : table.end]):
                found.append(printed)
        return tuple(found)


def _parse(where: Range, text: str) -> PrintedTable | None:
    """Read a pipe table; None for anything else."""
    lines: list[tuple[int, str]] = []
    at = where.start
    for line in text.split("\n"):
        lines.append((at, line))
        at += len(line) + 1
    head = [line for _, line in lines if line and not line.startswith("|")]
    pipes = [(at, line) for at, line in lines if line.startswith("|")]
    unit = next((found[1] for line in head if (found := _UNIT.search(line))), "")
    if len(pipes) < 3 or not head or not unit:
        return None
    names = [_column(name) for name in pipes[0][1].strip("| ").split(" | ")]
    period = next((found[1] for line in head if (found := _PERIOD.search(line))), "")
    period = f"{period[0].lower()}{period[1:]}" if period else ""
    code, title = _CODE.match(head[0]), head[0].split(".—", 1)[-1]
    return PrintedTable(
        where, code[1] if code else "", title, unit, period, tuple(names[1:]), tuple(pipes[2:])
    )


def _column(header: str) -> str:
    return _MARK.sub("", header.split(" > ")[-1])


def _rows(lines: Sequence[tuple[int, str]]) -> list[Row]:
    rows: list[Row] = []
    year = 0
    for at, line in lines:
        label = line.strip("| ").split(" | ")[0]
        dated = _YEAR_AND_MONTH.fullmatch(label)
        if dated:
            year = int(dated[1])
        month = dated[2] if dated else label
        name = f"{month} {year}" if year and month in _MONTHS else label
        name = f"fiscal year {label}" if label.isdecimal() else name
        rows.append(Row(label, name, tuple(_cells(at, line))))
    return rows


def _cells(at: int, line: str) -> list[Cell]:
    found = []
    position = line.index(" | ") + 3
    for text in line[position:].removesuffix(" |").split(" | "):
        figure = _FIGURE.match(text)  # a misread one may be no figure: it keeps its place
        quote = figure[0] if figure else text
        start = at + position
        found.append(Cell(start, start + len(quote), quote))
        position += len(text) + 3
    return found
