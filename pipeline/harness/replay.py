"""Replay: an episode rebuilt from its recorded replies alone, with no model call (contract 1.2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pipeline.harness.controller import initial_state, step
from pipeline.harness.environment import Environment
from pipeline.harness.state import State
from pipeline.harness.turn import Reply, Trace, Turn
from pipeline.protocols import Outcome


def turns(environment: Environment, replies: Iterable[Reply]) -> Iterator[Turn]:
    """Yield the turns that follow from `replies`, up to the one that ends the episode."""
    state = initial_state(environment)
    for reply in replies:
        turn = step(environment, state, reply)
        state = turn.state
        yield turn
        if state.status != "running":
            return


def replay(environment: Environment, replies: Iterable[Reply]) -> Trace:
    """Return the episode that follows from `replies`."""
    taken = tuple(turns(environment, replies))
    state = taken[-1].state if taken else initial_state(environment)
    return Trace(taken, state, outcome(state))


def outcome(state: State) -> Outcome | None:
    """Return how an episode in this state has ended; `None` if it goes on (contract 4.3)."""
    if state.accepted:
        return Outcome("answered", state.accepted.answer, state.accepted.cited)
    if state.status == "turns_exhausted":
        return Outcome("turns_exhausted", limit_hit="turns")
    return None
