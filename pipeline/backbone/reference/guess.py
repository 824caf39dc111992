"""The way to an answer that no table gives: search, read, keep the nearest statement, answer from it.

A letter is the option that a statement supports best, free text the nearest statements, a number (or a list
of them) what the nearest statement with numbers says. It is told as a hypothesis, for that is what it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from pipeline.backbone.reference import replies
from pipeline.backbone.reference.answer import rounded
from pipeline.backbone.reference.conversation import Conversation
from pipeline.backbone.reference.forms import Form, list_length
from pipeline.backbone.reference.nearest import (
    Statement,
    choose,
    nearest,
    options,
    statements,
    without_options,
)
from pipeline.backbone.reference.reading import Text
from pipeline.backbone.reference.replies import Operation
from pipeline.backbone.reference.subjects import search_words

LONGEST_QUERY = 60  # words
READ = 8  # passages
OPENING = 2_000  # code points
TOLD = 3  # statements in a free text


@dataclass(frozen=True)
class Guess:
    """What was searched and read so far, and the answer that it suggests."""

    conversation: Conversation
    form: Form
    decimals: int | None
    texts: tuple[Text, ...]

    def step(self) -> tuple[str, Operation]:
        """The next operation of an episode that looks for no table."""
        return self._search() or self._read() or self.close()

    def close(self) -> tuple[str, Operation]:
        """Keep what comes nearest, then answer."""
        return self._open() or self._admit() or self._final()

    @property
    def claims(self) -> list[tuple[str, str]]:
        """What is guessed, with its evidence."""
        active = {statement: evidence for evidence, statement in self.conversation.active.items()}
        return [(each.text, active[_told(each)]) for each in self._nearest if _told(each) in active]

    def _queries(self) -> list[Operation]:
        question = self.conversation.question
        asked = _cut(search_words(without_options(question)))
        offered = _cut(" ".join(options(question).values()))
        return [replies.search(each, top_k=20) for each in (asked, offered) if each]

    def _search(self) -> tuple[str, Operation] | None:
        if not self.conversation.budget.searches:
            return None
        owed = [each for each in self._queries() if self.conversation.sent(each) is None]
        return ("Look for passages on the question.", owed[0]) if owed else None

    def _read(self) -> tuple[str, Operation] | None:
        turns = (self.conversation.sent(each) for each in self._queries())
        found = [turn.observation.hits for turn in turns if turn]
        passages = [hits[rank].passage for rank in range(READ) for hits in found if rank < len(hits)]
        operation = replies.read([{"passage": each} for each in list(dict.fromkeys(passages))[:READ]])
        if not passages or not self.conversation.budget.read_tokens or self.conversation.sent(operation):
            return None
        return "Read the passages nearest to the question.", operation

    def _open(self) -> tuple[str, Operation] | None:
        """Read how the first document begins where nothing was read: an answer cites something."""
        if self.texts or not self.conversation.budget.read_tokens or not self.conversation.documents:
            return None
        operation = replies.read([{"document": self.conversation.documents[0], "start": 0, "end": OPENING}])
        return (
            None if self.conversation.sent(operation) else ("No passage has the words asked for.", operation)
        )

    @cached_property
    def _among(self) -> list[Statement]:
        return statements(self.texts)

    @cached_property
    def _chosen(self) -> tuple[str, Statement | None]:
        return choose(self.conversation.question, self._among)

    @cached_property
    def _nearest(self) -> Sequence[Statement]:
        """The statements that the answer rests on."""
        if self.form == "letter" and self._chosen[1]:
            return [self._chosen[1]]
        among = nearest(without_options(self.conversation.question), self._among)
        if self.form == "text":
            return among[:TOLD]
        return [each for each in among if each.numbers][:1] or among[:1]

    def _admit(self) -> tuple[str, Operation] | None:
        if not self.conversation.operations.evidence or not self._nearest:
            return None
        operation = replies.upsert([(_told(each), [each.source]) for each in self._nearest])
        if self.conversation.sent(operation):
            return None
        return "Keep what comes nearest to the question.", operation

    def _final(self) -> tuple[str, Operation]:
        if self.conversation.operations.evidence:
            ids = [evidence for _, evidence in self.claims] or list(self.conversation.active)[-1:]
            return "Answer with what comes nearest.", replies.final(self._answer(), {"evidence": ids})
        sources = list(dict.fromkeys(each.source for each in self._nearest))
        return "Answer with what comes nearest.", replies.final(self._answer(), {"sources": sources})

    def _answer(self) -> str:
        if self.form == "letter":
            return self._chosen[0]
        if self.form == "text":
            return " ".join(each.text for each in self._nearest) or "Nothing was found."
        numbers = [n for each in self._nearest for n in each.numbers] or ["0"]
        if self.form == "number":
            return rounded(numbers[0], self.decimals)
        count = list_length(self.conversation.answer_format) or len(numbers)
        shown = (numbers * count)[:count]
        return f"[{', '.join(rounded(each, self.decimals) for each in shown)}]"


def _told(each: Statement) -> str:
    return f"Nearest to the question, {each.document} says: {each.text}"


def _cut(query: str) -> str:
    return " ".join(query.split()[:LONGEST_QUERY])
