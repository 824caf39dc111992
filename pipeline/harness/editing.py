"""Editing: upsert and revise, what becomes of the EvidenceBank (contract 3.10 to 3.17, 7.6)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pipeline.errors import InvalidOperation
from pipeline.harness import checks, observation
from pipeline.harness.environment import Effect, Environment, Event
from pipeline.harness.evidence import Entry
from pipeline.harness.forms import validate
from pipeline.harness.operations import BatchRevise, Revise, Revision, Statement, Upsert
from pipeline.harness.state import State
from pipeline.harness.turn import Fault


@dataclass(frozen=True)
class _Edited:
    """What one edit leads to: `line` tells of it, and `affected` of the claims that it touches."""

    state: State
    result: Mapping[str, Any]
    line: str
    affected: tuple[str, ...] = ()
    events: tuple[Event, ...] = ()
    warnings: tuple[Fault, ...] = ()


_Edit = Callable[[Environment, State, object], _Edited]


def upsert(environment: Environment, state: State, operation: Upsert) -> Effect:
    """Admit statements, each validated on its own."""
    return _each(environment, state, operation.upsert, _admitted, "admitted")


def revise(environment: Environment, state: State, operation: Revise) -> Effect:
    """Supersede or retract one active entry; a refused replacement makes the turn invalid (contract 3.15)."""
    done = _revised(environment, state, operation.revise)
    told = observation.revise(done.line, done.affected)
    return Effect(done.state, told, done.result, done.events, done.warnings)


def revise_batch(environment: Environment, state: State, operation: BatchRevise) -> Effect:
    """Revise several entries, each item validated on its own, in order (contract 7.6)."""
    return _each(environment, state, operation.revise, _revised, "revised")


def _each(environment: Environment, state: State, sent: Sequence[object], edit: _Edit, verb: str) -> Effect:
    """Edit item by item: what is refused changes nothing, and holds up no other."""
    items, lines, done = list[Mapping[str, Any]](), dict[int, str](), list[_Edited]()
    events, warnings = list[Event](), list[Fault]()
    for index, item in enumerate(sent):
        try:
            edited = edit(environment, state, item)
        except InvalidOperation as refusal:
            fault = Fault(refusal.code, refusal.message)
            nothing = dict.fromkeys(("id", "new_id", "status") if verb == "revised" else ("id",))
            items.append({"index": index, **nothing, "error": fault.as_json()})
            lines[index] = f"refused: {fault.code}: {fault.message}"
            events.append({"event": "evidence_refused", "index": index, "code": fault.code})
            continue
        state = edited.state
        done.append(edited)
        items.append({"index": index, **edited.result, "error": None})
        lines[index] = edited.line
        events += edited.events
        warnings += (replace(each, message=f"item {index}: {each.message}") for each in edited.warnings)
    ids = [str(edited.result["id"]) for edited in done]
    told = observation.batch(verb, lines, ids, [line for edited in done for line in edited.affected])
    return Effect(state, told, {"items": items}, tuple(events), tuple(warnings))


def _admitted(environment: Environment, state: State, sent: object) -> _Edited:
    statement = validate(Statement, sent, "the item")
    state.sources.require(statement.sources)
    found = checks.grounding(environment, state, statement)
    bank, entry = state.evidence.admit(statement.statement, statement.sources, state.turn)
    after, line = replace(state, evidence=bank), f"{entry.id}{found.line}"
    return _Edited(after, {"id": entry.id}, line, (), (_admission(entry),), found.warnings)


def _revised(environment: Environment, state: State, sent: object) -> _Edited:
    revision = sent if isinstance(sent, Revision) else validate(Revision, sent, "the item")
    old, bank = revision.id, state.evidence
    bank.require(old)
    found, new_id = checks.Found(), None
    events: list[Event] = []
    if revision.replacement:
        state.sources.require(revision.replacement.sources)
        found = checks.grounding(environment, state, revision.replacement)
        bank, new = bank.admit(revision.replacement.statement, revision.replacement.sources, state.turn)
        new_id = new.id
        events.append(_admission(new))
    bank = bank.retire(old, state.turn, new_id)
    status = "superseded" if new_id else "retracted"
    events.append({"event": f"evidence_{status}", "id": old, "superseded_by": new_id})
    affected = state.conclusion.citing(old) if state.conclusion else ()
    events += [
        {"event": "claim_affected", "list": name, "index": index, "evidence": old}
        for name, index, _ in affected
    ]
    return _Edited(
        replace(state, evidence=bank),
        {"id": old, "new_id": new_id, "status": status},
        f"{old} superseded by {new_id}{found.line}" if new_id else f"{old} retracted",
        observation.affected(old, affected),
        tuple(events),
        found.warnings,
    )


def _admission(entry: Entry) -> Event:
    return {
        "event": "evidence_admitted",
        "id": entry.id,
        "statement": entry.statement,
        "sources": list(entry.sources),
    }
