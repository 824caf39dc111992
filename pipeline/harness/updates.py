"""The update beside an operation: merged at once, deferred, or refused (contract 2.3, 2.4, 2.5)."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

from pipeline.harness.conclusions import CODE, Conclusion, check_references, read_update
from pipeline.harness.environment import Environment, Event
from pipeline.harness.forms import Sent, shown
from pipeline.harness.operations import BatchRevise, ConclusionUpdate, Revise, Upsert
from pipeline.harness.state import State
from pipeline.harness.turn import Fault

_EDITING = (Upsert, Revise, BatchRevise)  # a conclusion that comes with one is deferred (contract 2.4)


@dataclass(frozen=True)
class Update:
    """What became of an update: the state after it, and what the observation says before all else."""

    state: State
    error: Fault | None = None
    line: str | None = None
    warnings: tuple[Fault, ...] = ()
    events: tuple[Event, ...] = ()
    merged: ConclusionUpdate | None = None


def update(environment: Environment, state: State, sent: Sent) -> Update:
    """Apply the update that came with a well-formed operation, which has yet to be executed."""
    if sent.notes is not None:
        return _notes(state, sent)
    if sent.conclusion is not None and state.conclusion is not None:
        return _conclusion(environment, state, state.conclusion, sent)
    return Update(state)


def _conclusion(environment: Environment, state: State, before: Conclusion, sent: Sent) -> Update:
    read = read_update(sent.conclusion, state.evidence)
    if isinstance(read, Fault):
        return _refused(state, read)
    if isinstance(sent.operation, _EDITING):
        return _deferred(state, sent.conclusion)
    fault, flags = check_references(read, state.evidence, environment.config.conclusion_refs)
    if fault:
        return _refused(state, fault)
    given = [name for name in ConclusionUpdate.model_fields if getattr(read, name) is not None]
    event = {"event": "conclusion_merged", "lists": given}
    after = replace(state, conclusion=before.merge(read))
    return Update(after, warnings=flags, events=(event,), merged=read)


def _notes(state: State, sent: Sent) -> Update:
    if not isinstance(sent.notes, str):
        return _refused(state, Fault(CODE, f'notes must be a string, not {shown(sent.notes)}: "notes": "…"'))
    if isinstance(sent.operation, _EDITING):
        return _deferred(state, sent.notes)
    event = {"event": "conclusion_merged", "lists": ["notes"]}
    return Update(replace(state, notes=sent.notes), events=(event,))


def _refused(state: State, fault: Fault) -> Update:
    return Update(state, fault, f"{fault.code}: {fault.message}")


def _deferred(state: State, sent: object) -> Update:
    """Keep an update from being merged, and repeat it, so that it can be sent again (contract 2.4)."""
    repeated = json.dumps(sent, ensure_ascii=False)
    line = f"deferred: not merged; see what was admitted, then send it again as it should be now: {repeated}"
    return Update(state, line=line, events=({"event": "conclusion_deferred"},))
