"""What could be asked of a ledger: an operation over cells, drawn kind by kind."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.benchmarks.ledgerqa.answers import Asked, Operation
from pipeline.benchmarks.ledgerqa.config import Kind
from pipeline.benchmarks.ledgerqa.families import EXACT_MILLIONS, MILLIONS, THOUSANDS, Family, Unit
from pipeline.benchmarks.ledgerqa.ledger import Ledger
from pipeline.benchmarks.ledgerqa.reading import Cell, CrossCell, FiscalCell, MonthCell, Vintage
from pipeline.benchmarks.ledgerqa.streams import Stream

LONGEST_SERIES = 36


@dataclass(frozen=True)
class Draft:
    """What is asked, apart from its words. `form` names the variety within the kind."""

    kind: Kind
    form: str
    operation: Operation
    family: int
    cells: tuple[Cell, ...]
    asked: Asked


class Drafter:
    """Draws drafts over a ledger."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        numbers = range(ledger.families)
        self._monthly = [n for n in numbers if not ledger.family(n).entities]
        self._cross = [n for n in numbers if ledger.family(n).entities]

    def draft(self, kind: Kind, turn: int, stream: Stream) -> Draft | None:
        """A draft of a kind, whose forms take turns; `None` where the choice made no sense."""
        match kind:
            case Kind.single:
                return self._single(turn, stream)
            case Kind.arithmetic:
                return self._arithmetic(turn, stream)
            case Kind.series:
                return self._series(stream)
            case Kind.revision:
                return self._revision(turn, stream)

    def _single(self, turn: int, stream: Stream) -> Draft:
        issue = stream.below(self._ledger.calendar.issues)
        form = ("month", "cross", "fiscal_year")[turn % 3]
        family = self._ledger.family(stream.pick(self._cross if form == "cross" else self._monthly))
        cell = self._cell(family, form, issue, stream)
        return Draft(
            Kind.single, form, Operation.value, family.number, (cell,), _exact(family.unit_at(issue))
        )

    def _cell(self, family: Family, form: str, issue: int, stream: Stream) -> Cell:
        column = self._column(family, stream)
        if form == "cross":
            return CrossCell(stream.below(len(family.entities)), column, issue, Vintage.first)
        if form == "fiscal_year":
            return FiscalCell(stream.pick(self._ledger.fiscal_years(issue)), column, issue)
        return MonthCell(stream.pick(self._ledger.months(family, issue)), column, issue)

    def _column(self, family: Family, stream: Stream) -> int:
        """A column, now and then the total (-1)."""
        return stream.below(len(family.columns) + 1) - 1

    def _arithmetic(self, turn: int, stream: Stream) -> Draft | None:
        """Two or three cells of one table; half of them asked in the other unit, or across a unit change."""
        operation = (
            Operation.difference, Operation.percent_change, Operation.share,
            Operation.ratio, Operation.sum, Operation.mean,
        )[turn % 6]  # fmt: skip
        if operation is Operation.difference and stream.chance(50):
            return self._across(stream)
        issue = stream.below(self._ledger.calendar.issues)
        cross = operation is not Operation.percent_change and stream.chance(50)
        family = self._ledger.family(stream.pick(self._cross if cross else self._monthly))
        cells = self._operands(family, operation, issue, stream)
        if family.concept.signed and operation in (
            Operation.percent_change,
            Operation.share,
            Operation.ratio,
        ):
            return None
        asked = self._asked(family.unit_at(issue), operation, stream.chance(50))
        form = "converted" if asked.unit and asked.unit.word != family.unit_at(issue).word else "plain"
        return Draft(Kind.arithmetic, form, operation, family.number, cells, asked)

    def _operands(self, family: Family, operation: Operation, issue: int, stream: Stream) -> tuple[Cell, ...]:
        if operation is Operation.share:
            part = self._cell(family, "cross" if family.entities else "month", issue, stream)
            column = stream.below(len(family.columns))
            if isinstance(part, CrossCell):
                part = CrossCell(part.row, column, issue, Vintage.first)
                return part, CrossCell(part.row, -1, issue, Vintage.first)
            assert isinstance(part, MonthCell)
            return MonthCell(part.month, column, issue), MonthCell(part.month, -1, issue)
        count = stream.between(2, 4) if operation in (Operation.sum, Operation.mean) else 2
        column = stream.below(len(family.columns))
        if family.entities:
            rows = sorted(stream.sample(range(len(family.entities)), count))
            return tuple(CrossCell(row, column, issue, Vintage.first) for row in rows)
        months = sorted(stream.sample(self._ledger.months(family, issue), count))
        return tuple(MonthCell(month, column, issue) for month in months)

    def _across(self, stream: Stream) -> Draft | None:
        """Two months from issues on either side of a unit change."""
        family = self._ledger.family(stream.pick(self._monthly))
        if family.unit_change is None:
            return None
        before = stream.below(family.unit_change)
        after = stream.between(family.unit_change, self._ledger.calendar.issues - 1)
        column = stream.below(len(family.columns))
        cells = [
            MonthCell(stream.pick(self._ledger.months(family, issue)), column, issue)
            for issue in (after, before)
        ]
        asked = self._asked(THOUSANDS, Operation.difference, stream.chance(50))
        if cells[0].month == cells[1].month:
            return None
        return Draft(
            Kind.arithmetic, "across_units", Operation.difference, family.number, tuple(cells), asked
        )

    def _asked(self, unit: Unit, operation: Operation, other: bool) -> Asked:
        if operation in (Operation.percent_change, Operation.share):
            return Asked(None, 2)
        if operation is Operation.ratio:
            return Asked(None, 4)
        wanted = unit
        if other:
            wanted = THOUSANDS if unit.word == "million" else EXACT_MILLIONS
        exact = _exact(wanted)
        if operation in (Operation.sum, Operation.difference, Operation.value):
            return exact
        return Asked(wanted, max(2, exact.decimals))

    def _series(self, stream: Stream) -> Draft | None:
        """Consecutive months, more than one issue prints, as most recently reported."""
        operation = stream.pick((
            Operation.sum, Operation.mean, Operation.geometric_mean,
            Operation.sample_deviation, Operation.population_deviation,
        ))  # fmt: skip
        family = self._ledger.family(stream.pick(self._monthly))
        calendar = self._ledger.calendar
        first = self._ledger.months(family, 0)[0]
        covered = calendar.date(calendar.issues - 1) - first
        longest = min(LONGEST_SERIES, covered)
        if longest <= family.window or (family.concept.signed and operation is Operation.geometric_mean):
            return None
        count = stream.between(family.window + 1, longest)
        start = first + stream.below(covered - count + 1)
        column = self._column(family, stream)
        cells = tuple(MonthCell(month, column, Vintage.last) for month in range(start, start + count))
        unit = THOUSANDS if family.unit.word == "thousand" else MILLIONS
        asked = self._asked(unit, operation, family.unit_change is not None and stream.chance(50))
        return Draft(Kind.series, operation.value, operation, family.number, cells, asked)

    def _revision(self, turn: int, stream: Stream) -> Draft | None:
        """A figure that was revised, restated or corrected: its last report, or its change."""
        form = ("revised", "errata", "restated")[turn % 3]
        operation = stream.pick(
            (Operation.value, Operation.value, Operation.difference, Operation.percent_change)
        )
        found = self._restated(stream) if form == "restated" else self._revised(form == "errata", stream)
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
        asked = self._asked(family.unit_at(issue), operation, False)
        return Draft(Kind.revision, form, operation, family.number, cells, asked)

    def _revised(self, erratum: bool, stream: Stream) -> tuple[Family, Cell, Cell, int] | None:
        family = self._ledger.family(stream.pick(self._monthly))
        calendar = self._ledger.calendar
        first = self._ledger.months(family, 0)[0]
        month = first + stream.below(calendar.date(calendar.issues - 1) - first)
        event = self._ledger.event(family, month)
        if event is None or event.erratum != erratum or not 0 < event.issue < calendar.issues:
            return None
        if not self._ledger.prints(family, month):
            return None
        column = event.column if stream.chance(75) else -1
        issue = min(event.issue, self._ledger.prints(family, month)[0])
        last, before = (MonthCell(month, column, when) for when in (Vintage.last, Vintage.first))
        return family, last, before, issue

    def _restated(self, stream: Stream) -> tuple[Family, Cell, Cell, int] | None:
        family = self._ledger.family(stream.pick(self._cross))
        period = stream.below(self._ledger.calendar.issues - 1)
        if not self._ledger.restates(family, period + 1):
            return None
        figures = self._ledger.cross(family, period, restated=True)
        changed = [(row, column) for row, column in figures.revised if row < len(family.entities)]
        if not changed:
            return None
        row, column = stream.pick(changed)
        column = -1 if column == len(family.columns) else column
        last, first = (CrossCell(row, column, period, when) for when in (Vintage.last, Vintage.first))
        return family, last, first, period


def _exact(unit: Unit) -> Asked:
    return Asked(unit, unit.places)
