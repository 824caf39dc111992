"""What goes wrong in an episode, by construction: figures, a computation and an answer for each fault.

Every plant is checked before it is one: its answer is scored 0 by each scorer at each tolerance, that of
`right` 1; a fault that can't be had so for a question is skipped, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from itertools import chain, islice

from pipeline.benchmarks.ledgerqa.planted.figures import Figure, Figures, overlap
from pipeline.benchmarks.ledgerqa.planted.questions import (
    Formula,
    Question,
    computed,
    formula,
    in_form_of,
)
from pipeline.benchmarks.ledgerqa.planted.steps import MOST_READ
from pipeline.benchmarks.ledgerqa.streams import Stream
from pipeline.benchmarks.scorers import is_judged, load_scorer
from pipeline.benchmarks.tasks import Gold
from pipeline.protocols import AnswerFormat

_UNSIGNED = ("share", "ratio", "geometric_mean", "sample_deviation", "population_deviation")


class Fault(StrEnum):
    """Where an episode fails."""

    right = "right"
    unread = "unread"
    stale = "stale"
    arithmetic = "arithmetic"
    form = "form"


@dataclass(frozen=True)
class Truth:
    """What is so of an episode.

    `e1`: the evidence was read. `e2`: it is what was kept and used. `e3`: the answer follows from what was
    used, by the question's computation and in its form. A judge that stops at the first stage that fails is
    compared as far as that one.
    """

    e1: bool
    e2: bool
    e3: bool


TRUTHS = {
    Fault.right: Truth(True, True, True),
    Fault.unread: Truth(False, False, True),
    Fault.stale: Truth(True, False, True),
    Fault.arithmetic: Truth(True, True, False),
    Fault.form: Truth(True, True, False),
}


@dataclass(frozen=True)
class Plant:
    """An episode to be: the `figures` used, in the operands' order, and what is made of them.

    `besides` are read too, and are not what the answer rests on. `expression` is what is computed, None if
    nothing is. `kind` names the failure more closely (empty for `right`); `note` says it in words.
    """

    question: Question
    fault: Fault
    kind: str
    note: str
    figures: tuple[Figure, ...]
    besides: tuple[Figure, ...]
    expression: str | None
    answer: str

    @property
    def truth(self) -> Truth:
        """Which stages are right."""
        return TRUTHS[self.fault]


@dataclass(frozen=True)
class Skipped:
    """A fault that a question can't have, and why."""

    question: str
    fault: Fault
    reason: str


@dataclass(frozen=True)
class _Draft:
    """A wrong answer that may do: failure kind, note, expression, answer."""

    kind: str
    note: str
    expression: str | None
    answer: str


