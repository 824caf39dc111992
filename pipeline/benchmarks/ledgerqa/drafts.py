"""What could be asked of a ledger: an operation over cells, drawn kind by kind."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from pipeline.benchmarks.ledgerqa.answers import Asked, Operation
from pipeline.benchmarks.ledgerqa.config import Kind
from pipeline.benchmarks.ledgerqa.families import EXACT_MILLIONS, THOUSANDS, Family, Unit
from pipeline.benchmarks.ledgerqa.ledger import Ledger
from pipeline.benchmarks.ledgerqa.reading import Cell
from pipeline.benchmarks.ledgerqa.streams import Stream


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
class Scope:
    """What drafts are drawn from: a ledger, and how many months and operands a question may have."""

    ledger: Ledger
    series_months: int
    operands: int

    @cached_property
    def families(self) -> list[Family]:
        """All families."""
        return [self.ledger.family(number) for number in range(self.ledger.families)]

    @cached_property
    def monthly(self) -> list[Family]:
        """The families of monthly tables."""
        return [family for family in self.families if not family.entities]

    @cached_property
    def cross(self) -> list[Family]:
        """The families of cross tables."""
        return [family for family in self.families if family.entities]

    @cached_property
    def signed(self) -> list[Family]:
        """The monthly families with figures below zero."""
        return [family for family in self.monthly if family.concept.signed]

    @cached_property
    def changing(self) -> list[Family]:
        """The monthly families that change their unit."""
        return [family for family in self.monthly if family.unit_change is not None]

    def issue(self, stream: Stream) -> int:
        """Any issue."""
        return stream.below(self.ledger.calendar.issues)


def column(family: Family, stream: Stream) -> int:
    """A column, now and then the total (-1)."""
    return stream.below(len(family.columns) + 1) - 1


def exact(unit: Unit) -> Asked:
    """A unit with all the decimals that it is printed with."""
    return Asked(unit, unit.places)


def other(unit: Unit) -> Unit:
    """Thousands for millions, and millions, to the last digit, for thousands."""
    return THOUSANDS if unit.word == "million" else EXACT_MILLIONS


def asked(unit: Unit, operation: Operation) -> Asked:
    """The form of an operation's answer: amounts in `unit`, to the last digit where they have one."""
    if operation in (Operation.percent_change, Operation.share):
        return Asked(None, 2)
    if operation is Operation.ratio:
        return Asked(None, 4)
    if operation is Operation.ranking:
        return Asked(None, 0)
    if operation in _ROUNDED:
        return Asked(unit, max(2, unit.places))
    return exact(unit)


_ROUNDED = (
    Operation.mean,
    Operation.geometric_mean,
    Operation.sample_deviation,
    Operation.population_deviation,
    Operation.trend,
)
