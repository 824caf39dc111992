"""From texts read to facts: for each figure that the question asks for, what every document says it is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter

from pipeline.backbone.reference.errata import Correction, corrections
from pipeline.backbone.reference.numerals import Figure, scale
from pipeline.backbone.reference.operands import (
    Operand,
    cell_period,
    cells,
    is_named,
    operands,
    same_period,
    title_fit,
)
from pipeline.backbone.reference.question import Question
from pipeline.backbone.reference.reading import Text
from pipeline.backbone.reference.subjects import CODE
from pipeline.backbone.reference.tables import Cell, Grid, Row, grids
from pipeline.backbone.reference.words import Period, document_period, stems


@dataclass(frozen=True)
class Fact:
    """What a document says of one figure. `number` is the figure's place in the question."""

    number: int
    document: str
    published: Period | None
    figure: Figure
    unit: str
    label: str
    period: Period | None
    correction: bool
    ranges: tuple[tuple[int, int], ...]  # where it stands in the document: row and header, or a note
    statement: str

    @property
    def amount(self) -> float:
        """The value in single units, comparable between prints in thousands and in millions."""
        return self.figure.value * scale(self.unit)

    @property
    def recency(self) -> tuple[int, str, bool]:
        """Orders prints by date; of one document, a correction comes after a table."""
        return (self.published.ordinal if self.published else 0, self.document, self.correction)


@dataclass(frozen=True)
class Findings:
    """The facts of a question over all texts read; `operands` is what it asks of the best table."""

    title: str = ""
    columns: tuple[str, ...] = ()
    operands: tuple[Operand, ...] = ()
    facts: tuple[Fact, ...] = ()

    def of(self, number: int) -> list[Fact]:
        """The facts of one figure that its operand admits (issue named), oldest print first."""
        operand = self.operands[number]
        found = [fact for fact in self.facts if fact.number == number]
        if operand.issue:
            found = [fact for fact in found if fact.published and same_issue(operand.issue, fact.published)]
        return sorted(found, key=lambda fact: fact.recency)


def same_issue(asked: Period, published: Period) -> bool:
    """Whether a document's date is the one that is asked for (a year alone names any issue of it)."""
    return asked.year == published.year and (not asked.month or asked.month == published.month)


@lru_cache(maxsize=4096)
def series_key(title: str) -> tuple[str, ...]:
    """What stays of a table's title from issue to issue."""
    return tuple(s for s in stems(title) if s not in ("restated", "continued", "con") and not s.isdigit())


@dataclass(frozen=True)
class _Reading:
    """A table, how well it fits the question, and the figures asked for that it gives."""

    fit: float
    grid: Grid
    operands: tuple[Operand, ...]
    facts: tuple[Fact, ...]


def find(question: Question, texts: Sequence[Text]) -> Findings:
    """Choose the table that fits the question best, and take its figures from every issue read."""
    readings = [
        (text, each) for text in texts for each in _readings(question, text.document, text.start, text.text)
    ]
    if not readings:
        return Findings()
    best = max((each for _, each in readings), key=lambda each: each.fit)
    key = series_key(best.grid.title)
    printed: dict[tuple[str, int], tuple[float, Fact]] = {}  # of a table in parts, the part that fits best
    for text, each in readings:
        if len(each.operands) == len(best.operands) and same_series(key, series_key(each.grid.title)):
            for fact in each.facts:
                place = (text.document, fact.number)
                printed[place] = max(
                    printed.get(place, (each.fit, fact)), (each.fit, fact), key=itemgetter(0)
                )
    facts = [fact for _, fact in printed.values()]
    facts.extend(fact for text in texts for fact in _note_facts(best.grid, best.operands, text))
    return Findings(best.grid.title, best.grid.columns, best.operands, tuple(facts))


