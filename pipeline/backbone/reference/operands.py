"""Which figures of a table a question asks for: it finds the table's own labels in the question's words.

The labels of a table's columns and rows are looked for in the question, longest first. Their occurrences,
the question's periods, issues and words such as "first reported" give the operands, in the order of the text.
Where no label occurs as it stands, the column (or row) that shares the most words with the question is taken.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise, takewhile

from pipeline.backbone.reference.periods import months_of
from pipeline.backbone.reference.question import Question, Told
from pipeline.backbone.reference.subjects import CODE
from pipeline.backbone.reference.tables import Cell, Grid, Row
from pipeline.backbone.reference.words import Period, Word, content_words, label_period, stems

MAX_GAP = 2  # words of the question that may stand between two words of a label


@dataclass(frozen=True)
class Operand:
    """One figure asked for, in terms of a table: a column, a row label (or none), a period, a print.

    Operands of one `term` are added up before anything else is done: the months of a year.
    """

    column: int | None
    row: str | None
    period: Period | None
    issue: Period | None
    vintage: str
    term: int


@dataclass(frozen=True)
class _Spot:
    label: str
    start: int
    end: int


@lru_cache(maxsize=4096)
def title_fit(question: Question, title: str) -> float:
    """How well a table's title is named by a question: words in common, less words of its own."""
    asked = set(stems(re.sub(r"\((?![^)]*\b(?:[Tt]able|[Bb]asis))[^)]*\)", " ", question.text)))
    own = {word for word in stems(title) if not word.isdigit()} - {"table", "restated", "continued"}
    codes = set(CODE.findall(title))
    score = sum(1.0 if word in asked else -0.3 for word in own)
    wanted = set(CODE.findall(question.text))
    if wanted and codes:
        score += 4.0 if wanted & codes else -2.0
    return score


def is_named(question: Question, title: str) -> bool:
    """Whether a table's title shares a word with the question; one that a read cut off rarely does."""
    return any(not word.isdigit() for word in set(stems(title)) & set(stems(question.text)))


def operands(question: Question, grid: Grid) -> tuple[Operand, ...]:
    """The figures of a table that a question asks for, in order; empty if the table can't hold them."""
    spans = _masked(question, grid.title)
    columns = _spots(question, tuple(c for c in grid.columns if label_period(c)[0] is None), spans)
    rows = _spots(
        question,
        tuple(dict.fromkeys(_name(row) for row in grid.rows if row.period is None or _name(row))),
        spans,
    )
    rows = [row for row in rows if not any(c.start <= row.start < c.end for c in columns)]
    sides = question.sides if len(columns) < 2 and len(rows) < 2 else ()
    count = max(len(columns), len(rows), len(question.told), len(question.prints), len(sides), 1)
    picked_columns = _share(columns, count, question)
    picked_rows = _share(rows, count, question)
    periods = _share_periods(question, count)
    prints = _share_prints(question, count)
    found: list[Operand] = []
    for index in range(count):
        column, row = picked_columns[index], picked_rows[index]
        side = sides[index] if len(sides) == count else None
        words = side.words if side else question.words
        at = _column(grid, column.label if column else None, words)
        label = row.label if row else _row(grid, words)
        for period in _printed(periods[index], grid):
            found.append(Operand(at, label, period, *prints[index], index))
    return tuple(found)


def _printed(told: Told | None, grid: Grid) -> tuple[Period | None, ...]:
    """A period, or its months: of a calendar year, where a table's years are fiscal ones."""
    if told is None:
        return (None,)
    by_month = grid.fiscal and any(row.period and row.period.month for row in grid.rows)
    return months_of(told.period, fiscal=False) if told.calendar and by_month else (told.period,)


def cells(operand: Operand, grid: Grid) -> list[tuple[Row, Cell]]:
    """The cells of a table that an operand names: one if all is well."""
    found = []
    for row in grid.rows:
        if operand.row is not None and _name(row) != operand.row:
            continue
        for cell in row.cells:
            label = grid.columns[cell.column] if cell.column < len(grid.columns) else ""
            if (
                operand.column is not None
                and cell.column != operand.column
                and label_period(label)[0] is None
            ):
                continue
            asked = operand.period is None or same_period(operand.period, cell_period(grid, row, label))
            if asked and not (operand.row is None and row.estimate):
                found.append((row, cell))
    return found


def same_period(asked: Period, printed: Period | None) -> bool:
    """Whether two periods are one: a quarter is also named by its last month."""
    if printed is None or asked.year != printed.year:
        return False
    if (asked.month, asked.quarter) == (printed.month, printed.quarter):
        return True
    return bool(asked.month and printed.quarter * 3 == asked.month) or bool(
        printed.month and asked.quarter * 3 == printed.month
    )


def cell_period(grid: Grid, row: Row, label: str) -> Period | None:
    """The period of a cell, from its row, its column and the table's caption."""
    across = label_period(label)[0]
    if row.period and row.period.year:
        if across and across.month and not row.period.month:
            return Period(row.period.year, across.month)
        return row.period
    if across and across.year:
        return Period(across.year, row.period.month) if row.period and not across.month else across
    if row.period and grid.period:
        return Period(grid.period.year, row.period.month, row.period.quarter)
    return grid.period


def _name(row: Row) -> str:
    """A row's label without its period, footnote marks and dots."""
    rest = label_period(row.label)[1] if row.period else row.label
    return re.sub(r"(?:\s+\d{1,2}/?(?:,\d{1,2})*)+$|\bEst\b.*", "", rest).strip(" .:-–—'")


