"""Drafts about what was reported last, in whatever issue: series, revised figures, years of two sorts."""

from __future__ import annotations

from pipeline.benchmarks.ledgerqa.answers import Operation
from pipeline.benchmarks.ledgerqa.config import Kind
from pipeline.benchmarks.ledgerqa.drafts import Draft, Scope, asked, column, other
from pipeline.benchmarks.ledgerqa.families import EXACT_MILLIONS, THOUSANDS, Family, Unit
from pipeline.benchmarks.ledgerqa.ledger import Notice
from pipeline.benchmarks.ledgerqa.reading import Cell, CrossCell, FiscalCell, MonthCell, Vintage
from pipeline.benchmarks.ledgerqa.streams import Stream

SHORTEST_SERIES = 24


def _covered(scope: Scope, family: Family) -> range:
    """The months that the issues print of a monthly family."""
    calendar = scope.ledger.calendar
    return range(scope.ledger.months(family, 0)[0], calendar.date(calendar.issues - 1))


def _unit(family: Family, stream: Stream) -> Unit:
    """The unit to ask in: a family's own, one of both where it changes."""
    if family.unit_change is None:
        return family.unit
    return stream.pick((THOUSANDS, EXACT_MILLIONS))


# ---- series


def series(scope: Scope, turn: int, stream: Stream) -> Draft | None:
    """Consecutive months, more than one issue prints; all months covered where those are fewer than asked."""
    operation = (
        Operation.sum, Operation.trend, Operation.geometric_mean,
        Operation.mean, Operation.sample_deviation, Operation.population_deviation,
    )[turn % 6]  # fmt: skip
    family = stream.pick(scope.monthly)
    covered = _covered(scope, family)
    count = stream.between(
        min(SHORTEST_SERIES, len(covered)), min(max(scope.series_months, SHORTEST_SERIES), len(covered))
    )
    if count <= family.window or (family.concept.signed and operation is Operation.geometric_mean):
        return None
    first = covered[0] + stream.below(len(covered) - count + 1)
    cells = _months(range(first, first + count), column(family, stream))
    wanted = asked(_unit(family, stream), operation)
    return Draft(Kind.series, operation.value, operation, family.number, cells, wanted)


def _months(months: range, at: int) -> tuple[Cell, ...]:
    return tuple(MonthCell(month, at, Vintage.last) for month in months)


# ---- revision


def revision(scope: Scope, turn: int, stream: Stream) -> Draft | None:
    """A figure that was revised, restated or corrected: its last report, or its change."""
    form = ("revised", "late", "restated", "errata")[turn % 4]
    operation = stream.pick(
        (Operation.value, Operation.value, Operation.difference, Operation.percent_change)
    )
    found = _restated(scope, stream) if form == "restated" else _changed(scope, _NOTICES[form], stream)
    if found is None:
        return None
    family, last, first, issue = found
    if family.concept.signed and operation is Operation.percent_change:
        return None
    cells = {
        Operation.value: (last,),
        Operation.difference: (last, first),
        Operation.percent_change: (first, last),
    }[operation]
    wanted = asked(family.unit_at(issue), operation)
    return Draft(Kind.revision, form, operation, family.number, cells, wanted)


_NOTICES = {"revised": Notice.table, "errata": Notice.erratum, "late": Notice.circular}
_Change = tuple[Family, Cell, Cell, int]  # the last report, the first, and the issue of that


def _changed(scope: Scope, notice: Notice, stream: Stream) -> _Change | None:
    ledger = scope.ledger
    family = stream.pick(scope.monthly)
    month = stream.pick(_covered(scope, family))
    event = ledger.event(family, month)
    if event is None or event.notice is not notice or not 0 < event.issue < ledger.calendar.issues:
        return None
    prints = ledger.prints(family, month)
    if not prints:
        return None
    at = event.column if stream.chance(75) else -1
    last, first = (MonthCell(month, at, when) for when in (Vintage.last, Vintage.first))
    return family, last, first, min(event.issue, prints[0])


def _restated(scope: Scope, stream: Stream) -> _Change | None:
    ledger = scope.ledger
    family = stream.pick(scope.cross)
    period = stream.below(ledger.calendar.issues - 1)
    if not ledger.restates(family, period + 1):
        return None
    figures = ledger.cross(family, period, restated=True)
    changed = [(row, at) for row, at in figures.revised if row < len(family.entities)]
    if not changed:
        return None
    row, at = stream.pick(changed)
    at = -1 if at == len(family.columns) else at
    last, first = (CrossCell(row, at, period, when) for when in (Vintage.last, Vintage.first))
    return family, last, first, period


# ---- calendar


def calendar(scope: Scope, turn: int, stream: Stream) -> Draft | None:
    """A calendar year's total of twelve months, a fiscal year's, and what the one exceeds the other by."""
    family = stream.pick(scope.monthly)
    covered = _covered(scope, family)
    years = range(-(-covered.start // 12), covered.stop // 12)
    form = ("calendar_year", "fiscal_year", "excess")[turn % 3] if years else "fiscal_year"
    at = column(family, stream)
    unit = _unit(family, stream)
    if stream.chance(25):
        unit = other(unit)
    if form == "fiscal_year":
        return _fiscal(scope, family, at, unit, stream)
    year = stream.pick(years)
    cells = _months(range(12 * year, 12 * year + 12), at)
    operation = Operation.sum
    if form == "excess":
        operation = Operation.excess
        cells = (*cells, FiscalCell(year, at, Vintage.last))
    return Draft(Kind.calendar, form, operation, family.number, cells, asked(unit, operation))


def _fiscal(scope: Scope, family: Family, at: int, unit: Unit, stream: Stream) -> Draft:
    """A fiscal year as last reported, or by how much one exceeds the one before."""
    last = scope.ledger.calendar.issues - 1
    years = range(scope.ledger.fiscal_years(0)[0] + 1, scope.ledger.fiscal_years(last)[-1] + 1)
    year = stream.pick(years)
    operation = stream.pick((Operation.value, Operation.difference))
    count = 1 if operation is Operation.value else 2
    cells = tuple(FiscalCell(year - back, at, Vintage.last) for back in range(count))
    return Draft(Kind.calendar, "fiscal_year", operation, family.number, cells, asked(unit, operation))
