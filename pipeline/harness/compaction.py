"""Compaction with provenance: what lets a long episode live in a short window (contract 7.4).

When the next prompt would pass its share of the window, the oldest turns leave it, and one line for each
stays: what was done, and the references that came of it. Sources, evidence, computes and the conclusion are
in the rendered state as ever, and H itself keeps every turn in full. Since the decision rests on the
runtime's own estimates, a replay makes it at the same turn (contract 1.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pipeline.corpus import estimate_tokens
from pipeline.harness import rendering
from pipeline.harness.config import Reasoning
from pipeline.harness.environment import Environment, Event
from pipeline.harness.state import Exchange, State

_KEPT = 0.5  # of what a prompt may fill, after a compaction: each one costs the server its prefix cache


def compact(environment: Environment, state: State) -> tuple[State, tuple[Event, ...]]:
    """Return the state whose next prompt fits, as far as it can be made to, and the event for the log.

    The newest turn is never left out: the model has not seen it.
    """
    if not environment.extensions.compaction:
        return state, ()
    compaction = environment.config.compaction
    most = int(compaction.window * compaction.share)
    full = environment.config.history.reasoning is Reasoning.full
    exchanges, turns = state.history.exchanges, state.compacted
    sizes = [sum(exchange.tokens) if full else exchange.tokens[0] for exchange in exchanges[turns:]]
    opening = environment.opening_tokens + estimate_tokens(rendering.tail(state, environment.config))
    repeated = opening + sum(sizes)
    if repeated + _told(exchanges[:turns]) <= most:
        return state, ()
    for size in sizes[:-1]:
        if repeated + _told(exchanges[:turns]) <= most * _KEPT:
            break
        repeated -= size
        turns += 1
    if turns == state.compacted:
        return state, ()
    event = {"event": "turns_compacted", "first": state.compacted + 1, "last": turns}
    return replace(state, compacted=turns), (event,)


def _told(exchanges: Sequence[Exchange]) -> int:
    return estimate_tokens(rendering.stubs(exchanges))
