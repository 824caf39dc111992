"""A trajectory, apart from any arm: what an agent thought and did, step by step.

Statements are numbered from 0, in the order in which `Note` and `Revise` make them. An arm's transcript form
is a rendering of this: replies of a harness, commands of a shell, blocks of a REPL, one prompt.
"""

from __future__ import annotations

from dataclasses import dataclass

MOST_READ = 16_000
"""Characters of one step's reads: no arm, whatever its limit, shows less of them."""


@dataclass(frozen=True, order=True)
class Range:
    """Code points `start:end` of a document."""

    document: str
    start: int
    end: int

    @property
    def length(self) -> int:
        """How many code points it has."""
        return self.end - self.start


@dataclass(frozen=True)
class Search:
    """Looks for passages among `documents` (ids). `goal` says in a few words what is looked for."""

    query: str
    documents: tuple[str, ...]
    top_k: int


@dataclass(frozen=True)
class Read:
    """Reads ranges, each from a table's title to its last row, or a paragraph."""

    ranges: tuple[Range, ...]


@dataclass(frozen=True)
class Statement:
    """What is taken from ranges that were read."""

    text: str
    ranges: tuple[Range, ...]


@dataclass(frozen=True)
class Note:
    """Keeps statements as evidence."""

    statements: tuple[Statement, ...]


@dataclass(frozen=True)
class Revise:
    """Puts a statement in the place of statement `old`."""

    old: int
    new: Statement


@dataclass(frozen=True)
class Compute:
    """Evaluates an expression of the runtime's language (contract 3.19) on figures of `statements`."""

    expression: str
    statements: tuple[int, ...]


@dataclass(frozen=True)
class Answer:
    """The answer, and the statements that it rests on."""

    text: str
    statements: tuple[int, ...]


Act = Search | Read | Note | Revise | Compute | Answer


@dataclass(frozen=True)
class Belief:
    """What is held to be so, with the statements behind it, and what is still to be found out."""

    established: tuple[tuple[str, tuple[int, ...]], ...] = ()
    unresolved: tuple[str, ...] = ()


@dataclass(frozen=True)
class Step:
    """One step: the thought before it, the act, and what is believed with it."""

    thought: str
    act: Act
    belief: Belief | None = None


@dataclass(frozen=True)
class Trajectory:
    """The whole of an episode. The last step answers."""

    task: str
    question: str
    steps: tuple[Step, ...]

    @property
    def answer(self) -> Answer:
        """How it ends."""
        last = self.steps[-1].act
        assert isinstance(last, Answer)
        return last

    @property
    def read(self) -> frozenset[Range]:
        """All that was read."""
        return frozenset(
            where for step in self.steps if isinstance(step.act, Read) for where in step.act.ranges
        )
