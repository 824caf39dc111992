"""Transformation: compute and final, from evidence to the answer (contract 3.18 to 3.22)."""

from __future__ import annotations

from dataclasses import replace

from pipeline.calculator import evaluate
from pipeline.errors import InvalidOperation
from pipeline.harness import answers, checks, observation
from pipeline.harness.environment import Effect, Environment
from pipeline.harness.observation import Told
from pipeline.harness.operations import Compute, Final, SourcedCompute, SourcedFinal
from pipeline.harness.state import Accepted, Computed, State

_LARGE = 2**63  # an integer result from here on is kept as a float, as JSON and tables have it


def compute(environment: Environment, state: State, operation: Compute | SourcedCompute) -> Effect:
    """Evaluate an expression that rests on what it cites."""
    cited = _cite(state, operation)
    value = evaluate(operation.expression)
    constants = tuple((constant.value, constant.why) for constant in operation.constants or ())
    warnings = checks.operands(environment, state, cited, value.literals, constants)
    number = value.value
    if isinstance(number, int) and abs(number) >= _LARGE:
        number = float(number)
    computed = Computed(
        f"c{len(state.computes) + 1}",
        state.turn,
        operation.expression,
        number,
        value.text,
        cited,
        constants,
    )
    event = {
        "event": "computed",
        "id": computed.id,
        "expression": operation.expression,
        "value": number,
        "evidence": list(cited),
        "constants": [list(constant) for constant in constants],
    }
    return Effect(
        replace(state, computes=(*state.computes, computed)),
        observation.compute(computed, value.notes),
        {"id": computed.id, "value": number, "operands": value.operands},
        (event,),
        warnings,
    )


def final(environment: Environment, state: State, operation: Final | SourcedFinal) -> Effect:
    """Accept an answer that rests on what it cites, and end the episode."""
    cited = _cite(state, operation)
    known = [computed.id for computed in state.computes]
    for compute_id in operation.computes or ():
        if compute_id not in known:
            raise InvalidOperation(
                "unknown_evidence",
                f"there is no compute {compute_id[:40]!r}; computes: {', '.join(known[-20:]) or 'none'}",
            )
    answers.check(environment.task.answer_format, operation.answer)
    computes = tuple(operation.computes or ())
    warnings = checks.final(environment, state, cited, operation.answer, computes)
    if isinstance(operation, SourcedFinal):
        evidence, passages = [], list(dict.fromkeys(cited))
    else:
        evidence = list(cited)
        entries = [state.evidence.require(evidence_id) for evidence_id in cited]
        passages = list(dict.fromkeys(source for entry in entries for source in entry.sources))
    result = {"answer": operation.answer, "evidence": evidence, "sources": passages}
    return Effect(
        replace(state, accepted=Accepted(operation.answer, cited, computes)),
        Told("accepted"),
        result,
        ({"event": "answered", **result, "computes": list(computes)},),
        warnings,
    )


def _cite(state: State, operation: Compute | SourcedCompute | Final | SourcedFinal) -> tuple[str, ...]:
    """Check what an operation cites, and return it: evidence, or sources where there is no EvidenceBank."""
    if isinstance(operation, SourcedCompute | SourcedFinal):
        state.sources.require(operation.sources)
        return tuple(operation.sources)
    state.evidence.require_all(operation.evidence)
    return tuple(operation.evidence)