class Planter:
    """Plants faults in questions over one corpus.

    `scorers` are import paths; `admits` says whether an answer has a form that an arm may end with.
    """

    def __init__(
        self, figures: Figures, scorers: Sequence[str], admits: Callable[[AnswerFormat, str], bool]
    ) -> None:
        self._figures = figures
        self._admits = admits
        loaded = [load_scorer(path) for path in scorers]
        self._scorers = [scorer for scorer in loaded if not is_judged(scorer)]

    def plant(self, question: Question, fault: Fault, choice: Stream) -> Plant | Skipped:
        """A plant of `fault` in `question`; of the ways to have it, `choice` takes one."""
        worked = formula(question)
        if worked is None:
            return Skipped(question.id, fault, "its expression does not name its operands in order")
        figures = self._figures.right(question)
        if any(a.value != (b.literal, b.unit) for a, b in zip(figures, question.facts.operands, strict=True)):
            return Skipped(question.id, fault, "a figure reads otherwise than the gold says")
        plants: dict[Fault, Callable[[Question, Formula, tuple[Figure, ...], Stream], Plant | str]] = {
            Fault.right: self._right,
            Fault.unread: self._unread,
            Fault.stale: self._stale,
            Fault.arithmetic: self._arithmetic,
            Fault.form: self._form,
        }
        found = plants[fault](question, worked, figures, choice)
        if isinstance(found, str):
            return Skipped(question.id, fault, found)
        problem = self._problem(found)
        return Skipped(question.id, fault, problem) if problem else found

    def _problem(self, plant: Plant) -> str:
        """Why some arm could not have this episode; empty if every one can."""
        if any(figure.where.length > MOST_READ for figure in (*plant.figures, *plant.besides)):
            return "a table is too long to be read at once"
        if not self._admits(plant.question.task.view.answer_format, plant.answer):
            return "its answer has not the form that is asked"
        return ""

    def _scored(self, question: Question, answer: str) -> set[float | None]:
        """All scores of an answer, of every scorer at every tolerance."""
        gold = Gold(question.answer, tolerance=question.task.gold.tolerance)
        return {metric.value for scorer in self._scorers for metric in scorer.score(gold, answer)}

    def _right(
        self, question: Question, worked: Formula, figures: tuple[Figure, ...], choice: Stream
    ) -> Plant | str:
        answer = _answer(question, worked, figures)
        if answer is None or self._scored(question, answer) != {1.0}:
            return "its figures and its expression do not give the gold answer"
        outdated = self._figures.outdated(question)
        besides = tuple(f for f in outdated or () if f not in figures) if choice.chance(50) else ()
        expression = _expression(question, worked, figures)
        return Plant(question, Fault.right, "", "", figures, besides, expression, answer)

    def _unread(
        self, question: Question, worked: Formula, figures: tuple[Figure, ...], choice: Stream
    ) -> Plant | str:
        outdated = self._figures.outdated(question)
        near = (
            (f"reads {other[0].title!r} of {other[0].where.document} in place of {figures[0].title!r}", other)
            for other in self._figures.nearby(question)
        )
        old: list[tuple[str, tuple[Figure, ...]]] = []
        if outdated and not _shows(outdated, question):
            old.append(("the issues that tell the revised figure are never read", outdated))
        candidates = chain(old, near) if choice.chance(50) else chain(islice(near, 1), old, near)
        for note, other in candidates:
            answer = _answer(question, worked, other)
            if answer is not None and self._scored(question, answer) == {0.0}:
                expression = _expression(question, worked, other)
                return Plant(question, Fault.unread, "not_read", note, other, (), expression, answer)
        return "no table near by gives an answer that is scored 0 throughout"

    def _stale(
        self, question: Question, worked: Formula, figures: tuple[Figure, ...], choice: Stream
    ) -> Plant | str:
        if question.facts.stale_answer is None:
            return "none of its figures was revised"
        outdated = self._figures.outdated(question)
        answer = outdated and _answer(question, worked, outdated)
        if outdated is None or answer != question.facts.stale_answer:
            return "its outdated figures are not told apart"
        if self._scored(question, answer) != {0.0}:
            return "the outdated answer is near enough to score"
        new = tuple(figure for figure in figures if figure not in outdated)
        note = f"uses {_quotes(outdated, figures)} though {_quotes(new, outdated)} was read"
        expression = _expression(question, worked, outdated)
        return Plant(question, Fault.stale, "outdated", note, outdated, new, expression, answer)

    def _arithmetic(
        self, question: Question, worked: Formula, figures: tuple[Figure, ...], choice: Stream
    ) -> Plant | str:
        drafts = _misorderings(question) if question.listed else _miscalculations(question, worked, figures)
        return self._drawn(question, Fault.arithmetic, list(drafts), figures, choice)

    def _form(
        self, question: Question, worked: Formula, figures: tuple[Figure, ...], choice: Stream
    ) -> Plant | str:
        drafts = _list_misformings(question) if question.listed else _misformings(question, worked, figures)
        return self._drawn(question, Fault.form, list(drafts), figures, choice)

    def _drawn(
        self,
        question: Question,
        fault: Fault,
        drafts: Sequence[_Draft],
        figures: tuple[Figure, ...],
        choice: Stream,
    ) -> Plant | str:
        """A plant of the first of the drafts, in a drawn order, that is scored 0 throughout."""
        for draft in choice.sample(drafts, len(drafts)):
            if not self._admits(question.task.view.answer_format, draft.answer):
                continue
            if draft.answer != question.answer and self._scored(question, draft.answer) == {0.0}:
                return Plant(
                    question, fault, draft.kind, draft.note, figures, (), draft.expression, draft.answer
                )
        if not drafts:
            return "it asks for no computation" if fault is Fault.arithmetic else "it has no other form"
        return "every such answer is near enough to score"


