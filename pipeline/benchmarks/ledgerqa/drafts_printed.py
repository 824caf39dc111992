"""Drafts about what a named issue prints: single figures, arithmetic, traps of unit and sign, lists."""

from __future__ import annotations

from dataclasses import replace

from pipeline.benchmarks.ledgerqa.answers import Operation
from pipeline.benchmarks.ledgerqa.config import Kind
from pipeline.benchmarks.ledgerqa.drafts import Draft, Scope, asked, column, exact, other
from pipeline.benchmarks.ledgerqa.families import THOUSANDS, Family
from pipeline.benchmarks.ledgerqa.reading import Cell, CrossCell, FiscalCell, MonthCell, Vintage
from pipeline.benchmarks.ledgerqa.streams import Stream

# ---- single


def single(scope: Scope, turn: int, stream: Stream) -> Draft:
    """A figure of a month, a fiscal year or an entity."""
    form = ("month", "cross", "fiscal_year")[turn % 3]
    family = stream.pick(scope.cross if form == "cross" else scope.monthly)
    issue = scope.issue(stream)
    if form == "fiscal_year":
        year = stream.pick(scope.ledger.fiscal_years(issue))
        cell: Cell = FiscalCell(year, column(family, stream), issue)
    else:
        cell = _cell(scope, family, issue, stream)
    return Draft(Kind.single, form, Operation.value, family.number, (cell,), exact(family.unit_at(issue)))


def _cell(scope: Scope, family: Family, issue: int, stream: Stream) -> MonthCell | CrossCell:
    at = column(family, stream)
    if family.entities:
        return CrossCell(stream.below(len(family.entities)), at, issue, Vintage.first)
    return MonthCell(stream.pick(scope.ledger.months(family, issue)), at, issue)


# ---- arithmetic


def arithmetic(scope: Scope, turn: int, stream: Stream) -> Draft | None:
    """Two or more cells of one table, in its unit."""
    operation = (
        Operation.difference, Operation.percent_change, Operation.share,
        Operation.ratio, Operation.sum, Operation.mean,
    )[turn % 6]  # fmt: skip
    issue = scope.issue(stream)
    cross = operation is not Operation.percent_change and stream.chance(50)
    family = stream.pick(scope.cross if cross else scope.monthly)
    if family.concept.signed and operation in (
        Operation.percent_change,
        Operation.share,
        Operation.ratio,
    ):
        return None
    cells: tuple[Cell, ...]
    if operation is Operation.share:
        part = replace(_cell(scope, family, issue, stream), column=stream.below(len(family.columns)))
        cells = part, replace(part, column=-1)
    else:
        many = operation in (Operation.sum, Operation.mean)
        cells = _several(scope, family, issue, stream.between(2, scope.operands) if many else 2, stream)
    form = asked(family.unit_at(issue), operation)
    return Draft(Kind.arithmetic, "cross" if cross else "month", operation, family.number, cells, form)


def _several(scope: Scope, family: Family, issue: int, count: int, stream: Stream) -> tuple[Cell, ...]:
    """Cells of one column, in the order of its rows; fewer where a table has fewer."""
    at = stream.below(len(family.columns))
    if family.entities:
        rows = sorted(stream.sample(range(len(family.entities)), count))
        return tuple(CrossCell(row, at, issue, Vintage.first) for row in rows)
    printed = scope.ledger.months(family, issue)
    months = sorted(stream.sample(printed, min(count, len(printed))))
    return tuple(MonthCell(month, at, issue) for month in months)


# ---- unit


def unit(scope: Scope, turn: int, stream: Stream) -> Draft | None:
    """Figures asked in another unit than they are printed in, or whose sign matters."""
    needed = {
        "signed": scope.signed,
        "across_units": scope.changing,
        "absolute": scope.signed,
        "net": scope.signed,
    }
    forms = ["converted", *(form for form, families in needed.items() if families)]
    form = forms[turn % len(forms)]
    if form == "converted":
        return _converted(scope, stream)
    return _across(scope, stream) if form == "across_units" else _signed(scope, form, stream)


def _converted(scope: Scope, stream: Stream) -> Draft:
    """A figure, or a sum of some, in the unit that their table is not in."""
    issue = scope.issue(stream)
    family = stream.pick(scope.families)
    operation = stream.pick((Operation.value, Operation.sum))
    cells: tuple[Cell, ...] = (_cell(scope, family, issue, stream),)
    if operation is Operation.sum:
        cells = _several(scope, family, issue, 2, stream)
    wanted = exact(other(family.unit_at(issue)))
    return Draft(Kind.unit, "converted", operation, family.number, cells, wanted)


def _across(scope: Scope, stream: Stream) -> Draft | None:
    """Two months from issues on either side of a unit change, in one of the units."""
    family = stream.pick(scope.changing)
    assert family.unit_change is not None
    before = stream.below(family.unit_change)
    after = stream.between(family.unit_change, scope.ledger.calendar.issues - 1)
    at = stream.below(len(family.columns))
    later, earlier = (
        MonthCell(stream.pick(scope.ledger.months(family, issue)), at, issue) for issue in (after, before)
    )
    if later.month == earlier.month:
        return None
    operation = stream.pick((Operation.difference, Operation.sum))
    wanted = exact(stream.pick((THOUSANDS, other(THOUSANDS))))
    return Draft(Kind.unit, "across_units", operation, family.number, (later, earlier), wanted)


def _signed(scope: Scope, form: str, stream: Stream) -> Draft | None:
    """A figure below zero, as it is or without its sign; or a sum of some that are and some that are not."""
    family, issue = stream.pick(scope.signed), scope.issue(stream)
    cells: tuple[Cell, ...] = (_cell(scope, family, issue, stream),)
    operation = Operation.absolute if form == "absolute" else Operation.value
    if form == "net":
        operation = Operation.sum
        cells = _several(scope, family, issue, stream.between(2, scope.operands), stream)
    below = [_value(scope, family, cell) < 0 for cell in cells]
    if not any(below) or (form == "net" and all(below)):
        return None
    return Draft(Kind.unit, form, operation, family.number, cells, exact(family.unit_at(issue)))


def _value(scope: Scope, family: Family, cell: Cell) -> int:
    assert isinstance(cell, MonthCell)
    return int(scope.ledger.month_values(family, cell.month, int(cell.when))[cell.column])


# ---- list


def listed(scope: Scope, turn: int, stream: Stream) -> Draft:
    """Three or more figures of one table: as they stand, from the largest, or only their names."""
    form = ("months", "ranking", "entities", "descending")[turn % 4]
    operation = {"ranking": Operation.ranking, "descending": Operation.descending}.get(form, Operation.list)
    cross = form in ("ranking", "entities") or (form == "descending" and stream.chance(50))
    family = stream.pick(scope.cross if cross else scope.monthly)
    issue = scope.issue(stream)
    cells = _several(scope, family, issue, stream.between(3, max(scope.operands, 3)), stream)
    return Draft(Kind.list, form, operation, family.number, cells, asked(family.unit_at(issue), operation))
