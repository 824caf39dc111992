"""Where a figure is printed, in which issues it is out of date, and how it reads there."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from pipeline.benchmarks.ledgerqa.answers import Operand
from pipeline.benchmarks.ledgerqa.families import Family, printed
from pipeline.benchmarks.ledgerqa.ledger import FISCAL_YEARS, Figures, Ledger, Notice


class Vintage(StrEnum):
    """Which report of a figure is meant; an issue's own is given by its number."""

    first = "first"
    last = "last"


When = int | Vintage


@dataclass(frozen=True)
class MonthCell:
    """A month's figure in a monthly family; column -1 is the total."""

    month: int
    column: int
    when: When


@dataclass(frozen=True)
class FiscalCell:
    """A fiscal year's figure, in an issue or (`Vintage.last`) as last reported."""

    year: int
    column: int
    when: When


@dataclass(frozen=True)
class CrossCell:
    """An entity's figure for the period of issue `period`; row and column -1 are totals."""

    row: int
    column: int
    period: int
    when: Vintage


Cell = MonthCell | FiscalCell | CrossCell


@dataclass(frozen=True)
class Place:
    """A printed figure: row and column of a table, or (`row` is then the month) of a note or circular."""

    issue: int
    family: int
    row: int
    column: int
    restated: bool = False
    note: bool = False
    circular: bool = False


@dataclass(frozen=True)
class Reading:
    """A figure: one place that prints it, the others that do, and those that print what it replaced."""

    operand: Operand
    place: Place
    others: tuple[Place, ...] = ()
    stale: tuple[Place, ...] = ()
    stale_operand: Operand | None = None


class Reader:
    """Reads figures off the ledger as a careful reader of the issues would."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def read(self, family: Family, cell: Cell, prefer: int | None = None) -> Reading | None:
        """The figure of a cell, in issue `prefer` if that prints it, else in the last that does.

        `None` where the issues don't tell: not printed, or first printed before issue 0.
        """
        match cell:
            case MonthCell(when=int()):
                return self._month_in_issue(family, cell)
            case MonthCell():
                return self._month(family, cell, prefer)
            case FiscalCell(when=int()):
                return self._fiscal_in_issue(family, cell, int(cell.when))
            case FiscalCell():
                return self._fiscal(family, cell)
            case CrossCell():
                return self._cross(family, cell)

    def _operand(self, family: Family, value: int, issue: int) -> Operand:
        unit = family.unit_at(issue)
        return Operand(printed(value, unit), unit)

    def _month_value(self, family: Family, cell: MonthCell, issue: int) -> Operand:
        row = self._ledger.month_values(family, cell.month, issue)
        return self._operand(family, int(row[cell.column]), issue)

    def _month_place(self, family: Family, cell: MonthCell, issue: int) -> Place:
        row = FISCAL_YEARS + cell.month - self._ledger.months(family, issue)[0]
        return Place(issue, family.number, row, cell.column)

    def _month_in_issue(self, family: Family, cell: MonthCell) -> Reading | None:
        issue = int(cell.when)
        if cell.month not in self._ledger.months(family, issue):
            return None
        return Reading(self._month_value(family, cell, issue), self._month_place(family, cell, issue))

    def _month(self, family: Family, cell: MonthCell, prefer: int | None) -> Reading | None:
        prints = self._ledger.prints(family, cell.month)
        event = self._ledger.event(family, cell.month)
        if event is None or event.issue >= self._ledger.calendar.issues:
            told = None
        else:
            told = event.issue if cell.column in (event.column, -1) else None
        old = [i for i in prints if told is None or i < told]
        new = [i for i in prints if told is None or i >= told]
        if cell.when is Vintage.first:
            if not old or prints[0] != self._ledger.calendar.first_print(cell.month):
                return None
            places = [self._month_place(family, cell, issue) for issue in old]
            return Reading(self._month_value(family, cell, old[0]), places[0], tuple(places[1:]))
        stale: tuple[Place, ...] = ()
        stale_operand = None
        if told is not None and old:
            stale = tuple(self._month_place(family, cell, issue) for issue in old)
            stale_operand = self._month_value(family, cell, old[-1])
        if told is not None and event is not None and event.notice is not Notice.table:
            circular = event.notice is Notice.circular
            note = Place(told, family.number, cell.month, cell.column, note=True, circular=circular)
            return Reading(self._month_value(family, cell, told), note, (), stale, stale_operand)
        if not new:
            return None
        chosen = prefer if prefer in new else new[-1]
        others = tuple(self._month_place(family, cell, issue) for issue in new if issue != chosen)
        operand = self._month_value(family, cell, chosen)
        return Reading(operand, self._month_place(family, cell, chosen), others, stale, stale_operand)

    def _fiscal_in_issue(self, family: Family, cell: FiscalCell, issue: int) -> Reading | None:
        if cell.year not in self._ledger.fiscal_years(issue):
            return None
        return Reading(
            self._operand(family, self._fiscal_value(family, cell, issue), issue),
            self._fiscal_place(family, cell, issue),
        )

    def _fiscal(self, family: Family, cell: FiscalCell) -> Reading | None:
        prints = self._ledger.prints_year(cell.year)
        if not prints:
            return None
        values = {issue: self._fiscal_value(family, cell, issue) for issue in prints}
        last = prints[-1]
        old = [issue for issue in prints if values[issue] != values[last]]
        others = [issue for issue in prints[:-1] if values[issue] == values[last]]
        return Reading(
            self._operand(family, values[last], last),
            self._fiscal_place(family, cell, last),
            tuple(self._fiscal_place(family, cell, issue) for issue in others),
            tuple(self._fiscal_place(family, cell, issue) for issue in old),
            self._operand(family, values[old[-1]], old[-1]) if old else None,
        )

    def _fiscal_value(self, family: Family, cell: FiscalCell, issue: int) -> int:
        row = cell.year - self._ledger.fiscal_years(issue)[0]
        return int(self._ledger.monthly(family, issue).values[row, cell.column])

    def _fiscal_place(self, family: Family, cell: FiscalCell, issue: int) -> Place:
        return Place(issue, family.number, cell.year - self._ledger.fiscal_years(issue)[0], cell.column)

    def _cross(self, family: Family, cell: CrossCell) -> Reading | None:
        again = cell.period + 1
        old = Place(cell.period, family.number, cell.row, cell.column)
        first = self._ledger.cross(family, cell.period)
        restated = again < self._ledger.calendar.issues and self._ledger.restates(family, again)
        if cell.when is Vintage.first or not restated:
            return Reading(self._cross_value(family, cell, first), old)
        new = Place(again, family.number, cell.row, cell.column, restated=True)
        second = self._ledger.cross(family, cell.period, restated=True)
        before, after = self._cross_value(family, cell, first), self._cross_value(family, cell, second)
        if before == after:
            return Reading(after, new, others=(old,))
        return Reading(after, new, (), (old,), before)

    def _cross_value(self, family: Family, cell: CrossCell, figures: Figures) -> Operand:
        return self._operand(family, int(figures.values[cell.row, cell.column]), cell.period)
