"""What to do next: a function of one conversation, by rules; not a language model.

In turn: find the table (searches steered by the gaps, reads of what they found) → upsert one statement a
figure → look for other prints and errata notes → revise what they changed (upsert it, where there is no
revise) → compute over the statements → answer. A conclusion update goes with the first operation after the
admission of evidence was seen. What it can't find ends with "unable to determine"; where the answer's form
does not admit that, and for letters and free text, with what comes nearest to the question (`guess`). When
that is refused, it gives up: the server refuses, as a model's provider may.

**The conflict rule**, the same in all variants: when active statements give different values for one figure,
the one from the latest-dated document wins, and of one document an errata note wins over its tables; when the
question asks for the first reported figure, the earliest-dated one wins; when it names an issue, only that
issue's count. From this follows that `append_only`, which keeps superseded statements active, answers as
`full` does: the rule resolves what a revision would have. Differences between variants in its answers show
wiring alone, and it says nothing on what the method gains a model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.backbone.reference import replies
from pipeline.backbone.reference.answer import UNKNOWN, expression, places, wording
from pipeline.backbone.reference.conversation import Conversation
from pipeline.backbone.reference.facts import Fact, Findings, find
from pipeline.backbone.reference.forms import form
from pipeline.backbone.reference.gathering import Gathering
from pipeline.backbone.reference.guess import Guess
from pipeline.backbone.reference.question import Question, read_question
from pipeline.backbone.reference.reading import Text, stitch
from pipeline.backbone.reference.replies import Operation, Reply
from pipeline.backbone.reference.subjects import search_words

BATCH = 40  # statements in one upsert
REMINDED = "unresolved items are open"  # a final that is refused for these may be sent again
LAST_TURNS = 4  # turns kept to answer with what there is


def next_reply(conversation: Conversation) -> Reply | None:
    """The policy's reply to a request; None when it gives up. The same request gives the same reply."""
    question = read_question(conversation.question, conversation.answer_format)
    texts = stitch(served for turn in conversation.turns for served in turn.observation.served)
    guess = Guess(conversation, form(conversation.answer_format), question.decimals, texts)
    refused = _refused(conversation)
    by_table = guess.form not in ("letter", "text") and not refused
    findings = find(question, texts) if by_table else Findings()
    episode = _Episode(conversation, question, texts, findings, guess)
    thought, operation = episode.step() if by_table else guess.close() if refused else guess.step()
    if operation.get("answer") in refused:
        return None  # it would only send the same answer again, until the turns run out
    if operation["name"] == "evidence":
        return Reply(thought, operation)
    conclusion, notes = episode.update(closing=operation["name"] == "final")
    return Reply(thought, operation, conclusion, notes)


def _refused(conversation: Conversation) -> list[str]:
    """The answers that were not accepted, for more than a reminder."""
    finals = [turn for turn in conversation.turns if turn.operation.get("name") == "final"]
    return [
        turn.operation["answer"]
        for turn in finals
        if not turn.observation.valid and REMINDED not in turn.observation.summary
    ]


