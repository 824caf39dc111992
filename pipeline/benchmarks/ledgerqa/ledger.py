"""The figures: what each issue prints in each table, as a pure function of the seed.

A monthly row, once printed, may be revised in a later table that still prints it (the changed cells carry
an `r` there), or corrected by an errata note after it has left the tables. A row has one such event at most.
A cross table may be printed once more, restated, by the next issue. Fiscal years are sums of what an issue
knows of their months, so a revision reaches them too. All arithmetic is on 64-bit integers.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pipeline.benchmarks.ledgerqa.dates import MONTHS, Calendar, fiscal_start, fiscal_year
from pipeline.benchmarks.ledgerqa.families import Families, Family, Integers
from pipeline.benchmarks.ledgerqa.streams import Purpose, Stream, derive, derive_words

FISCAL_YEARS = 4
_BLOCK = 120  # months; a block holds two of these, so that any issue's months lie in one block
_PERIODS = 8  # issues of a cross table in a block
_CACHED_BLOCKS = 2_048  # of each sort, at most 25 kB each
_GRAIN = 1 << 10  # a cell's part of a key: row · 1024 + column
_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Event:
    """A monthly row's change, in `column` by `delta`; `issue` tells of it first, by a note if an erratum."""

    month: int
    column: int
    delta: int
    issue: int
    erratum: bool


@dataclass(frozen=True)
class Figures:
    """A table's body by row and column, the totals last, and the cells (row, column) marked `r`."""

    values: Integers
    revised: tuple[tuple[int, int], ...]
    errata: tuple[Event, ...] = ()


@dataclass(frozen=True)
class Rates:
    """How many of a hundred rows or tables change later."""

    revision: int
    errata: int
    restated: int


@dataclass(frozen=True)
class _History:
    """Months as first reported (by month and column) and the event of each; `told` is its issue, or never."""

    first: int
    values: Integers
    column: Integers
    delta: Integers
    told: Integers
    erratum: Integers

    def between(self, first: int, end: int) -> _History:
        at = slice(first - self.first, end - self.first)
        return _History(
            first, self.values[at], self.column[at], self.delta[at], self.told[at], self.erratum[at]
        )

    def event(self, at: int) -> Event:
        return Event(
            self.first + at,
            int(self.column[at]),
            int(self.delta[at]),
            int(self.told[at]),
            bool(self.erratum[at]),
        )


