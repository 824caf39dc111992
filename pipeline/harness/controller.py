"""One turn: what a reply does to a state (contract, section 2). The runtime's only transition, and pure.

The order of checks is the order of lines in `step`: parse; operation name, fields and types, availability
(`read_response`); references, resources, expression or answer form (`perform`). The first failure is the
turn's error, and an invalid turn leaves all but history, log and turn count as it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pipeline.errors import InvalidOperation
from pipeline.harness import checks, observation
from pipeline.harness.budget import Budget
from pipeline.harness.compaction import compact
from pipeline.harness.conclusions import Conclusion
from pipeline.harness.config import ActionMode, ConclusionForm
from pipeline.harness.editing import revise, revise_batch, upsert
from pipeline.harness.environment import Effect, Environment, Event
from pipeline.harness.forms import read_response
from pipeline.harness.operations import (
    NAMES,
    BatchRevise,
    Compute,
    Final,
    Operation,
    Read,
    Revise,
    Search,
    SourcedCompute,
    SourcedFinal,
    Upsert,
)
from pipeline.harness.parse import SEND, parse
from pipeline.harness.retrieval import read, search
from pipeline.harness.state import Exchange, State
from pipeline.harness.transformation import compute, final
from pipeline.harness.turn import Fault, Reply, Turn
from pipeline.harness.updates import Update, update

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
    spent = replace(state, budget=state.budget.spend_turn())  # valid or not (contract 4.2)
    response: Mapping[str, Any] = {}
    updated: Update | None = None
    try:
        response = parse(reply.text)
        sent = read_response(response, environment.config.switches, environment.extensions.batch_revise)
        # First, so that final is checked against the conclusion that came with it (contract 7.3). Only
        # evidence operations change what an update is checked against, and beside those it is deferred.
        updated = update(environment, spent, sent)
        effect = perform(environment, updated.state, sent.operation)
    except InvalidOperation as error:
        message = error.message
        if environment.config.action.mode is ActionMode.tools:
            message = message.replace(SEND, "call one tool, with one JSON object as its arguments")
        return _invalid(environment, spent, reply, response, updated, Fault(error.code, message))
    return _valid(environment, reply, sent.operation, updated, effect)


def perform(environment: Environment, state: State, operation: Operation) -> Effect:
    """Execute a well-formed operation. Raises `InvalidOperation` if its references or resources don't do."""
    match operation:
        case Search():
            return search(environment, state, operation)
        case Read():
            return read(environment, state, operation)
        case Upsert():
            return upsert(environment, state, operation)
        case Revise():
            return revise(environment, state, operation)
        case BatchRevise():
            return revise_batch(environment, state, operation)
        case Compute() | SourcedCompute():
            return compute(environment, state, operation)
        case Final() | SourcedFinal():
            return final(environment, state, operation)


def _well_formed(reply: Reply) -> Reply:
    """Replace what no UTF-8 can hold: half surrogate pairs, which a server's JSON may carry."""
    reasoning = reply.reasoning and reply.reasoning.encode(errors="replace").decode()
    return Reply(reply.text.encode(errors="replace").decode(), reasoning)


def _invalid(
    environment: Environment,
    spent: State,
    reply: Reply,
    response: Mapping[str, Any],
    updated: Update | None,
    error: Fault,
) -> Turn:
    name = response["operation"].get("name") if response else None
    operation = name if isinstance(name, str) and name in NAMES else None
    warnings = _few_turns(environment, spent)
    faulty = updated.error if updated else None
    lost = [updated.line] if updated and faulty and updated.line else [_LOST]
    after = lost if _has_update(spent, response) else []
    told, stub = observation.refusal(spent.turn, error, [*after, *_messages(warnings)])
    state, events = _remember(environment, spent, Exchange(reply, told, stub, error))
    rejected = {"event": "operation_rejected", "operation": operation, "code": error.code}
    return Turn(operation, state, (rejected, *events), error, faulty, warnings=warnings)


def _valid(
    environment: Environment, reply: Reply, operation: Operation, updated: Update, effect: Effect
) -> Turn:
    # After the deed: a claim may state what the compute that it came with gave.
    claimed = checks.claims(environment, effect.state, updated.merged) if updated.merged else ()
    warned = (*effect.warnings, *updated.warnings, *claimed)
    warnings = (*warned, *_few_turns(environment, effect.state))
    told = observation.acceptance(
        effect.state.turn, operation.name, effect.told, updated.line, _messages(warnings)
    )
    state, events = _remember(environment, effect.state, Exchange(reply, *told))
    log = (*effect.events, *updated.events, *map(_warned, warned), *events)
    return Turn(operation.name, state, log, None, updated.error, effect.result, warnings)


def _remember(environment: Environment, state: State, exchange: Exchange) -> tuple[State, tuple[Event, ...]]:
    return compact(environment, replace(state, history=state.history.append(exchange)))


def _has_update(state: State, response: Mapping[str, Any]) -> bool:
    """Whether a response carries an update that its variant could have merged."""
    structured = state.conclusion is not None and response.get("conclusion") is not None
    return structured or (state.notes is not None and response.get("notes") is not None)


def _warned(fault: Fault) -> Event:
    return {"event": "warned", **fault.as_json()}


def _few_turns(environment: Environment, state: State) -> tuple[Fault, ...]:
    """Warn when the end is near (contract 2.7)."""
    left = state.budget.turns_left
    if left > _FEW_TURNS:
        return ()
    needs = "read, evidence and final" if environment.config.switches.evidence_bank else "read and final"
    turns = "turn" if left == 1 else "turns"
    return (Fault("few_turns", f"{left} {turns} left: an answer from scratch needs {needs}"),)


def _messages(warnings: tuple[Fault, ...]) -> list[str]:
    return [f"warning: {warning.message}" for warning in warnings]