def same_series(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether two titles name one table: the same words, but for those that one rendering lost."""
    if one == other:
        return True
    shared = len(set(one) & set(other))
    return (
        shared >= 3 and shared >= 0.8 * max(len(set(one)), len(set(other))) and _basis(one) == _basis(other)
    )


def _basis(key: tuple[str, ...]) -> tuple[str, ...]:
    """The word before `basis`: titles that differ in it alone name different tables."""
    return key[key.index("basi") - 1 :] if "basi" in key and key.index("basi") else ()


@lru_cache(maxsize=2048)
def _readings(question: Question, document: str, start: int, text: str) -> tuple[_Reading, ...]:
    """The tables of a text that hold any of the figures asked for."""
    found = []
    for grid in grids(text, start):
        asked = operands(question, grid)
        held = {number: cell for number, operand in enumerate(asked) for cell in cells(operand, grid)[:1]}
        if held and is_named(question, grid.title):
            fit = _fit(question, document, grid, asked, len(held))
            facts = tuple(_table_fact(number, document, grid, *cell) for number, cell in held.items())
            found.append(_Reading(fit, grid, asked, facts))
    return tuple(found)


def _fit(question: Question, document: str, grid: Grid, asked: Sequence[Operand], held: int) -> float:
    """How well a table suits: its title, its labels, how many of the figures it holds, and its issue."""
    named = sum(_named(question, operand, grid) for operand in asked) / len(asked)
    published = document_period(document)
    issue = published and any(same_issue(each, published) for each in question.issues)
    return title_fit(question, grid.title) + 2 * named + held / len(asked) + (1 if issue else 0)


def _named(question: Question, operand: Operand, grid: Grid) -> float:
    """The share of the words of an operand's labels that the question says."""
    label = grid.columns[operand.column] if operand.column is not None and grid.columns else ""
    own = stems(f"{label.rpartition(' > ')[2]} {operand.row or ''}")
    said = set(stems(question.text))
    return sum(1 for word in own if word in said) / len(own) if own else 0.0


def _table_fact(number: int, document: str, grid: Grid, row: Row, cell: Cell) -> Fact:
    column = grid.columns[cell.column] if cell.column < len(grid.columns) else ""
    period = cell_period(grid, row, column)
    label = (
        ", ".join(part for part in (column.rpartition(" > ")[2], "" if row.period else row.label) if part)
        or row.label
    )
    unit = f" ({grid.unit[0].lower()}{grid.unit[1:]})" if grid.unit else ""
    mark = ", marked as revised" if cell.figure.revised else ""
    when = f" for {period}" if period else ""
    statement = f'{label}{when}: {cell.figure.text}{unit}, as printed in "{grid.title}", {document}{mark}'
    return Fact(
        number=number,
        document=document,
        published=document_period(document),
        figure=cell.figure,
        unit=grid.unit,
        label=label,
        period=period,
        correction=False,
        ranges=((row.start, row.end), (grid.start, grid.start + 1)),
        statement=" ".join(statement.split()),
    )


def _note_facts(grid: Grid, asked: Sequence[Operand], text: Text) -> list[Fact]:
    """Corrections of the figures asked for, from errata notes about the table."""
    found = []
    for note in corrections(text.text, text.start):
        if not _about(note, grid):
            continue
        for number, operand in enumerate(asked):
            if operand.period and same_period(operand.period, note.period) and _corrects(note, operand, grid):
                found.append(_note_fact(number, note, operand, grid, text))
    return found


def _about(note: Correction, grid: Grid) -> bool:
    """Whether a note is about a table: it has the words of its title, and no other table's number."""
    named, own = set(CODE.findall(note.note)), set(CODE.findall(grid.title))
    if named and own:
        return bool(named & own)
    return set(series_key(grid.title)) - {"table"} <= set(stems(note.note))


def _corrects(note: Correction, operand: Operand, grid: Grid) -> bool:
    """Whether a clause of a note names the operand's column; `total` there is the total's own correction."""
    label, title = set(stems(_label(operand, grid))), set(series_key(grid.title))
    quoted = [set(stems(each)) for each in re.findall(r'"([^"]+)"', note.clause)]
    named = [each for each in quoted if each and not (len(each) > 2 and each <= title)]
    if named:
        return label in named
    clause = set(stems(re.sub(r'"[^"]+"', " ", note.clause)))
    return bool(label) and label <= clause and ("total" in label or "total" not in clause)


def _label(operand: Operand, grid: Grid) -> str:
    column = grid.columns[operand.column].rpartition(" > ")[2] if operand.column is not None else ""
    return f"{column} {operand.row or ''}".strip()


def _note_fact(number: int, note: Correction, operand: Operand, grid: Grid, text: Text) -> Fact:
    unit = note.unit or grid.unit
    label = _label(operand, grid)
    statement = (
        f"{label} for {note.period}: {note.figure.text} ({unit}), corrected by an errata note "
        f'in {text.document} on "{grid.title}"'
    )
    return Fact(
        number=number,
        document=text.document,
        published=document_period(text.document),
        figure=note.figure,
        unit=unit,
        label=label,
        period=note.period,
        correction=True,
        ranges=((note.note_start, note.note_end),),
        statement=" ".join(statement.split()),
    )
