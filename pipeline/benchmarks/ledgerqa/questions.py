"""Questions with one right answer each, planned on the ledger before anything is printed.

A question names its table by what no other table shares (its title, or fund, concept, breakdown and basis),
and says which report it means: that of a named issue, or the most recent one. So every other table, and every
outdated print, is excluded by its words.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pipeline.benchmarks.ledgerqa.answers import Asked, Operation, answer, expression
from pipeline.benchmarks.ledgerqa.config import Kind
from pipeline.benchmarks.ledgerqa.families import EXACT_MILLIONS, MILLIONS, THOUSANDS, Family, Unit
from pipeline.benchmarks.ledgerqa.ledger import Ledger
from pipeline.benchmarks.ledgerqa.phrasing import Phrasings
from pipeline.benchmarks.ledgerqa.phrasings_apart import APART
from pipeline.benchmarks.ledgerqa.phrasings_built import BUILT
from pipeline.benchmarks.ledgerqa.reading import (
    Cell,
    CrossCell,
    FiscalCell,
    MonthCell,
    Reader,
    Reading,
    Vintage,
)
from pipeline.benchmarks.ledgerqa.streams import Purpose, Stream
from pipeline.benchmarks.ledgerqa.wording import compose
from pipeline.errors import BenchmarkError

_TRIES = 3_000
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


@dataclass(frozen=True)
class Question:
    """A question with its gold: the answer, the readings of its operands, and the answer that stale ones give."""

    id: str
    draft: Draft
    phrasing: str
    text: str
    answer: str
    expression: str
    readings: tuple[Reading, ...]
    stale_answer: str | None


class Planner:
    """Drafts questions over a ledger, each kind from its own stream."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._reader = Reader(ledger)
        numbers = range(ledger.families)
        self._monthly = [n for n in numbers if not ledger.family(n).entities]
        self._cross = [n for n in numbers if ledger.family(n).entities]

    def questions(self, kind: Kind, count: int) -> Iterator[Question]:
        """`count` distinct questions of a kind, built and apart phrasings in turn.

        Raises `BenchmarkError` if the ledger is too small for so many.
        """
        stream = Stream(self._ledger.key, Purpose.questions, list(Kind).index(kind))
        seen: set[tuple[object, ...]] = set()
        for number in range(count):
            for _ in range(_TRIES):
                draft = self._draft(kind, number, stream)
                identity = () if draft is None else (draft.operation, draft.family, draft.cells)
                if draft is None or identity in seen:
                    continue
                question = self._question(draft, number, stream)
                if question is not None:
                    seen.add(identity)
                    yield question
                    break
            else:
                raise BenchmarkError(
                    f"LedgerQA: only {number} questions of kind {kind.value!r} fit, {count} were asked: "
                    "raise tokens, or lower questions_per_kind"
                )

    def _question(self, draft: Draft, number: int, stream: Stream) -> Question | None:
        family = self._ledger.family(draft.family)
        readings = self._readings(family, draft)
        if readings is None:
            return None
        gold = answer(draft.operation, [reading.operand for reading in readings], draft.asked)
        stale_operands = [reading.stale_operand or reading.operand for reading in readings]
        stale = None
        if any(reading.stale_operand for reading in readings):
            stale = answer(draft.operation, stale_operands, draft.asked)
        if gold is None or gold == stale or gold in self._distracting_answers(draft):
            return None
        name, phrasings = (("built", BUILT), ("apart", APART))[number % 2]
        text = self._compose(family, draft, phrasings, stream)
        terms = expression(draft.operation, [reading.operand for reading in readings], draft.asked)
        identity = f"{draft.kind.value}-{number:04d}"
        return Question(identity, draft, name, text, gold, terms, tuple(readings), stale)

    def _compose(self, family: Family, draft: Draft, phrasings: Phrasings, stream: Stream) -> str:
        return compose(
            self._ledger, family, draft.kind, draft.operation, draft.cells, draft.asked, phrasings, stream
        )

    def _readings(self, family: Family, draft: Draft) -> list[Reading] | None:
        """One reading a cell, from as few issues as can be."""
        readings: list[Reading] = []
        issue = None
        for cell in draft.cells:
            reading = self._reader.read(family, cell, issue)
            if reading is None:
                return None
            if not reading.place.note:
                issue = reading.place.issue
            readings.append(reading)
        return readings

    def _distracting_answers(self, draft: Draft) -> set[str]:
        answers = set()
        for number in self._ledger.source.siblings(draft.family, self._ledger.families):
            readings = self._readings(self._ledger.family(number), draft)
            if readings is not None:
                found = answer(draft.operation, [reading.operand for reading in readings], draft.asked)
                answers.add(found or "")
        return answers

    # ---- drafts

    def _draft(self, kind: Kind, number: int, stream: Stream) -> Draft | None:
        match kind:
            case Kind.single:
                return self._single(number, stream)
            case Kind.arithmetic:
                return self._arithmetic(number, stream)
            case Kind.series:
                return self._series(stream)
            case Kind.revision:
                return self._revision(number, stream)

    def _single(self, number: int, stream: Stream) -> Draft:
        issue = stream.below(self._ledger.calendar.issues)
        form = ("month", "cross", "fiscal_year")[number // 2 % 3]
        family = self._ledger.family(stream.pick(self._cross if form == "cross" else self._monthly))
        cell = self._cell(family, form, issue, stream)
        return self._make(Kind.single, form, Operation.value, family, (cell,), _exact(family.unit_at(issue)))

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

    def _make(
        self, kind: Kind, form: str, operation: Operation, family: Family, cells: tuple[Cell, ...], asked: Asked
    ) -> Draft:
        return Draft(kind, form, operation, family.number, cells, asked)

    def _arithmetic(self, number: int, stream: Stream) -> Draft | None:
        """Two or three cells of one table; half of them asked in the other unit, or across a unit change."""
        operation = (
            Operation.difference, Operation.percent_change, Operation.share,
            Operation.ratio, Operation.sum, Operation.mean,
        )[number // 2 % 6]  # fmt: skip
        if operation is Operation.difference and stream.chance(50):
            return self._across(stream)
        issue = stream.below(self._ledger.calendar.issues)
        cross = operation is not Operation.percent_change and stream.chance(50)
        family = self._ledger.family(stream.pick(self._cross if cross else self._monthly))
        cells = self._operands(family, operation, issue, stream)
        if family.concept.signed and operation in (Operation.percent_change, Operation.share, Operation.ratio):
            return None
        asked = self._asked(family.unit_at(issue), operation, stream.chance(50))
        form = "converted" if asked.unit and asked.unit.word != family.unit_at(issue).word else "plain"
        return self._make(Kind.arithmetic, form, operation, family, cells, asked)

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
            MonthCell(stream.pick(self._ledger.months(family, issue)), column, issue) for issue in (after, before)
        ]
        asked = self._asked(THOUSANDS, Operation.difference, stream.chance(50))
        form = "across_units"
        return self._make(Kind.arithmetic, form, Operation.difference, family, tuple(cells), asked)

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
        return self._make(Kind.series, operation.value, operation, family, cells, asked)

    def _revision(self, number: int, stream: Stream) -> Draft | None:
        """A figure that was revised, restated or corrected: the last report, or its change since the first."""
        form = ("revised", "errata", "restated")[number // 2 % 3]
        operation = stream.pick((Operation.value, Operation.value, Operation.difference, Operation.percent_change))
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
        return self._make(Kind.revision, form, operation, family, cells, asked)

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
        row, column = (int(at) for at in stream.pick(list(zip(*figures.revised.nonzero(), strict=True))))
        rows, columns = figures.values.shape
        if row == rows - 1:
            return None
        column = -1 if column == columns - 1 else column
        last, first = (CrossCell(row, column, period, when) for when in (Vintage.last, Vintage.first))
        return family, last, first, period


def _exact(unit: Unit) -> Asked:
    return Asked(unit, unit.places)