@dataclass(frozen=True)
class _Episode:
    conversation: Conversation
    question: Question
    texts: tuple[Text, ...]
    findings: Findings
    guess: Guess

    def step(self) -> tuple[str, Operation]:
        gathering = Gathering(self.question, self.conversation, self.findings)
        hurried = self.conversation.budget.turns <= LAST_TURNS
        return (
            (None if hurried else gathering.find())
            or self._admit()
            or (None if hurried else gathering.verify())
            or self._admit_changes()
            or self._compute()
            or self._final()
        )

    # ---- evidence

    def _sources(self, fact: Fact) -> tuple[str, ...]:
        """The sources that cover where a fact stands."""
        start = fact.ranges[0][0]
        texts = [t for t in self.texts if t.document == fact.document and t.start <= start < t.end]
        return texts[0].sources(*fact.ranges)

    def _ids(self) -> dict[str, str]:
        """Active evidence by statement (the newest of equal ones)."""
        return {statement: evidence for evidence, statement in self.conversation.active.items()}

    def _spent(self) -> set[str]:
        """Statements that were sent and are not active (refused, or superseded): not to be sent again."""
        sent: set[str] = set()
        for turn in self.conversation.turns:
            sent.update(item["statement"] for item in turn.operation.get("upsert") or [])
            if revision := turn.operation.get("revise"):
                sent.add(revision["replacement"]["statement"])
        return sent - set(self.conversation.active.values())

    def _known(self, number: int) -> list[Fact]:
        """The facts of a figure in order of preference, best last; an issue's own tables before all else."""
        operand = self.findings.operands[number]
        facts = self.findings.of(number)
        if operand.issue or operand.vintage == "first":
            facts = [fact for fact in facts if not fact.correction]
        return facts[::-1] if operand.vintage == "first" else facts

    def _held(self, number: int) -> Fact | None:
        """The fact that stands for a figure, by the conflict rule, among those in evidence."""
        facts = self._known(number)
        if self.conversation.operations.evidence:
            active = self._ids()
            facts = [fact for fact in facts if fact.statement in active]
        return facts[-1] if facts else None

    def _pending(self) -> list[tuple[Fact, Fact | None]]:
        """Facts to be put into evidence, each with the active one that it replaces."""
        if not self.conversation.operations.evidence:
            return []
        spent, pending = self._spent(), {}
        for number in range(len(self.findings.operands)):
            known, held = self._known(number), self._held(number)
            if not known or known[-1].statement in spent:
                continue
            if held is None or held.amount != known[-1].amount:
                pending[known[-1].statement] = (known[-1], held)
        return list(pending.values())

    def _admit(self) -> tuple[str, Operation] | None:
        """Put figures into evidence of which there is none yet."""
        new = [fact for fact, held in self._pending() if held is None][:BATCH]
        if not new:
            return None
        return "Keep what the tables say, one statement a figure.", replies.upsert(
            [(f.statement, self._sources(f)) for f in new]
        )

    def _admit_changes(self) -> tuple[str, Operation] | None:
        """Bring in what a later print or an errata note changed."""
        for fact, held in self._pending():
            if held is None:
                continue
            why = f"{fact.document} gives {fact.figure.text} where {held.document} gave {held.figure.text}."
            if self.conversation.operations.revise and len(self.question.prints) == 1:
                return why, replies.revise(self._ids()[held.statement], fact.statement, self._sources(fact))
            return why, replies.upsert([(fact.statement, self._sources(fact))])
        return self._admit_something()

    def _admit_something(self) -> tuple[str, Operation] | None:
        """Without any figure, state what was read, so that the answer can cite it."""
        if self.guess.form != "line":
            return None
        if not self.conversation.operations.evidence or self.conversation.active or not self.texts:
            return None
        text = self.texts[0]
        statement = f"{text.document} was read and does not give the figure asked for."
        if statement in self._spent():
            return None
        return "The figure was not found: say so.", replies.upsert([(statement, [text.served[0].source])])

    # ---- compute and final

    def _facts(self) -> list[Fact]:
        """The facts that stand for the figures asked for; empty if any is missing: a part is no answer."""
        held = [self._held(number) for number in range(len(self.findings.operands))]
        facts = [fact for fact in held if fact]
        return facts if len(facts) == len(held) else []

    def _cited(self, facts: Sequence[Fact]) -> Mapping[str, list[str]]:
        if self.conversation.operations.evidence:
            active = self._ids()
            ids = [active[fact.statement] for fact in facts] or list(self.conversation.active)[:1]
            return {"evidence": list(dict.fromkeys(ids))}
        sources = [source for fact in facts for source in self._sources(fact)] or [
            t.served[0].source for t in self.texts[:1]
        ]
        return {"sources": list(dict.fromkeys(sources))}

    def _computed(self, operation: Operation) -> str | None:
        """The value of a compute that was done already; empty if it was refused."""
        for turn in reversed(self.conversation.turns):
            if turn.operation.get("expression") == operation["expression"]:
                return turn.observation.value if turn.observation.valid else ""
        return None

    def _computing(self, facts: Sequence[Fact]) -> Operation | None:
        """The computation of the answer; `None` where a figure as printed is the answer."""
        formula = expression(self.question, self.findings.operands, facts)
        if formula is None:
            return None
        return replies.compute(formula, self._cited(facts), places(self.question, facts))

    def _compute(self) -> tuple[str, Operation] | None:
        facts = self._facts()
        operation = self._computing(facts) if facts else None
        if operation is None or self._computed(operation) is not None:
            return None
        return "Compute the answer from the statements.", operation

    def _answer(self, facts: Sequence[Fact]) -> str:
        if not facts:
            return UNKNOWN
        operation = self._computing(facts)
        value = self._computed(operation) if operation else None
        return UNKNOWN if value == "" else wording(self.question, self.findings.operands, facts, value)

    def _final(self) -> tuple[str, Operation]:
        """The answer, or that there is none."""
        facts = self._facts()
        answer = self._answer(facts)
        if answer == UNKNOWN and self.guess.form != "line":
            return self.guess.close()
        thought = "Nothing more is to be found." if answer == UNKNOWN else "All figures are in evidence."
        return thought, replies.final(answer, self._cited(facts))

    # ---- conclusion

    def update(self, closing: bool) -> tuple[Mapping[str, Any] | None, str | None]:
        """The conclusion or the notes, sent when new: at first, after evidence was seen, and at the close."""
        turns, able = self.conversation.turns, self.conversation.operations
        if turns and turns[-1].operation.get("name") != "evidence" and not closing:
            return None, None
        established, guessed = self._claims(), self.guess.claims if closing and not self._facts() else []
        gaps = [] if guessed else self._gaps()
        if able.notes:
            kept = [f"- {claim} [{evidence}]" for claim, evidence in (*established, *guessed)]
            return None, "\n".join(["Established:", *kept, "Open:", *(f"- {gap}" for gap in gaps)])
        if not able.conclusion:
            return None, None
        return replies.concluded(established, guessed, gaps), None

    def _claims(self) -> list[tuple[str, str]]:
        active = self._ids()
        held = [self._held(number) for number in range(len(self.findings.operands))]
        facts = list(dict.fromkeys(fact for fact in held if fact and fact.statement in active))
        return [
            (f"{f.label}{f' for {f.period}' if f.period else ''} is {f.figure.text}", active[f.statement])
            for f in facts
        ]

    def _gaps(self) -> list[str]:
        if not self.findings.operands:
            return [f"what gives: {search_words(self.question.text)}"]
        missing = [o for n, o in enumerate(self.findings.operands) if not self._held(n)]
        gaps = [f"the figure for {operand.period or 'the period asked for'}" for operand in missing]
        open_prints = not any(operand.issue for operand in self.findings.operands)
        if (
            open_prints
            and self.conversation.turns
            and Gathering(self.question, self.conversation, self.findings).verify()
        ):
            gaps.append("whether a later issue or an errata note gives another figure")
        return gaps
