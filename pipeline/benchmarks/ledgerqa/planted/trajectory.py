"""From a plant to the steps of its episode: search, read, keep, compute, answer, as an agent would go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from pipeline.benchmarks.ledgerqa.planted import wording
from pipeline.benchmarks.ledgerqa.planted.faults import Fault, Plant
from pipeline.benchmarks.ledgerqa.planted.figures import Figure, overlap
from pipeline.benchmarks.ledgerqa.planted.steps import (
    MOST_READ,
    Act,
    Answer,
    Belief,
    Compute,
    Note,
    Range,
    Read,
    Revise,
    Search,
    Statement,
    Step,
    Trajectory,
)
from pipeline.benchmarks.ledgerqa.planted.tables import Tables
from pipeline.benchmarks.ledgerqa.streams import Stream

_DOCUMENTS = 3  # that one search is about: of so many the harness lists the tables
_TOP = (8, 5, 3, 1)

Group = tuple[Figure, ...]
"""Figures that are read in one range."""


def trajectory(plant: Plant, tables: Tables, choice: Stream) -> Trajectory | None:
    """The steps of a plant's episode; `choice` draws its course and its words.

    None where `unread` can't be had: whatever is searched for shows a figure of the gold in a snippet.
    """
    steps = _Course(plant, tables, choice).steps()
    return None if steps is None else Trajectory(plant.question.id, plant.question.task.view.question, steps)


def groups(figures: Sequence[Figure]) -> list[Group]:
    """Figures by the range that shows them, in the order of documents."""
    ordered = sorted(figures, key=lambda figure: figure.where)
    return [tuple(found) for _, found in groupby(ordered, key=lambda figure: figure.where)]


@dataclass
class _Course:
    """An episode in the making."""

    plant: Plant
    tables: Tables
    choice: Stream
    made: list[Step] = field(default_factory=list)
    statements: list[Group] = field(default_factory=list)
    active: list[int] = field(default_factory=list)

    def steps(self) -> tuple[Step, ...] | None:
        """All steps, or None if a search would show what is not to be seen."""
        self.style = self.choice.pick(wording.STATEMENTS)
        used, besides = groups(self.plant.figures), groups(self.plant.besides)
        self._broad()
        replaced = self._replaced(used, besides)
        first, second = (besides, used) if replaced is not None else (used, besides)
        if not self._retrieve(first, wording.LOOK, wording.READ):
            return None
        self._note(first)
        if second:
            if not self._retrieve(second, wording.OTHERS, wording.READ_AGAIN):
                return None
            if replaced is not None:
                self._replace(second, replaced)
        self._finish(stayed=bool(second) and replaced is None)
        return tuple(self.made)

    def _replaced(self, used: Sequence[Group], besides: Sequence[Group]) -> int | None:
        """Which of the used groups takes the place of what was kept first; None if nothing is replaced."""
        if len(besides) != 1 or (self.plant.fault is Fault.stale and self.choice.chance(50)):
            return None
        names = {figure.name for figure in besides[0]}
        fit = [at for at, group in enumerate(used) if names <= {figure.name for figure in group}]
        return fit[0] if fit else None

    def _broad(self) -> None:
        """Now and then, a search over all documents comes first."""
        if not self.choice.chance(50):
            return
        search = Search(wording.query(self.plant.figures, full=True), (), 5)
        if not self._shows_gold(search):
            gap = self._worded(wording.GAPS, what=wording.subject(self.plant.figures))
            self._add(self.choice.pick(wording.FIRST), search, Belief(unresolved=(gap,)))

    def _retrieve(self, found: Sequence[Group], look: Sequence[str], read: Sequence[str]) -> bool:
        """Search for groups and read them, some documents at a time."""
        for batch in _batches(found):
            documents = tuple(dict.fromkeys(group[0].where.document for group in batch))
            search = self._search(batch[0], documents)
            if search is None:
                return False
            every = [figure for group in batch for figure in group]
            gaps = wording.GAPS_OTHER if look is wording.OTHERS else wording.GAPS
            gap = self._worded(gaps, what=wording.subject(every))
            thought = self._worded(look, what=wording.subject(every))
            self._add(thought, search, Belief(unresolved=(gap,)))
            self._add(self.choice.pick(read), Read(tuple(group[0].where for group in batch)))
        return True

    def _search(self, group: Group, documents: tuple[str, ...]) -> Search | None:
        """A search for a group; for `unread`, one whose snippets show no figure of the gold."""
        full = self.choice.chance(50)
        for words in (full, not full):
            for top in _TOP:
                search = Search(wording.query(group, words), documents, top)
                if not self._shows_gold(search):
                    return search
        return None

    def _shows_gold(self, search: Search) -> bool:
        if self.plant.fault is not Fault.unread:
            return False
        result = self.tables.corpus.search(search.query, documents=search.documents, top_k=search.top_k)
        spans = list(self.plant.question.gold_spans())
        return any(
            overlap(Range(hit.document, hit.start, hit.end), span) and span.quote in hit.snippet
            for hit in result.hits
            for span in spans
        )

    def _note(self, found: Sequence[Group]) -> None:
        self._add(self.choice.pick(wording.KEEP), Note(tuple(self._statement(group) for group in found)))
        for group in found:
            self._number(group)

    def _replace(self, used: Sequence[Group], at: int) -> None:
        """Put the used group `at` in the place of statement 0, and keep the others."""
        self._add(self.choice.pick(wording.CHANGE), Revise(0, self._statement(used[at])))
        self._number(used[at])
        self.active.remove(0)
        if others := [group for number, group in enumerate(used) if number != at]:
            self._note(others)

    def _statement(self, group: Group) -> Statement:
        return Statement(wording.statement(group, self.style), (group[0].where,))

    def _number(self, group: Group) -> None:
        self.active.append(len(self.statements))
        self.statements.append(group)

    def _finish(self, stayed: bool) -> None:
        plant, rests = self.plant, tuple(self.active)
        claim = self._worded(wording.CLAIMS, what=wording.subject(plant.figures))
        belief = Belief(established=((claim, rests),))
        before = f"{self.choice.pick(wording.STAY)} " if stayed else ""
        if plant.expression is not None:
            thought = f"{before}{self.choice.pick(wording.COMPUTE)}"
            self._add(thought, Compute(plant.expression, rests), belief)
            thought = self._worded(wording.FROM_VALUE, answer=plant.answer)
        else:
            said = wording.DIRECT if len(plant.figures) == 1 else wording.BY_HEAD
            thought = f"{before}{self._worded(said, answer=plant.answer)}"
        self._add(thought, Answer(plant.answer, rests), belief if plant.expression is None else None)

    def _worded(self, ways: Sequence[str], **words: str) -> str:
        said = self.choice.pick(ways).format(**words)
        return f"{said[0].upper()}{said[1:]}"

    def _add(self, thought: str, act: Act, belief: Belief | None = None) -> None:
        self.made.append(Step(thought, act, belief))


def _batches(found: Sequence[Group]) -> Iterator[list[Group]]:
    """Groups of so many documents that one search is about them, and so long that one step reads them."""
    batch: list[Group] = []
    for group in found:
        more = [*batch, group]
        documents = {each[0].where.document for each in more}
        length = sum(each[0].where.length for each in more)
        if batch and (len(documents) > _DOCUMENTS or length > MOST_READ):
            yield batch
            more = [group]
        batch = more
    if batch:
        yield batch
