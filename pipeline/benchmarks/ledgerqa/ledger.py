"""The figures: what each issue prints in each table, as a pure function of the seed.

A monthly row, once printed, may be revised in a later table that still prints it (the changed cells carry
an `r` there), or corrected after it has left the tables: soon, by an errata note, or late, by a circular. A
row has one such event at most.
A cross table may be printed once more, restated, by the next issue. Fiscal years are sums of what an issue
knows of their months, so a revision reaches them too. All arithmetic is on 64-bit integers.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

import numpy as np

from pipeline.benchmarks.ledgerqa.dates import MONTHS, Calendar, fiscal_start, fiscal_year
from pipeline.benchmarks.ledgerqa.families import Families, Family, Integers
from pipeline.benchmarks.ledgerqa.streams import Purpose, Stream, derive, derive_words

FISCAL_YEARS = 4
_BLOCK = 120  # months; a block holds five years more, so that any issue's months lie in one block
_PERIODS = 8  # issues of a cross table in a block
_CACHED_BLOCKS = 2_048  # of each sort, at most 25 kB each
_GRAIN = 1 << 10  # a cell's part of a key: row · 1024 + column
_LATEST_ERRATUM = 3  # issues after a month's last print
_LATE = 12  # months after a month's last print, and as many again, in which a circular may correct it
_LONGEST_WAIT = 36  # months from a month to the last issue that may tell of its change


class Notice(StrEnum):
    """Where a change is told: in a table, in an errata note of a bulletin, or in a circular of its own."""

    table = "table"
    erratum = "erratum"
    circular = "circular"


@dataclass(frozen=True)
class Event:
    """A monthly row's change, in `column` by `delta`; `issue`, or its date's circular, tells of it first."""

    month: int
    column: int
    delta: int
    issue: int
    notice: Notice


@dataclass(frozen=True)
class Figures:
    """A table's body by row and column, the totals last, and the cells (row, column) marked `r`.

    `noted` are the events that a note or circular of the issue's date tells of.
    """

    values: Integers
    revised: tuple[tuple[int, int], ...]
    noted: tuple[Event, ...] = ()


@dataclass(frozen=True)
class Rates:
    """How many of a hundred rows or tables change later."""

    revision: int
    errata: int
    late: int
    restated: int


@dataclass(frozen=True)
class _Months:
    """Months from `first` on, by month and column with totals: as finally reported, and with what events.

    `sums[i]` is the sum of the first `i` months.
    """

    first: int
    final: Integers
    sums: Integers
    events: list[Event | None]


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
        self._dates = lru_cache(maxsize=16)(self._make_dates)

    # ---- monthly tables

    def fiscal_years(self, issue: int) -> range:
        """The fiscal years that an issue's monthly tables print."""
        complete = fiscal_year(self.calendar.date(issue)) - 1
        return range(complete - FISCAL_YEARS + 1, complete + 1)

    def prints_year(self, year: int) -> range:
        """The issues of the dataset that print a fiscal year."""
        first, last = (
            -((self.calendar.start - fiscal_start(at)) // self.calendar.step)
            for at in (year + 1, year + 1 + FISCAL_YEARS)
        )
        return range(max(first, 0), min(max(last, 0), self.calendar.issues))

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
        block = self._block(family, month)
        return block.events[month - block.first]

    def month_values(self, family: Family, month: int, issue: int) -> Integers:
        """A month's row, its total last, as known to an issue."""
        block = self._block(family, month)
        row: Integers = block.final[month - block.first].copy()
        event = block.events[month - block.first]
        if event is not None and event.issue > issue:
            row[[event.column, -1]] -= event.delta
        return row

    def monthly(self, family: Family, issue: int) -> Figures:
        """The fiscal years' rows, then the months', with a total column; and what is noted of others."""
        date, oldest = self.calendar.date(issue), self.fiscal_years(issue)[0]
        block = self._block(family, fiscal_start(oldest))
        end = date - block.first
        start = fiscal_start(oldest) - block.first
        ends = block.sums[start : start + 12 * FISCAL_YEARS + 1 : 12]
        rows = np.concatenate((ends[1:] - ends[:-1], block.final[end - family.window : end]))
        new: list[tuple[Event, list[int]]] = []
        for event in block.events[end - _LONGEST_WAIT : end]:
            if event is None or event.issue < issue:
                continue
            year = fiscal_year(event.month) - oldest
            at = [year] if year < FISCAL_YEARS else []
            if event.month >= date - family.window:
                at.append(FISCAL_YEARS + event.month - date + family.window)
            if event.issue == issue:
                new.append((event, at))
                continue
            for row in at:
                rows[row, event.column] -= event.delta
                rows[row, -1] -= event.delta
        noted = tuple(event for event, _ in new if event.notice is not Notice.table)
        return Figures(rows, self._revised(family, issue, new) if new else (), noted)

    def _revised(
        self, family: Family, issue: int, new: list[tuple[Event, list[int]]]
    ) -> tuple[tuple[int, int], ...]:
        """The cells that differ from the issue before, where that printed them."""
        change: dict[tuple[int, int], int] = defaultdict(int)
        first_time = self.fiscal_years(issue) != self.fiscal_years(issue - 1)
        for event, rows in new:
            for row in rows:
                if not (first_time and row == FISCAL_YEARS - 1):
                    change[row, event.column] += event.delta
                    change[row, len(family.columns)] += event.delta
        return tuple(cell for cell, delta in sorted(change.items()) if delta)

    def _block(self, family: Family, month: int) -> _Months:
        return self._months(family.number, month // _BLOCK)

    def _make_months(self, number: int, block: int) -> _Months:
        family = self.family(number)
        months = block * _BLOCK + np.arange(_BLOCK + 12 * (FISCAL_YEARS + 1), dtype=np.int64)
        values = self._first_reports(family, months)
        words = derive_words(derive(family.key, Purpose.events), months)
        happens = words % np.uint64(100) < np.uint64(
            self.rates.revision + self.rates.errata + self.rates.late
        )
        events: list[Event | None] = [None] * len(months)
        for at in happens.nonzero()[0].tolist():
            events[at] = event = self._event(family, int(months[at]), int(words[at]), values[at])
            values[at, event.column] += event.delta
            values[at, -1] += event.delta
        sums = np.concatenate((np.zeros((1, values.shape[1]), np.int64), values.cumsum(axis=0)))
        return _Months(int(months[0]), values, sums, events)

    def _event(self, family: Family, month: int, word: int, row: Integers) -> Event:
        rest, lot = divmod(word, 100)
        rest, column = divmod(rest, len(family.columns))
        rest, percent = divmod(rest, 8)
        rest, falls = divmod(rest, 2)
        size = max(abs(int(row[column])) * (percent + 2) // 100, 1)
        prints = family.window // self.calendar.step
        first = self.calendar.first_print(month)
        if lot < self.rates.revision:
            notice, issue = Notice.table, first + 1 + rest % (prints - 1)
        elif lot < self.rates.revision + self.rates.errata:
            notice, issue = Notice.erratum, first + prints + rest % _LATEST_ERRATUM
        else:
            wait = _LATE // self.calendar.step
            notice, issue = Notice.circular, first + prints + wait + rest % wait
        return Event(month, column, -size if falls else size, issue, notice)

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
        cells = dict.fromkeys(stream.below(family.levels.size) for _ in range(stream.between(1, 4)))
        for cell in cells:
            row, column = divmod(cell, family.levels.shape[1])
            size = max(int(values[row, column]) * stream.between(2, 9) // 100, 1)
            changes.append((row, column, size if stream.chance(50) else -size))
        return changes

    def row_labels(self, family: Family, issue: int) -> list[str]:
        """A table's labels."""
        return [*family.entities, "Total"] if family.entities else self._dates(family.window, issue)

    def _make_dates(self, window: int, issue: int) -> list[str]:
        """A monthly table's labels. Of the months, only the first and each January name their year."""
        labels = [str(year) for year in self.fiscal_years(issue)]
        date = self.calendar.date(issue)
        for month in range(date - window, date):
            name = MONTHS[month % 12]
            labels.append(f"{month // 12}-{name}" if month in (date - window, month - month % 12) else name)
        return labels


def _noise(family: Family, cells: Integers) -> Integers:
    """Thousandths from 800 to 1,200."""
    words = derive_words(derive(family.key, Purpose.figures), cells)
    words >>= np.uint64(40)
    words %= np.uint64(401)
    return words.astype(np.int64) + 800
