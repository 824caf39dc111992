"""What a turn costs: as much at the end of a long episode as at its start (contract 5.3).

Counted, not timed: calls made and bytes serialised are the same on every machine.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from pipeline.harness.prompt import Prompt
from pipeline.protocols import Message
from tests.harness.conftest import BIG, Episode, Opener, compute, read, revise, search, upsert

ROUND = 5  # turns of a round, each of another operation


def calls(work: Callable[[], object]) -> int:
    """How many functions `work` calls, of Python and of C."""
    count = 0

    def counted(frame: object, event: str, given: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(counted)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def turn(opened: Episode, prompt: Prompt, number: int) -> tuple[Message, ...]:
    """Take a turn and serialise the request after it, as the episode's loop and the client do."""
    rounds = number // ROUND
    reply: dict[str, Any] = (
        read({"document": BIG, "start": rounds * 400, "end": rounds * 400 + 4000}),
        upsert("one", "two", "three", sources=(f"s{rounds + 1}",)),
        search("ledger words"),
        revise(f"e{rounds * 4 + 1}", "four", sources=(f"s{rounds + 1}",)),
        compute("1 + 2", evidence=(f"e{rounds * 4 + 2}",)),
    )[number % ROUND]
    taken = opened.send(reply)
    assert taken.valid
    prompt.append(taken)
    messages = prompt.messages(opened.state)
    b",".join([message.encoded for message in messages])
    return messages


def test_5_3_a_turn_calls_no_more_at_the_end_of_an_episode_than_at_its_start(episode: Opener) -> None:
    opened = episode(searches=200)
    prompt = Prompt(opened.environment, Message("system", "s"))
    counts = [calls(partial(turn, opened, prompt, number)) for number in range(195)]
    for kind in range(ROUND):
        early, late = counts[2 * ROUND + kind], counts[-ROUND + kind]
        # Rendering and hashing go through the state's parts, each made once: one call for each at the most.
        assert late <= early + len(opened.state.evidence.entries), (kind, early, late)
    assert len(opened.state.evidence.entries) == 156


def test_5_3_no_message_but_the_last_is_serialised_again(episode: Opener) -> None:
    opened = episode(searches=200)
    prompt = Prompt(opened.environment, Message("system", "s"))
    before: tuple[Message, ...] = ()
    for number in range(40):
        now = turn(opened, prompt, number)
        assert all(one is other for one, other in zip(before[:-1], now, strict=False))
        assert len(now) == len(before) + 2 or not before
        before = now
