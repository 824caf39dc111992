"""Editing: upsert and revise, what becomes of the EvidenceBank (contract 3.10 to 3.17, 7.6)."""

from __future__ import annotations

from collections.abc import Mapping
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


def upsert(environment: Environment, state: State, operation: Upsert) -> Effect:
    """Admit statements, each validated on its own."""
    bank, items, lines = state.evidence, list[Mapping[str, Any]](), list[str]()
    events, warnings = list[Event](), list[Fault]()
    for index, sent in enumerate(operation.upsert):
        try:
            statement = validate(Statement, sent, "the item")
            state.sources.require(statement.sources)
            found = checks.grounding(environment, state, statement)
        except InvalidOperation as refusal:
            fault = Fault(refusal.code, refusal.message)
            items.append({"index": index, "id": None, "error": fault.as_json()})
            lines.append(observation.refused(fault))
            events.append({"event": "evidence_refused", "index": index, "code": fault.code})
            continue
        bank, entry = bank.admit(statement.statement, statement.sources, state.turn)
        items.append({"index": index, "id": entry.id, "error": None})
        lines.append(f"{entry.id}{found.line}")
        events.append(_admitted(entry))
        warnings += found.warnings
    after = replace(state, evidence=bank)
    return Effect(after, observation.upsert(lines), {"items": items}, tuple(events), tuple(warnings))


def revise(environment: Environment, state: State, operation: Revise) -> Effect:
    """Supersede or retract one active entry; a refused replacement makes the turn invalid (contract 3.15)."""
    done = _revised(environment, state, operation.revise)
    told = observation.revise(done.line, done.affected)
    return Effect(done.state, told, done.result, done.events, done.warnings)


def revise_batch(environment: Environment, state: State, operation: BatchRevise) -> Effect:
    """Revise several entries, each item validated on its own, in order (contract 7.6)."""
    items, lines, affected = list[Mapping[str, Any]](), list[str](), list[str]()
    events, warnings = list[Event](), list[Fault]()
    for index, sent in enumerate(operation.revise):
        try:
            done = _revised(environment, state, validate(Revision, sent, "the item"))
        except InvalidOperation as refusal:
            fault = Fault(refusal.code, refusal.message)
            items.append(
                {"index": index, "id": None, "new_id": None, "status": None, "error": fault.as_json()}
            )
            lines.append(observation.refused(fault))
            events.append({"event": "evidence_refused", "index": index, "code": fault.code})
            continue
        state = done.state
        items.append({"index": index, **done.result, "error": None})
        lines.append(done.line)
        affected += done.affected
        events += done.events
        warnings += done.warnings
    told = observation.revise_batch(lines, affected)
    return Effect(state, told, {"items": items}, tuple(events), tuple(warnings))


def _admitted(entry: Entry) -> Event:
    return {
        "event": "evidence_admitted",
        "id": entry.id,
        "statement": entry.statement,
        "sources": list(entry.sources),
    }


@dataclass(frozen=True)
class _Revised:
    """What one revision leads to; `affected` are lines about the claims that cite the old entry."""

    state: State
    result: Mapping[str, Any]
    line: str
    affected: tuple[str, ...]
    events: tuple[Event, ...]
    warnings: tuple[Fault, ...]


def _revised(environment: Environment, state: State, revision: Revision) -> _Revised:
    old, bank = revision.id, state.evidence
    bank.require(old)
    found, new_id = checks.Found(), None
    events: list[Event] = []
    if revision.replacement:
        state.sources.require(revision.replacement.sources)
        found = checks.grounding(environment, state, revision.replacement)
        bank, new = bank.admit(revision.replacement.statement, revision.replacement.sources, state.turn)
        new_id = new.id
        events.append(_admitted(new))
    bank = bank.retire(old, state.turn, new_id)
    status = "superseded" if new_id else "retracted"
    events.append({"event": f"evidence_{status}", "id": old, "superseded_by": new_id})
    affected = state.conclusion.citing(old) if state.conclusion else ()
    events += [
        {"event": "claim_affected", "list": name, "index": index, "evidence": old}
        for name, index, _ in affected
    ]
    return _Revised(
        replace(state, evidence=bank),
        {"id": old, "new_id": new_id, "status": status},
        f"{old} superseded by {new_id}{found.line}" if new_id else f"{old} retracted",
        observation.affected(old, affected),
        tuple(events),
        found.warnings,
    )