class Ledger:
    """The world that the bulletins report on: the first `families` of `source` over the calendar's issues."""

    def __init__(self, seed: int, calendar: Calendar, source: Families, families: int, rates: Rates) -> None:
        self.seed = seed
        self.key = derive(0, seed)
        self.calendar = calendar
        self.families = families
        self.source = source
        self.rates = rates
        self.family = lru_cache(maxsize=8_192)(source.family)
        self._months = lru_cache(maxsize=_CACHED_BLOCKS)(self._make_months)
        self._periods = lru_cache(maxsize=_CACHED_BLOCKS)(self._make_periods)

    # ---- monthly tables

    def fiscal_years(self, issue: int) -> range:
        """The fiscal years that an issue's monthly tables print."""
        complete = fiscal_year(self.calendar.date(issue)) - 1
        return range(complete - FISCAL_YEARS + 1, complete + 1)

    def months(self, family: Family, issue: int) -> range:
        """The months that an issue prints of a monthly family."""
        date = self.calendar.date(issue)
        return range(date - family.window, date)

    def prints(self, family: Family, month: int) -> range:
        """The issues of the dataset that print a month of a monthly family."""
        first = self.calendar.first_print(month)
        last = first + family.window // self.calendar.step
        return range(max(first, 0), min(last, self.calendar.issues))

    def event(self, family: Family, month: int) -> Event | None:
        """What changes later in a month's row, whether an issue of the dataset tells of it or not."""
        history = self._history(family, month, month + 1)
        return history.event(0) if history.told[0] != _NEVER else None

    def month_values(self, family: Family, month: int, issue: int) -> Integers:
        """A month's row, its total last, as known to an issue."""
        row: Integers = self._history(family, month, month + 1).values[0].copy()
        event = self.event(family, month)
        if event is not None and event.issue <= issue:
            row[[event.column, -1]] += event.delta
        return row

    def monthly(self, family: Family, issue: int) -> Figures:
        """The fiscal years' rows, then the months', with a total column; and the issue's errata."""
        years = self.fiscal_years(issue)
        history = self._history(family, fiscal_start(years[0]), self.calendar.date(issue))
        values = history.values.copy()
        known = (history.told <= issue).nonzero()[0]
        values[known, history.column[known]] += history.delta[known]
        values[known, -1] += history.delta[known]
        new = [history.event(at) for at in known[history.told[known] == issue].tolist()]
        months = 12 * FISCAL_YEARS
        rows = np.concatenate((_years(values[:months]), values[-family.window :]))
        return Figures(
            rows, self._revised(family, issue, new), tuple(event for event in new if event.erratum)
        )

    def _revised(self, family: Family, issue: int, events: list[Event]) -> tuple[tuple[int, int], ...]:
        """The cells that differ from the issue before, where that printed them."""
        change: dict[tuple[int, int], int] = defaultdict(int)
        years, before = self.fiscal_years(issue), self.fiscal_years(issue - 1)
        months = self.months(family, issue)
        for event in events:
            rows = [FISCAL_YEARS + event.month - months[0]] if event.month in months else []
            year = fiscal_year(event.month)
            if year in years and year in before:
                rows.append(year - years[0])
            for row in rows:
                change[row, event.column] += event.delta
                change[row, len(family.columns)] += event.delta
        return tuple(cell for cell, delta in sorted(change.items()) if delta)

    def _history(self, family: Family, first: int, end: int) -> _History:
        return self._months(family.number, first // _BLOCK).between(first, end)

    def _make_months(self, number: int, block: int) -> _History:
        family = self.family(number)
        months = np.arange(block * _BLOCK, (block + 2) * _BLOCK, dtype=np.int64)
        values = self._first_reports(family, months)
        words = derive_words(derive(family.key, Purpose.events), months)
        lot, rest = words % np.uint64(100), words // np.uint64(100)
        happens = lot < np.uint64(self.rates.revision + self.rates.errata)
        erratum = happens & (lot >= np.uint64(self.rates.revision))
        column = (rest % np.uint64(len(family.columns))).astype(np.int64)
        pick = (rest // np.uint64(64)).astype(np.int64)
        prints = family.window // self.calendar.step
        first = (months - self.calendar.start) // self.calendar.step + 1
        told = np.where(erratum, first + prints + pick % 3, first + 1 + pick % (prints - 1))
        percent = pick // 3 % 8 + 2
        size = np.maximum(np.abs(values[np.arange(len(months)), column]) * percent // 100, 1)
        delta = np.where(pick // 24 % 2 == 0, size, -size)
        return _History(
            int(months[0]), values, column, delta, np.where(happens, told, _NEVER), erratum.astype(np.int64)
        )

    def _first_reports(self, family: Family, months: Integers) -> Integers:
        """Rows as first reported, by month and column, their totals last."""
        columns = len(family.columns)
        shape = self._growth(family, months) * family.season[months % 12]
        noise = _noise(family, months[:, None] * _GRAIN + np.arange(columns))
        level = family.levels * shape[:, None] // 1_000_000
        body = level * (noise - 1_000) // 250 if family.concept.signed else level * noise // 1_000
        return np.append(body, body.sum(axis=1, keepdims=True), axis=1)

    def _growth(self, family: Family, months: Integers) -> Integers:
        """Thousandths of the level, rising by the year."""
        return 1_000 + family.growth * ((months - self.calendar.start) // 12 + 10)

    # ---- cross tables

    def restates(self, family: Family, issue: int) -> bool:
        """Whether an issue prints the cross table of the issue before once more."""
        return Stream(family.key, Purpose.restatement, issue).chance(self.rates.restated)

    def cross(self, family: Family, issue: int, restated: bool = False) -> Figures:
        """A cross table for the period before `issue`, totals last; `restated`: as the next issue has it."""
        block, at = divmod(issue, _PERIODS)
        values = self._periods(family.number, block)[at]
        if not restated:
            return Figures(values, ())
        values = values.copy()
        change: dict[tuple[int, int], int] = defaultdict(int)
        last_row, last_column = values.shape[0] - 1, values.shape[1] - 1
        for row, column, delta in self._restatement(family, issue, values):
            for cell in ((row, column), (last_row, column), (row, last_column), (last_row, last_column)):
                values[cell] += delta
                change[cell] += delta
        return Figures(values, tuple(cell for cell, delta in sorted(change.items()) if delta))

    def _make_periods(self, number: int, block: int) -> Integers:
        """Figures by issue, row and column, with totals."""
        family = self.family(number)
        rows, columns = family.levels.shape
        dates = self.calendar.start + self.calendar.step * np.arange(block * _PERIODS, (block + 1) * _PERIODS)
        keys = (dates[:, None] * _GRAIN + np.arange(rows))[:, :, None] * _GRAIN + np.arange(columns)
        shape = self._growth(family, dates) * family.season[dates % 12]
        values = np.empty((_PERIODS, rows + 1, columns + 1), np.int64)
        body = family.levels * shape[:, None, None] // 1_000_000 * _noise(family, keys) // 1_000
        values[:, :rows, :columns] = body
        values[:, :rows, columns] = body.sum(axis=2)
        values[:, rows] = values[:, :rows].sum(axis=1)
        return values

    def _restatement(self, family: Family, issue: int, values: Integers) -> list[tuple[int, int, int]]:
        """One to four changes of a period's figures: row, column and by how much."""
        stream = Stream(family.key, Purpose.restatement, issue, 1)
        changes = []
        for cell in stream.sample(range(family.levels.size), stream.between(1, 4)):
            row, column = divmod(cell, family.levels.shape[1])
            size = max(int(values[row, column]) * stream.between(2, 9) // 100, 1)
            changes.append((row, column, size if stream.chance(50) else -size))
        return changes

    def row_labels(self, family: Family, issue: int) -> list[str]:
        """A table's labels. Of the months, only the first and each January name their year."""
        if family.entities:
            return [*family.entities, "Total"]
        labels = [str(year) for year in self.fiscal_years(issue)]
        months = self.months(family, issue)
        for month in months:
            name = MONTHS[month % 12]
            labels.append(f"{month // 12}-{name}" if month == months[0] or month % 12 == 0 else name)
        return labels


def _noise(family: Family, cells: Integers) -> Integers:
    """Thousandths from 800 to 1,200."""
    words = derive_words(derive(family.key, Purpose.figures), cells)
    words >>= np.uint64(40)
    words %= np.uint64(401)
    return words.astype(np.int64) + 800


def _years(months: Integers) -> Integers:
    """The sums of every twelve rows."""
    sums: Integers = months.reshape(FISCAL_YEARS, 12, -1).sum(axis=1)
    return sums
