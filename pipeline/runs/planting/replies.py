"""A planted trajectory as replies of a model to the harness, in each variant and action mode."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from pipeline.benchmarks.ledgerqa.planted import Trajectory
from pipeline.benchmarks.ledgerqa.planted.steps import (
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
)
from pipeline.errors import ModelRequestFailed
from pipeline.harness.config import ActionMode, ConclusionForm, SwitchesConfig
from pipeline.protocols import Completion, Message, Request, RequestRecord, ToolCall, Usage

MODEL = "scripted"
_BYTES_A_TOKEN = 4


@dataclass(frozen=True)
class Said:
    """One reply before it is put in an action mode: what is thought, the operation, and what is beside it."""

    thought: str
    operation: dict[str, Any]
    beside: dict[str, Any]


@dataclass
class _Teller:
    """Tells steps as operations of a variant; ids follow the runtime's own counting (contract 1, 3.5)."""

    switches: SwitchesConfig
    sources: dict[Range, str] = field(default_factory=dict)
    statements: list[Statement] = field(default_factory=list)
    before: str = ""

    def tell(self, step: Step) -> Said | None:
        """The step's reply. None if the variant keeps no evidence: what would be kept is thought instead."""
        operation = self._operation(step.act)
        thought = f"{self.before}{step.thought}"
        if operation is None:
            kept = [statement.text for statement in _stated(step.act)]
            self.before = " ".join([thought, *kept, ""])
            return None
        self.before = ""
        return Said(thought, operation, {} if step.belief is None else self._beside(step.belief))

    def _operation(self, act: object) -> dict[str, Any] | None:
        match act:
            case Search(query, documents, top_k):
                chosen = {"documents": list(documents)} if documents else {}
                return {"name": "search", "query": query, **chosen, "top_k": top_k}
            case Read(ranges):
                for where in ranges:
                    self.sources.setdefault(where, f"s{len(self.sources) + 1}")
                return {"name": "read", "locations": [_location(where) for where in ranges]}
            case Note(statements):
                self.statements.extend(statements)
                items = [self._item(statement) for statement in statements]
                return {"name": "evidence", "upsert": items} if self.switches.evidence_bank else None
            case Revise(old, new):
                self.statements.append(new)
                return self._revision(old, new) if self.switches.evidence_bank else None
            case Compute(expression, rests):
                return {"name": "compute", "expression": expression, **self._cited(rests)}
            case Answer(text, rests):
                return {"name": "final", "answer": text, **self._cited(rests)}
        raise TypeError(f"no step of a trajectory: {act!r}")

    def _item(self, statement: Statement) -> dict[str, Any]:
        return {
            "statement": statement.text,
            "sources": [self.sources[where] for where in statement.ranges],
        }

    def _revision(self, old: int, new: Statement) -> dict[str, Any]:
        """A revision; where a variant can't revise, a further entry."""
        if not self.switches.revise:
            return {"name": "evidence", "upsert": [self._item(new)]}
        return {"name": "evidence", "revise": {"id": f"e{old + 1}", "replacement": self._item(new)}}

    def _cited(self, rests: Sequence[int]) -> dict[str, list[str]]:
        if self.switches.evidence_bank:
            return {"evidence": [f"e{number + 1}" for number in rests]}
        ranges = dict.fromkeys(where for number in rests for where in self.statements[number].ranges)
        return {"sources": [self.sources[where] for where in ranges]}

    def _beside(self, belief: Belief) -> dict[str, Any]:
        if self.switches.conclusion is ConclusionForm.none:
            return {}
        claims = [(text, [f"e{number + 1}" for number in rests]) for text, rests in belief.established]
        if self.switches.conclusion is ConclusionForm.notes:
            known = [f"Known: {text} ({', '.join(ids)})" for text, ids in claims]
            return {"notes": "\n".join([*known, *(f"Open: {gap}" for gap in belief.unresolved)])}
        established = [{"claim": text, "evidence": ids} for text, ids in claims]
        lists = {"established": established} if established else {}
        return {"conclusion": {**lists, "unresolved": list(belief.unresolved)}}


def told(trajectory: Trajectory, switches: SwitchesConfig) -> Iterator[Said]:
    """Yield a trajectory's replies in a variant."""
    teller = _Teller(switches)
    for step in trajectory.steps:
        if said := teller.tell(step):
            yield said


def _stated(act: object) -> Sequence[Statement]:
    if isinstance(act, Note):
        return act.statements
    return (act.new,) if isinstance(act, Revise) else ()


def _location(where: Range) -> dict[str, Any]:
    return {"document": where.document, "start": where.start, "end": where.end}


class Scripted:
    """A backbone that says what it is given, and counts tokens by the bytes of what it is sent.

    Of a prompt's tokens those are cached whose messages the one before began with.
    """

    def __init__(self, replies: Sequence[Said], mode: ActionMode) -> None:
        self._replies = list(replies)
        self._mode = mode
        self._last: tuple[Message, ...] = ()
        self._turn = 0

    async def complete(self, request: Request) -> Completion:
        """Return the next reply. Raises `ModelRequestFailed` where there is none left."""
        if self._turn == len(self._replies):
            raise ModelRequestFailed("empty", f"all {self._turn} replies were given and none ended it")
        said = self._replies[self._turn]
        self._turn += 1
        text, calls = _in_mode(said, self._mode, self._turn)
        spoken = text + "".join(call.arguments for call in calls)
        usage = Usage(
            _tokens(request.messages),
            _tokens(_shared(self._last, request.messages)),
            -(-len(spoken.encode()) // _BYTES_A_TOKEN),
        )
        self._last = request.messages
        finish = "tool_calls" if calls else "stop"
        exchange = RequestRecord(MODEL, MODEL, 200, finish, usage, 0.0)
        return Completion(text, None, finish, usage, MODEL, MODEL, 0.0, (exchange,), calls)


def _in_mode(said: Said, mode: ActionMode, turn: int) -> tuple[str, tuple[ToolCall, ...]]:
    """A reply as text, and its native calls: as each action mode has it (contract, section 8)."""
    if mode is ActionMode.tools:
        fields = {name: value for name, value in said.operation.items() if name != "name"}
        arguments = json.dumps({**fields, **said.beside}, ensure_ascii=False)
        return said.thought, (ToolCall(f"call{turn:05}", said.operation["name"], arguments),)
    body = {"operation": said.operation, **said.beside}
    if mode is ActionMode.text:
        return f"{said.thought}\n\n```json\n{json.dumps(body, ensure_ascii=False)}\n```", ()
    return json.dumps({"thought": said.thought, **body}, ensure_ascii=False), ()


def _shared(before: Sequence[Message], after: Sequence[Message]) -> Sequence[Message]:
    """The messages that two prompts begin with alike."""
    alike = 0
    while alike < min(len(before), len(after)) and before[alike] == after[alike]:
        alike += 1
    return after[:alike]


def _tokens(messages: Sequence[Message]) -> int:
    return -(-sum(len(message.encoded) for message in messages) // _BYTES_A_TOKEN)
