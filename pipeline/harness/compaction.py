"""Compaction with provenance: what lets a long episode live in a short window (contract 7.4).

When the next prompt would pass its share of the window, the oldest turns leave it, and one line for each
stays: what was done, and the references that came of it. Sources, evidence, computes and the conclusion are
in the rendered state as ever, and H itself keeps every turn in full. Since the decision rests on the
runtime's own estimates, a replay makes it at the same turn (contract 1.1).
"""

from __future__ import annotations

from dataclasses import replace

from pipeline.corpus import estimate_tokens
from pipeline.harness import observation
from pipeline.harness.config import Reasoning
from pipeline.harness.environment import Environment, Event
from pipeline.harness.state import Exchange, State

_KEPT = 0.5  # of what a prompt may fill, after a compaction: each one costs the server its prefix cache


def compact(environment: Environment, state: State) -> tuple[State, tuple[Event, ...]]:
    """Return the state whose next prompt fits, as far as it can be made to, and the event for the log.

    The newest turn is never left out: the model has not seen it.
    """
    compaction = environment.config.compaction
    most = int(compaction.window * compaction.share)
    newest = len(state.history.exchanges)
    if not environment.extensions.compaction or _tokens(environment, state, state.compacted) <= most:
        return state, ()
    turns = state.compacted
    while turns < newest - 1 and _tokens(environment, state, turns) > most * _KEPT:
        turns += 1
    if turns == state.compacted:
        return state, ()
    event = {"event": "turns_compacted", "first": state.compacted + 1, "last": turns}
    return replace(state, compacted=turns), (event,)


def _tokens(environment: Environment, state: State, turns: int) -> int:
    """Estimate the next prompt if it tells of the first `turns` turns by their stubs."""
    full = environment.config.history.reasoning is Reasoning.full
    exchanges = state.history.exchanges
    told = [observation.tail(state, environment.config), observation.stubs(exchanges[:turns])]
    told += (text for exchange in exchanges[turns:] for text in _repeated(exchange, full))
    return environment.opening_tokens + sum(map(estimate_tokens, told))


def _repeated(exchange: Exchange, full: bool) -> tuple[str, ...]:
    reasoning = (exchange.reply.reasoning or "",) if full else ()
    return exchange.reply.text, exchange.observation, *reasoning