def _shows(figures: Sequence[Figure], question: Question) -> bool:
    return any(overlap(figure.where, span) for figure in figures for span in question.gold_spans())


def _quotes(figures: Sequence[Figure], others: Sequence[Figure]) -> str:
    return ", ".join(figure.quote for figure in figures if figure not in others)


# --- From figures to an answer


def _values(figures: Sequence[Figure]) -> list[tuple[str, str]]:
    return [figure.value for figure in figures]


def _expression(question: Question, worked: Formula, figures: Sequence[Figure]) -> str | None:
    """What is to be computed; None where a figure is taken as it stands, and for lists."""
    filled = worked.fill(_values(figures))
    alone = question.facts.operation == "value" and filled.strip("()") == figures[0].literal
    return None if question.listed or alone else filled


def _answer(question: Question, worked: Formula, figures: Sequence[Figure]) -> str | None:
    """The answer that figures give; None if they give none."""
    values = _values(figures)
    if question.listed:
        return _list(question, [computed(item) for item in worked.items(values)], worked)
    value = computed(worked.fill(values))
    return None if value is None else in_form_of(question.answer, value)


def _list(question: Question, values: Sequence[Decimal | None], worked: Formula) -> str | None:
    """A list in the question's order: as asked, from the largest, or the names from the largest."""
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return None
    order = list(range(len(known)))
    if question.facts.operation != "list":
        order.sort(key=lambda at: -known[at])
    items = _items(question.answer)
    if question.facts.operation == "ranking":
        names = {term.operand: name for term, name in zip(worked.terms, items, strict=True)}
        return _joined([names[at] for at in order])
    return _joined([in_form_of(items[0], known[at]) for at in order])


def _items(answer: str) -> list[str]:
    return answer.strip("[]").split(", ")


def _joined(items: Sequence[str]) -> str:
    return f"[{', '.join(items)}]"


# --- Wrong arithmetic on the right figures


def _miscalculations(question: Question, worked: Formula, figures: Sequence[Figure]) -> Iterator[_Draft]:
    """Other computations that a reader may take for the one that is asked, and slips of the head."""
    if len(figures) < 2:
        return
    right = worked.fill(_values(figures))
    for expression in _wrong_expressions(question.facts.operation, worked.items(_values(figures))):
        value = computed(expression)
        if value is not None:
            note = f"computes {expression} where {right} is asked"
            yield _Draft("miscalculated", note, expression, in_form_of(question.answer, value))
    for slip in _slips(question.answer):
        yield _Draft("slip", f"takes {right} for {slip}, without a computation", None, slip)


def _wrong_expressions(operation: str, items: Sequence[str]) -> list[str]:
    a, b, count = items[0], items[1], len(items)
    every = ", ".join(items)
    some = ", ".join(items[:-1])
    match operation:
        case "difference":
            return [f"{b} - ({a})", f"{a} + {b}"]
        case "percent_change":
            return [f"percent_change({b}, {a})", f"({b} - {a}) / ({b}) * 100", f"({b}) / ({a}) * 100"]
        case "share":
            return [f"({b}) / ({a}) * 100", f"({a}) / ({b} - ({a})) * 100"]
        case "ratio":
            return [f"({b}) / ({a})", f"({a}) / ({a} + {b})"]
        case "sum":
            return [f"sum([{some}])", f"mean([{every}])", f"sum([{every}, {items[-1]}])"]
        case "excess":
            return [f"sum([{every}])", f"{items[-1]} - sum([{some}])", f"{a} - ({items[-1]})"]
        case "mean" | "geometric_mean":
            return [f"sum([{every}]) / {count - 1}", f"sum([{every}])"]
        case "sample_deviation" | "population_deviation":
            return [f"pvariance([{every}])", f"stdev([{every}]) / sqrt({count})", f"mean([{every}])"]
        case "trend":
            return [f"({items[-1]} - ({a})) / 2", f"mean([{every}])", f"{items[-1]} - ({a})"]
    return []


