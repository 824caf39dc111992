"""Table families: a table that every issue prints anew. Families in a group differ in their basis alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import gcd

import numpy as np
from numpy.typing import NDArray

from pipeline.benchmarks.ledgerqa.dates import Calendar
from pipeline.benchmarks.ledgerqa.streams import Purpose, Stream, derive
from pipeline.benchmarks.ledgerqa.vocabulary import (
    BASES,
    BODIES,
    CROSS,
    ENTITIES,
    FIELDS,
    MONTHLY,
    NOTES,
    SOURCES,
    Basis,
    Concept,
)

Integers = NDArray[np.int64]
_CHANGING = (1, 3)  # of every five monthly groups, those that change their unit
GROUPS = 2 * len(FIELDS) * min(len(MONTHLY), len(CROSS))


@dataclass(frozen=True)
class Unit:
    """What a printed figure counts: the stored integer divided by 10^`places`, in `word`s of dollars."""

    word: str
    places: int

    @property
    def dollars(self) -> int:
        """The dollars in one unit."""
        return {"thousand": 1_000, "million": 1_000_000}[self.word]


THOUSANDS, MILLIONS = Unit("thousand", 0), Unit("million", 0)
EXACT_MILLIONS = Unit("million", 3)


def printed(value: int, unit: Unit, commas: bool = False, parentheses: bool = False) -> str:
    """A figure as printed: `12345`, `-12.345`, `(12.345)`; with commas in prose and beside an `r`."""
    whole, part = divmod(abs(value), 10**unit.places)
    digits = f"{whole:,}" if commas else str(whole)
    decimals = f".{part:0{unit.places}d}" if unit.places else ""
    if value >= 0:
        return f"{digits}{decimals}"
    return f"({digits}{decimals})" if parentheses else f"-{digits}{decimals}"


@dataclass(frozen=True)
class Column:
    """A column under its header group; `mark` is a footnote's, as in `1/`."""

    group: str
    label: str
    mark: str = ""


@dataclass(frozen=True, eq=False)
class Family:
    """What the tables of a family share. `entities` is empty for a monthly family, else the rows' labels.

    `window` is how many months a monthly table prints. Figures are in `unit`; from issue `unit_change` on,
    if there is one, thousands are printed as millions with three decimals, so that no digit is lost.
    Negative figures stand in `parentheses`, or have a minus.
    `levels`, `season` (of a thousand) and `growth` (thousandths a year) shape the figures.
    """

    number: int
    key: int
    code: str
    concept: Concept
    topic: str
    basis: Basis
    columns: tuple[Column, ...]
    stacked: bool
    entities: tuple[str, ...]
    window: int
    unit: Unit
    unit_change: int | None
    parentheses: bool
    growth: int
    levels: Integers
    season: Integers
    source: str
    note: str

    @cached_property
    def title(self) -> str:
        """The title, without its number: unique in the dataset."""
        return f"{self.concept.name} of the {self.topic} by {self.concept.by}, {self.basis.title}"

    def unit_at(self, issue: int) -> Unit:
        """The unit that an issue prints."""
        if self.unit_change is not None and issue >= self.unit_change:
            return EXACT_MILLIONS
        return self.unit


class Families:
    """Family `n` is group `n // (1 + distractors)` on the basis of the remainder; even groups are monthly."""

    def __init__(self, key: int, calendar: Calendar, distractors: int, most_entities: int) -> None:
        self._most_entities = most_entities
        self._key = key
        self._calendar = calendar
        self._siblings = 1 + distractors
        stream = Stream(key, Purpose.topics)
        self._first = stream.below(len(FIELDS))
        self._stride = stream.pick([n for n in range(3, len(FIELDS)) if gcd(n, len(FIELDS)) == 1])
        self.most = GROUPS * self._siblings

    def siblings(self, number: int, families: int) -> list[int]:
        """The other families of a family's group, among the first `families`."""
        first = number - number % self._siblings
        return [n for n in range(first, min(first + self._siblings, families)) if n != number]

    def family(self, number: int) -> Family:
        """Make family `number`."""
        group, basis = divmod(number, self._siblings)
        leader = self._leader(group)
        key = derive(self._key, Purpose.family, number)
        season = Stream(key, 2)
        return replace(
            leader,
            number=number,
            key=key,
            code=f"{leader.code}-{number + 1}",
            basis=BASES[basis],
            levels=_levels(Stream(key, 1), leader),
            season=np.array([season.between(850, 1150) for _ in range(12)], np.int64),
            growth=Stream(key, 3).between(10, 60),
        )

    def _leader(self, group: int) -> Family:
        stream = Stream(self._key, Purpose.group, group)
        kinds, pair = (MONTHLY, group // 2) if group % 2 == 0 else (CROSS, group // 2)
        field_number = (self._first + self._stride * (pair + 31 * (group % 2))) % len(FIELDS)
        concept = kinds[(pair // len(FIELDS) + pair) % len(kinds)]
        topic = f"{FIELDS[field_number]} {BODIES[(field_number * 7 + self._first) % len(BODIES)]}"
        entities: tuple[str, ...] = ()
        if group % 2:
            pool = ENTITIES[concept.by]
            entities = tuple(sorted(stream.sample(pool, stream.between(10, self._most_entities))))
        unit, change = stream.pick((THOUSANDS, THOUSANDS, MILLIONS)), None
        if not entities and pair % 5 in _CHANGING:
            third = self._calendar.issues // 3
            unit, change = THOUSANDS, stream.between(third, 2 * third)
        columns, note = _columns(stream, concept)
        return Family(
            number=-1,
            key=0,
            code="".join(word[0] for word in topic.replace("-", " ").split()),
            concept=concept,
            topic=topic,
            basis=BASES[0],
            columns=columns,
            stacked=stream.chance(60),
            entities=entities,
            window=0 if entities else stream.pick((6, 9, 12)),
            unit=unit,
            unit_change=change,
            parentheses=concept.signed and Stream(self._key, Purpose.group, group, 1).chance(50),
            growth=0,
            levels=np.zeros(0, np.int64),
            season=np.zeros(0, np.int64),
            source=stream.pick(SOURCES),
            note=note,
        )


def _columns(stream: Stream, concept: Concept) -> tuple[tuple[Column, ...], str]:
    chosen = [
        Column(group, label)
        for group, labels in concept.groups
        for label in sorted(stream.sample(labels, stream.between(2, 4)), key=labels.index)
    ]
    if not stream.chance(50):
        return tuple(chosen), ""
    marked = stream.below(len(chosen))
    chosen[marked] = replace(chosen[marked], mark=" 1/")
    return tuple(chosen), f"1/ {stream.pick(NOTES)}"


def _levels(stream: Stream, family: Family) -> Integers:
    """A size for each column, or for each entity and column, between 300 and 300,000."""
    columns = [stream.between(1_000, 9_999) * stream.pick((1, 1, 4, 10)) for _ in family.columns]
    if not family.entities:
        return np.array(columns, np.int64)
    rows = [stream.between(300, 3_000) for _ in family.entities]
    return np.array(rows, np.int64)[:, None] * np.array(columns, np.int64)[None, :] // 1_000
