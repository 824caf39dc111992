"""The figures: what each issue prints in each table, as a pure function of the seed.

A monthly row, once printed, may be revised in a later table that still prints it (the changed cells carry
an `r` there), or corrected by an errata note after it has left the tables. A row has one such event at most.
A cross table may be printed once more, restated, by the next issue. Fiscal years are sums of what an issue
knows of their months, so a revision reaches them too. All arithmetic is on 64-bit integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pipeline.benchmarks.ledgerqa.dates import MONTHS, Calendar, fiscal_start, fiscal_year
from pipeline.benchmarks.ledgerqa.families import Families, Family, Integers, Unit
from pipeline.benchmarks.ledgerqa.streams import Purpose, Stream, derive, derive_words

FISCAL_YEARS = 4
_GRAIN = 1 << 10  # keys of a row's columns: row · 1024 + column


@dataclass(frozen=True)
class Event:
    """A monthly row's change: in `column`, by `delta`, first told by `issue`; by a note if it is an erratum."""

    column: int
    delta: int
    issue: int
    erratum: bool


@dataclass(frozen=True)
class Figures:
    """A table's body: figures by row and column, the totals last, and which of them are marked `r`."""

    values: Integers
    revised: NDArray[np.bool_]


@dataclass(frozen=True)
class Rates:
    """How many of a hundred rows or tables change later."""

    revision: int
    errata: int
    restated: int


