"""A turn as a trace shows it: one JSON object (contract, section 9)."""

from __future__ import annotations

from typing import Any

from pipeline.harness.turn import Turn


def as_json(turn: Turn) -> dict[str, Any]:
    """Return one turn in the form of contract 9, with the whole state as it is after the turn."""
    state = turn.state
    return {
        "turn": turn.number,
        "operation": turn.operation,
        "valid": turn.valid,
        "error": turn.error and turn.error.as_json(),
        "observation": turn.observation,
        "conclusion_error": turn.conclusion_error and turn.conclusion_error.as_json(),
        "result": turn.result,
        "evidence": [entry.as_json() for entry in state.evidence.entries],
        "conclusion": None if state.conclusion is None else state.conclusion.as_json(state.evidence),
        "notes": state.notes,
        "sources": [source.as_json() for source in state.sources.entries],
        "budget": state.budget.as_json(),
        "warnings": [warning.as_json() for warning in turn.warnings],
        "log": list(turn.log),
        "status": state.status,
    }