def _masked(question: Question, title: str) -> list[tuple[int, int]]:
    """The stretches of the question that name the table (two of its words in a row at least), or a period."""
    own = stems(title)
    pairs = set(pairwise(own))
    words = content_words(question.text)
    spans = [(m.start, m.end) for m in question.mentions]
    spans += [(a.start, b.end) for a, b in pairwise(words) if (a.stem, b.stem) in pairs]
    spans += [
        (m.start(1), m.end(1))
        for m in re.finditer(r'"([^"]+)"', question.text)
        if stems(m[1]) and set(stems(m[1])) <= set(own) and len(stems(m[1])) > 2
    ]
    return spans


def _spots(question: Question, labels: Sequence[str], masked: Sequence[tuple[int, int]]) -> list[_Spot]:
    """Where labels occur in the question, none overlapping a longer one, in the order of the text."""
    words = content_words(question.text)
    free = [word for word in words if not any(a <= word.start and word.end <= b for a, b in masked)]
    candidates: list[tuple[int, int, _Spot]] = []
    for label in dict.fromkeys(labels):
        wanted = stems(_leaf(label))
        if not wanted or all(stem.isdigit() for stem in wanted):
            continue
        for start, end, gaps in _occurrences(free, wanted):
            if wanted != ("total",) or _is_label(question.text, start, end):
                candidates.append((-len(wanted), gaps, _Spot(label, start, end)))
    found: list[_Spot] = []
    for _, _, spot in sorted(candidates, key=lambda each: (each[0], each[2].start, each[1])):
        if not any(other.start < spot.end and spot.start < other.end for other in found):
            found.append(spot)
    return sorted(found, key=lambda spot: spot.start)


def _leaf(label: str) -> str:
    return re.sub(r"\s+\d{1,2}/?(?:,\d{1,2})*$", "", label.rpartition(" > ")[2])


def _is_label(text: str, start: int, end: int) -> bool:
    """`Total` as a label is quoted or capitalised, or called a column or row."""
    quoted = start > 0 and text[start - 1] in "\"“'‘"
    named = re.match(r"['\"”’]?\s*(?:column|row|line)", text[end:])
    return bool(quoted or named or (text[start].isupper() and start > 0 and text[start - 2] not in ".?!"))


def _occurrences(words: Sequence[Word], wanted: Sequence[str]) -> list[tuple[int, int, int]]:
    """Where stems follow each other, up to `MAX_GAP` words between two: start, end, words between."""
    found = []
    for first, word in enumerate(words):
        if word.stem != wanted[0]:
            continue
        at, end = first, word.end
        for stem in wanted[1:]:
            window = words[at + 1 : at + 2 + MAX_GAP]
            step = next((i for i, other in enumerate(window) if other.stem == stem), None)
            if step is None:
                break
            at += 1 + step
            end = words[at].end
        else:
            found.append((word.start, end, at - first + 1 - len(wanted)))
    return found


def _share(spots: Sequence[_Spot], count: int, question: Question) -> list[_Spot | None]:
    """One spot for each operand: in order if as many, the only one for all, else the nearest period's."""
    if not spots:
        return [None] * count
    if len(spots) == count:
        return list(spots)
    if len(spots) == 1 or len(question.told) != count:
        return [spots[min(index, len(spots) - 1)] for index in range(count)]
    return [min(spots, key=lambda spot: abs(spot.end - told.at)) for told in question.told]


def _share_periods(question: Question, count: int) -> list[Told | None]:
    """The period of each operand: in order, each for as many of them."""
    told = question.told
    return [told[i * len(told) // count] if told else None for i in range(count)]


def _share_prints(question: Question, count: int) -> list[tuple[Period | None, str]]:
    """Issue and vintage of each operand."""
    prints = question.prints
    return [prints[i] if len(prints) == count else prints[min(i, len(prints) - 1)] for i in range(count)]


def _column(grid: Grid, label: str | None, words: Sequence[str]) -> int | None:
    """The column of a label, else the one that shares the most words; `None` if there is but one."""
    if label is not None:
        return grid.columns.index(label)
    if len(grid.columns) < 2 or all(label_period(column)[0] for column in grid.columns):
        return None
    fits = [_fit(column, words) for column in grid.columns]
    return fits.index(max(fits))


def _row(grid: Grid, words: Sequence[str]) -> str | None:
    """The row label that shares the most words with the question; None where rows are periods."""
    names = dict.fromkeys(_name(row) for row in grid.rows if _name(row) and not row.estimate)
    if not names or len(names) < len({row.label for row in grid.rows}) / 2:
        return None
    best = max(names, key=lambda name: _fit(name, words))
    return best if _fit(best, words) > 0 else None


def _fit(label: str, words: Sequence[str]) -> float:
    """Words that a label shares with the question, less those of its own; upper header levels count less."""
    upper, _, leaf = label.rpartition(" > ")
    own, above = set(stems(leaf)), set(stems(upper)) - set(stems(leaf))
    asked = set(words)
    shared = sum(0.6 if word == "total" else 1.0 for word in own if word in asked or _near(word, asked))
    return (
        shared - 0.35 * len([w for w in own if w not in asked and not w.isdigit()]) + 0.3 * len(above & asked)
    )


def _near(word: str, asked: set[str]) -> bool:
    """Whether a word differs from one asked for by its ending alone (`narcotice`, `narcotic`)."""
    return any(
        _shared_prefix(word, other) >= max(6, max(len(word), len(other)) - 2)
        for other in asked
        if len(other) > 5
    )


def _shared_prefix(one: str, other: str) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
