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
from pipeline.harness import observation
from pipeline.harness.actions import Effect, Environment, perform
from pipeline.harness.budget import Budget
from pipeline.harness.conclusions import Conclusion
from pipeline.harness.config import ConclusionForm
from pipeline.harness.forms import Sent, read_response
from pipeline.harness.operations import NAMES
from pipeline.harness.parse import parse
from pipeline.harness.state import Exchange, State
from pipeline.harness.turn import Fault, Reply, Turn
from pipeline.harness.updates import update

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
    try:
        response = parse(reply.text)
        sent = read_response(response, environment.config.switches)
        effect = perform(environment, spent, sent.operation, spent.turn)
    except InvalidOperation as error:
        return _invalid(environment, spent, reply, response, Fault(error.code, error.message))
    return _valid(environment, reply, sent, effect)


def _well_formed(reply: Reply) -> Reply:
    """Replace what no UTF-8 can hold: half surrogate pairs, which a server's JSON may carry."""
    reasoning = reply.reasoning and reply.reasoning.encode(errors="replace").decode()
    return Reply(reply.text.encode(errors="replace").decode(), reasoning)


def _invalid(
    environment: Environment, spent: State, reply: Reply, response: Mapping[str, Any], error: Fault
) -> Turn:
    name = response["operation"].get("name") if response else None
    operation = name if isinstance(name, str) and name in NAMES else None
    warnings = _few_turns(environment, spent)
    after = [_LOST] if _has_update(spent, response) else []
    told = observation.refusal(spent.turn, error, [*after, *_messages(warnings)])
    state = _remember(spent, reply, told)
    return Turn(
        number=state.turn,
        operation=operation,
        valid=False,
        error=error,
        conclusion_error=None,
        reply=reply,
        observation=told,
        result=None,
        log=({"event": "operation_rejected", "operation": operation, "code": error.code},),
        warnings=warnings,
        state=state,
        state_sha256=state.sha256,
    )


def _valid(environment: Environment, reply: Reply, sent: Sent, effect: Effect) -> Turn:
    done = update(effect.state, sent, environment.config.conclusion_refs)
    warnings = (*done.flags, *_few_turns(environment, done.state))
    name = sent.operation.name
    told = observation.acceptance(done.state.turn, name, effect.told, done.line, _messages(warnings))
    state = _remember(done.state, reply, told)
    return Turn(
        number=state.turn,
        operation=name,
        valid=True,
        error=None,
        conclusion_error=done.error,
        reply=reply,
        observation=told,
        result=effect.result,
        log=(*effect.events, *done.events),
        warnings=warnings,
        state=state,
        state_sha256=state.sha256,
    )


def _remember(state: State, reply: Reply, told: str) -> State:
    return replace(state, history=state.history.append(Exchange(reply, told)))


def _has_update(state: State, response: Mapping[str, Any]) -> bool:
    """Whether a response carries an update that its variant could have merged."""
    structured = state.conclusion is not None and response.get("conclusion") is not None
    return structured or (state.notes is not None and response.get("notes") is not None)


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