def _slips(answer: str) -> Iterator[str]:
    """What comes of a slip in the first digits: two of them exchanged, or one carried too often."""
    sign, digits = ("-", answer[1:]) if answer.startswith("-") else ("", answer)
    if len(digits) > 2 and digits[:2].isdecimal() and digits[0] != digits[1] and digits[1] != "0":
        yield f"{sign}{digits[1]}{digits[0]}{digits[2:]}"
    if digits[0] in "12345678":
        yield f"{sign}{int(digits[0]) + 1}{digits[1:]}"


def _misorderings(question: Question) -> Iterator[_Draft]:
    """The same items in another order."""
    items = _items(question.answer)
    note = f"{_joined(items)} is asked, in this order"
    yield _Draft("misordered", note, None, _joined(items[::-1]))
    yield _Draft("misordered", note, None, _joined([items[1], items[0], *items[2:]]))
    yield _Draft("misordered", note, None, _joined([*items[1:], items[0]]))


# --- The right value in another form than is asked


def _misformings(question: Question, worked: Formula, figures: Sequence[Figure]) -> Iterator[_Draft]:
    """Another unit, the other sign, other decimals: each in the form that is checked (contract 3.21)."""
    right = worked.fill(_values(figures))
    value, gold = computed(right), question.answer
    if value is None:
        return
    asked = f"{question.facts.unit}s of dollars" if question.facts.unit else "percent, or as a ratio"
    expression = _expression(question, worked, figures)
    printed = worked.fill(_values(figures), convert=False)
    raw = computed(printed) if printed != right and len({figure.unit for figure in figures}) == 1 else None
    if raw is not None:
        kept = None if question.facts.operation == "value" else printed
        note = f"{value} is asked in {asked}; the unit of the tables is kept"
        yield _Draft("wrong_unit", note, kept, in_form_of(gold, raw))
    for scale, times in _scales(question, value):
        note = f"{value} is asked ({asked}); {times} is applied to it"
        yield _Draft("wrong_unit", note, f"({right}) {times}", in_form_of(gold, value * scale))
    if value and question.facts.operation not in _UNSIGNED:
        other = gold[1:] if gold.startswith("-") else f"-{gold}"
        yield _Draft("wrong_sign", f"{gold} is asked", expression, other)
    whole = value.to_integral_value()
    if whole and whole != value:
        note = f"{gold} is asked; it is rounded to whole ones"
        yield _Draft("wrong_decimals", note, expression, in_form_of(gold, whole))


def _scales(question: Question, value: Decimal) -> Iterator[tuple[Decimal, str]]:
    """By what a value may be scaled for want of a look at the unit asked."""
    if question.facts.operation in ("share", "percent_change"):
        yield Decimal("0.01"), "/ 100"
    elif question.facts.operation == "ratio":
        yield Decimal(100), "* 100"
    else:
        yield Decimal(1000), "* 1000"
        if abs(value) >= 1000:
            yield Decimal("0.001"), "/ 1000"


def _list_misformings(question: Question) -> Iterator[_Draft]:
    """A list in another unit or with other signs."""
    if question.facts.operation == "ranking":
        return
    items = _items(question.answer)
    numbers = [Decimal(item) for item in items]
    scaled = _joined([in_form_of(item, number * 1000) for item, number in zip(items, numbers, strict=True)])
    yield _Draft("wrong_unit", "the items are given in a thousandth of the unit asked", None, scaled)
    signs = _joined([in_form_of(item, -number) for item, number in zip(items, numbers, strict=True)])
    yield _Draft("wrong_sign", f"{question.answer} is asked", None, signs)
