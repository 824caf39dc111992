"""One turn: what a reply does to a state (contract, section 2). The runtime's only transition, and pure.

The order of checks is the order of lines in `step`: parse; operation name, fields and types, availability
(`read_response`); references, resources, expression or answer form (`perform`). The first failure is the
turn's error, and an invalid turn leaves all but history, log and turn count as it was.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pipeline.errors import InvalidOperation
from pipeline.harness import observation
from pipeline.harness.actions import Effect, Environment, Event, perform
from pipeline.harness.budget import Budget
from pipeline.harness.conclusions import CODE, Conclusion, check_references, read_update
from pipeline.harness.config import ConclusionForm
from pipeline.harness.forms import Sent, read_response, shown
from pipeline.harness.observation import Notices
from pipeline.harness.operations import NAMES, Revise, Upsert
from pipeline.harness.parse import parse
from pipeline.harness.state import Exchange, State
from pipeline.harness.turn import Fault, Reply, Turn

_FEW_TURNS = 5
_LOST = "The update sent with it was not merged: send it again."


def initial_state(environment: Environment) -> State:
    """Return the state before the first turn (contract, section 1)."""
    form = environment.config.switches.conclusion
    return State(
        Budget(environment.config.budget),
        conclusion=Conclusion() if form is ConclusionForm.structured else None,
        notes="" if form is ConclusionForm.notes else None,
    )


def step(environment: Environment, state: State, reply: Reply) -> Turn:
    """Take one turn. The state must be running; the state after it is the turn's `state`."""
    reply = _well_formed(reply)
    turn = state.turn + 1
    spent = replace(state, budget=state.budget.spend_turn())  # valid or not (contract 4.2)
    response: Mapping[str, Any] = {}
    name: str | None = None
    try:
        response = parse(reply.text)
        name = _known_name(response["operation"].get("name"))
        sent = read_response(response, environment.config.switches)
        effect = perform(environment, spent, sent.operation, turn)
    except InvalidOperation as error:
        error_of_turn = Fault(error.code, error.message)
        return _invalid(environment, spent, reply, name, error_of_turn, lost=_has_update(spent, response))
    return _valid(environment, spent, reply, sent, effect)


def _well_formed(reply: Reply) -> Reply:
    """Replace what no UTF-8 can hold: half surrogate pairs, which a server's JSON may carry."""
    text, reasoning = (
        part and part.encode(errors="replace").decode() for part in (reply.text, reply.reasoning)
    )
    return Reply(text or "", reasoning)


def _known_name(name: object) -> str | None:
    return name if isinstance(name, str) and name in NAMES else None


def _has_update(state: State, response: Mapping[str, Any]) -> bool:
    """Whether a response carries an update that its variant could have merged."""
    field = "conclusion" if state.conclusion is not None else "notes"
    has_one = state.conclusion is not None or state.notes is not None
    return has_one and response.get(field) is not None


def _invalid(
    environment: Environment, state: State, reply: Reply, name: str | None, error: Fault, *, lost: bool
) -> Turn:
    turn = state.turn
    warnings = _few_turns(environment, state)
    said = [_LOST] if lost else []
    told = observation.refusal(turn, error.code, error.message, Notices(after=[*said, *_messages(warnings)]))
    event = {"event": "operation_rejected", "operation": name, "code": error.code}
    after = replace(state, history=state.history.append(Exchange(reply, told)))
    return Turn(turn, name, False, error, None, reply, told, None, (event,), warnings, after, after.sha256)


def _valid(environment: Environment, before: State, reply: Reply, sent: Sent, effect: Effect) -> Turn:
    turn, name = before.turn, sent.operation.name
    update = _update(environment, before, effect.state, sent)
    warnings = (*update.flags, *_few_turns(environment, update.state))
    told = observation.observation(turn, name, effect.told, Notices(update.lines, _messages(warnings)))
    after = replace(update.state, history=update.state.history.append(Exchange(reply, told)))
    log = (*effect.events, *update.events)
    return Turn(
        turn, name, True, None, update.error, reply, told, effect.result, log, warnings, after, after.sha256
    )


@dataclass(frozen=True)
class _Update:
    """What became of the update that came with a valid operation."""

    state: State
    error: Fault | None = None
    lines: tuple[str, ...] = ()
    flags: tuple[Fault, ...] = ()
    events: tuple[Event, ...] = ()


def _update(environment: Environment, before: State, after: State, sent: Sent) -> _Update:
    """Merge, defer or refuse the update beside a valid operation (contract 2.3, 2.4, 2.5)."""
    if sent.notes is not None:
        return _notes(after, sent)
    if sent.conclusion is None or after.conclusion is None:
        return _Update(after)
    update = read_update(sent.conclusion, before.evidence)
    if isinstance(update, Fault):
        return _refused(after, update)
    if isinstance(sent.operation, Upsert | Revise):
        return _deferred(after, sent.conclusion)
    fault, flags = check_references(update, after.evidence, environment.config.conclusion_refs)
    if fault:
        return _refused(after, fault)
    merged = replace(after, conclusion=after.conclusion.merge(update))
    event = {"event": "conclusion_merged", "lists": sorted(update.model_dump(exclude_none=True))}
    return _Update(merged, flags=flags, events=(event,))


def _notes(after: State, sent: Sent) -> _Update:
    if not isinstance(sent.notes, str):
        return _refused(
            after, Fault(CODE, f'notes must be a string, not {shown(sent.notes)}: send "notes": "…"')
        )
    if isinstance(sent.operation, Upsert | Revise):
        return _deferred(after, sent.notes)
    return _Update(
        replace(after, notes=sent.notes), events=({"event": "conclusion_merged", "lists": ["notes"]},)
    )


def _refused(after: State, fault: Fault) -> _Update:
    return _Update(after, fault, (f"{fault.code}: {fault.message}",))


def _deferred(after: State, update: object) -> _Update:
    """Keep an update from being merged, and repeat it, so that it can be sent again (contract 2.4)."""
    repeated = json.dumps(update, ensure_ascii=False)
    line = f"deferred: not merged; see what was admitted, then send it again as it should be now: {repeated}"
    return _Update(after, lines=(line,), events=({"event": "conclusion_deferred"},))


def _few_turns(environment: Environment, state: State) -> tuple[Fault, ...]:
    """Warn when the end is near (contract 2.7)."""
    left = state.budget.turns_left
    if left > _FEW_TURNS:
        return ()
    needs = "read, evidence and final" if environment.config.switches.evidence_bank else "read and final"
    turns = "turn" if left == 1 else "turns"
    return (Fault("few_turns", f"{left} {turns} left: an answer from scratch needs {needs}"),)


def _messages(warnings: Sequence[Fault]) -> list[str]:
    return [f"warning: {warning.message}" for warning in warnings]
