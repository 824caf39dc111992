"""Questions with one right answer each, planned on the ledger before anything is printed.

A question names its table by what no other table shares (its title, or fund, concept, breakdown and basis),
and says which report it means: that of a named issue, or the most recent one. So every other table, and every
outdated print, is excluded by its words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pipeline.benchmarks.ledgerqa import drafts_latest, drafts_printed
from pipeline.benchmarks.ledgerqa.answers import Operand, answer, expression
from pipeline.benchmarks.ledgerqa.config import Kind, LedgerQAConfig
from pipeline.benchmarks.ledgerqa.drafts import Draft, Scope
from pipeline.benchmarks.ledgerqa.families import Family
from pipeline.benchmarks.ledgerqa.ledger import Ledger
from pipeline.benchmarks.ledgerqa.phrasings_apart import APART
from pipeline.benchmarks.ledgerqa.phrasings_built import BUILT
from pipeline.benchmarks.ledgerqa.reading import CrossCell, Reader, Reading
from pipeline.benchmarks.ledgerqa.streams import Purpose, Stream
from pipeline.benchmarks.ledgerqa.wording import compose
from pipeline.errors import BenchmarkError

_TRIES = 3_000
_NEXT_FORM = 500  # after so many, a kind's next form gets its turn


@dataclass(frozen=True)
class Question:
    """A question with its gold: answer, readings of its operands, and the answer that stale ones give."""

    id: str
    draft: Draft
    phrasing: str
    text: str
    answer: str
    expression: str
    readings: tuple[Reading, ...]
    stale_answer: str | None
    stale_expression: str | None


_DRAFTS: Mapping[Kind, Callable[[Scope, int, Stream], Draft | None]] = {
    Kind.single: drafts_printed.single,
    Kind.arithmetic: drafts_printed.arithmetic,
    Kind.series: drafts_latest.series,
    Kind.revision: drafts_latest.revision,
    Kind.unit: drafts_printed.unit,
    Kind.calendar: drafts_latest.calendar,
    Kind.list: drafts_printed.listed,
}


class Planner:
    """Drafts questions over a ledger, each kind from its own stream."""

    def __init__(self, ledger: Ledger, config: LedgerQAConfig) -> None:
        self._ledger = ledger
        self._reader = Reader(ledger)
        self._scope = Scope(ledger, config.series_months, config.operands)

    def questions(self, kind: Kind, count: int) -> Iterator[Question]:
        """`count` distinct questions of a kind, built and apart phrasings in turn.

        Raises `BenchmarkError` if the ledger is too small for so many.
        """
        stream = Stream(self._ledger.key, Purpose.questions, list(Kind).index(kind))
        seen: set[tuple[object, ...]] = set()
        for number in range(count):
            for attempt in range(_TRIES):
                draft = _DRAFTS[kind](self._scope, number // 2 + attempt // _NEXT_FORM, stream)
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
                    "raise tokens (or, for revisions, their percentages), or lower questions_per_kind"
                )

    def _question(self, draft: Draft, number: int, stream: Stream) -> Question | None:
        family = self._ledger.family(draft.family)
        readings = self._readings(family, draft)
        if readings is None:
            return None
        operands = [reading.operand for reading in readings]
        gold = self._answer(family, draft, operands)
        stale = stale_terms = None
        if any(reading.stale_operand for reading in readings):
            before = [reading.stale_operand or reading.operand for reading in readings]
            stale = self._answer(family, draft, before)
            stale_terms = expression(draft.operation, before, draft.asked)
        if gold is None or gold == stale or gold in self._distracting_answers(draft):
            return None
        name, phrasings = (("built", BUILT), ("apart", APART))[number % 2]
        text = compose(self._ledger, family, draft, phrasings, stream)
        terms = expression(draft.operation, operands, draft.asked)
        identity = f"{draft.kind.value}-{number:04d}"
        return Question(identity, draft, name, text, gold, terms, tuple(readings), stale, stale_terms)

    def _answer(self, family: Family, draft: Draft, operands: Sequence[Operand]) -> str | None:
        names = [family.entities[cell.row] for cell in draft.cells if isinstance(cell, CrossCell)]
        return answer(draft.operation, operands, draft.asked, names)

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
            family = self._ledger.family(number)
            readings = self._readings(family, draft)
            if readings is not None:
                found = self._answer(family, draft, [reading.operand for reading in readings])
                answers.add(found or "")
        return answers