class Ledger:
    """The world that the bulletins report on: `families` tables over the calendar's issues."""

    def __init__(self, seed: int, calendar: Calendar, source: Families, families: int, rates: Rates) -> None:
        self.seed = seed
        self.key = derive(0, seed)
        self.calendar = calendar
        self.families = families
        self.source = source
        self.rates = rates
        self.family = lru_cache(maxsize=8_192)(source.family)

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
        """What changes later in a month's row."""
        column, delta, issue, erratum = self._events(family, np.array([month], np.int64))
        if delta[0] == 0:
            return None
        return Event(int(column[0]), int(delta[0]), int(issue[0]), bool(erratum[0]))

    def month_values(self, family: Family, month: int, issue: int) -> Integers:
        """A month's row, its total last, as known to an issue."""
        row = self._first_values(family, np.array([month], np.int64))[0]
        event = self.event(family, month)
        if event is not None and event.issue <= issue:
            row[event.column] += event.delta
        return np.append(row, row.sum())

    def monthly(self, family: Family, issue: int) -> Figures:
        """The fiscal years' rows, then the months', with a total column."""
        years = self.fiscal_years(issue)
        date = self.calendar.date(issue)
        months = np.arange(fiscal_start(years[0]), date, dtype=np.int64)
        columns = len(family.columns)
        values = np.empty((len(months), columns + 1), np.int64)
        values[:, :columns] = self._first_values(family, months)
        column, delta, told, _ = self._events(family, months)
        known = np.flatnonzero((told <= issue) & (delta != 0))
        values[known, column[known]] += delta[known]
        values[:, columns] = values[:, :columns].sum(axis=1)
        new = known[told[known] == issue]
        change = np.zeros_like(values)
        change[new, column[new]] = delta[new]
        change[new, columns] = delta[new]
        revised = _with_years(change, family.window) != 0
        if years[-1] not in self.fiscal_years(issue - 1):
            revised[FISCAL_YEARS - 1] = False  # printed for the first time
        return Figures(_with_years(values, family.window), revised)

    def _first_values(self, family: Family, months: Integers) -> Integers:
        """Rows as first reported, by month and column."""
        columns = np.arange(len(family.columns), dtype=np.int64)
        years = (months - self.calendar.start) // 12 + 10
        shape = (1_000 + family.growth * years) * family.season[months % 12]
        noise = self._noise(family, months[:, None] * _GRAIN + columns[None, :])
        level = family.levels[None, :] * shape[:, None] // 1_000_000
        if family.concept.signed:
            return level * (noise - 1_000) // 250
        return level * noise // 1_000

    def _noise(self, family: Family, cells: Integers) -> Integers:
        """Thousandths from 800 to 1,200."""
        words = derive_words(derive(family.key, Purpose.figures), cells)
        return 800 + ((words >> np.uint64(40)) % np.uint64(401)).astype(np.int64)

    def _events(
        self, family: Family, months: Integers
    ) -> tuple[Integers, Integers, Integers, NDArray[np.bool_]]:
        """Column, delta (0: no event), issue and whether an erratum, for each month."""
        words = derive_words(derive(family.key, Purpose.events), months)
        lot, rest = words % np.uint64(100), words // np.uint64(100)
        happens = lot < np.uint64(self.rates.revision + self.rates.errata)
        erratum = happens & (lot >= np.uint64(self.rates.revision))
        column = (rest % np.uint64(len(family.columns))).astype(np.int64)
        pick = (rest // np.uint64(64)).astype(np.int64)
        prints = family.window // self.calendar.step
        first = (months - self.calendar.start) // self.calendar.step + 1
        issue = np.where(erratum, first + prints + pick % 3, first + 1 + pick % max(prints - 1, 1))
        delta = np.zeros_like(months)
        at = np.flatnonzero(happens)
        if len(at):
            base = self._first_values(family, months[at])[np.arange(len(at)), column[at]]
            percent = (pick[at] // 3) % 8 + 2
            size = np.maximum(np.abs(base) * percent // 100, 1)
            delta[at] = np.where((pick[at] // 24) % 2 == 0, size, -size)
        return column, delta, issue, erratum

    def errata(self, issue: int) -> list[tuple[Family, int, Event]]:
        """The notes of an issue: family, month and event, in order."""
        notes = []
        date, step = self.calendar.date(issue), self.calendar.step
        for number in range(self.families):
            family = self.family(number)
            if family.entities:
                continue
            months = np.arange(date - family.window - 3 * step, date - family.window, dtype=np.int64)
            column, delta, told, erratum = self._events(family, months)
            for at in np.flatnonzero(erratum & (told == issue) & (delta != 0)):
                event = Event(int(column[at]), int(delta[at]), issue, True)
                notes.append((family, int(months[at]), event))
        return notes

    # ---- cross tables

    def restates(self, family: Family, issue: int) -> bool:
        """Whether an issue prints the cross table of the issue before once more."""
        return Stream(family.key, Purpose.restatement, issue).chance(self.rates.restated)

    def cross(self, family: Family, issue: int, restated: bool = False) -> Figures:
        """A cross table for the period before `issue`, totals last; `restated`: as the next issue prints it."""
        rows, columns = family.levels.shape
        values = np.empty((rows + 1, columns + 1), np.int64)
        body = values[:rows, :columns]
        date = self.calendar.date(issue)
        cells = (date * _GRAIN + np.arange(rows))[:, None] * _GRAIN + np.arange(columns)[None, :]
        shape = (1_000 + family.growth * ((date - self.calendar.start) // 12 + 10)) * int(family.season[date % 12])
        body[:] = family.levels * shape // 1_000_000 * self._noise(family, cells) // 1_000
        change = np.zeros_like(values)
        if restated:
            for row, column, delta in self._restatement(family, issue, body):
                body[row, column] += delta
                for at in ((row, column), (rows, column), (row, columns), (rows, columns)):
                    change[at] += delta
        values[:rows, columns] = body.sum(axis=1)
        values[rows] = values[:rows].sum(axis=0)
        return Figures(values, change != 0)

    def _restatement(self, family: Family, issue: int, body: Integers) -> list[tuple[int, int, int]]:
        stream = Stream(family.key, Purpose.restatement, issue, 1)
        cells = stream.sample(range(body.size), stream.between(1, 4))
        changes = []
        for cell in cells:
            row, column = divmod(cell, body.shape[1])
            size = max(int(body[row, column]) * stream.between(2, 9) // 100, 1)
            changes.append((row, column, size if stream.chance(50) else -size))
        return changes

    def row_labels(self, family: Family, issue: int) -> list[str]:
        """A monthly table's labels: fiscal years, then months, of which only the first and January name a year."""
        labels = [str(year) for year in self.fiscal_years(issue)]
        months = self.months(family, issue)
        for month in months:
            name = MONTHS[month % 12]
            labels.append(f"{month // 12}-{name}" if month == months[0] or month % 12 == 0 else name)
        return labels


def _with_years(months: Integers, window: int) -> Integers:
    """The fiscal years' sums, then the last `window` months."""
    years = months[: 12 * FISCAL_YEARS].reshape(FISCAL_YEARS, 12, -1).sum(axis=1)
    return np.concatenate((years, months[-window:]))


def figure(value: int, unit: Unit, commas: bool = False) -> str:
    """A figure as printed: `12345`, `-12.345`; with commas in prose and beside an `r`."""
    if unit.places:
        whole, part = divmod(abs(value), 10**unit.places)
        sign = "-" if value < 0 else ""
        return f"{sign}{whole:,}.{part:0{unit.places}d}" if commas else f"{sign}{whole}.{part:0{unit.places}d}"
    return f"{value:,}" if commas else str(value)
