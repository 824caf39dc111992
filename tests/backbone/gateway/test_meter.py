"""What an episode may take: the reply that passes a limit is given, the next turn refused."""

from __future__ import annotations

import pytest

from pipeline.backbone.gateway.meter import Allowance, Meter, Taken
from pipeline.protocols import Usage

REPLY = Taken(Usage(100, 40, 10), tool_calls=2)


@pytest.mark.parametrize(
    ("allowance", "turns", "limit"),
    [
        (Allowance(turns=3), 3, "turns"),
        (Allowance(tool_calls=3), 2, "tool_calls"),
        (Allowance(prompt_tokens=250), 3, "prompt_tokens"),
        (Allowance(completion_tokens=20), 2, "completion_tokens"),
        (Allowance(turns=0), 0, "turns"),
    ],
)
def test_a_limit_refuses_the_turn_after_it_was_passed(allowance: Allowance, turns: int, limit: str) -> None:
    meter = Meter(allowance)
    while meter.begin() is None:
        meter.end(REPLY)
    assert (meter.turns, meter.limit_hit, meter.refused) == (turns, limit, 1)
    assert meter.begin() == limit and meter.refused == 2


def test_without_limits_all_is_counted() -> None:
    meter = Meter()
    for taken in (REPLY, Taken(None, 1), None, REPLY):
        assert meter.begin() is None
        meter.end(taken)
    assert (meter.turns, meter.tool_calls, meter.unmetered) == (3, 5, 1)
    assert (meter.prompt, meter.cached, meter.completion) == (200, 80, 20)


def test_turns_that_are_being_answered_count_and_those_that_fail_are_given_back() -> None:
    meter = Meter(Allowance(turns=2))
    assert [meter.begin(), meter.begin(), meter.begin()] == [None, None, "turns"]
    meter.end(None)
    assert meter.begin() is None
