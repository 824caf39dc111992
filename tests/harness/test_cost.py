"""What a turn costs: as much at the end of a long episode as at its start (contract 5.3).

Counted, not timed: calls made and bytes serialised are the same on every machine.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from pipeline.corpus import Corpus, estimate_tokens
from pipeline.harness.config import BudgetConfig, CompactionConfig, ExtensionsConfig, HarnessConfig
from pipeline.harness.prompt import Prompt
from pipeline.protocols import Message, TaskView
from tests.counting import calls
from tests.harness.conftest import BIG, Episode, Opener, compute, read, revise, search, start, upsert

ROUND = 5  # turns of a round, each of another operation


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


@pytest.fixture
def compacting(corpus: Corpus) -> Episode:
    """An episode whose window is full after some fifty turns, again and again."""
    config = HarnessConfig(
        budget=BudgetConfig(searches=200),
        extensions=ExtensionsConfig(compaction=True),
        compaction=CompactionConfig(window=50_000, share=0.9),
    )
    return start(config, corpus, TaskView("t", "What were the expenditures?"))


def test_7_4_with_compaction_a_turn_calls_no_more_and_leaving_the_prompt_a_few(compacting: Episode) -> None:
    prompt = Prompt(compacting.environment, Message("system", "s"))
    early, compactions = dict[int, int](), 0
    for number in range(195):
        before = compacting.state.compacted
        count = calls(partial(turn, compacting, prompt, number))
        left = compacting.state.compacted - before
        compactions += left > 0
        if number >= 2 * ROUND:
            parts = len(compacting.state.evidence.entries) + len(compacting.state.computes)
            assert count <= early.setdefault(number % ROUND, count) + parts + 20 * left, number
    assert compactions >= 3


def test_7_4_a_compaction_estimates_once_for_each_turn_that_leaves(compacting: Episode) -> None:
    prompt = Prompt(compacting.environment, Message("system", "s"))
    most = 0
    for number in range(195):
        before = compacting.state.compacted
        estimates = calls(partial(turn, compacting, prompt, number), of=estimate_tokens)
        left = compacting.state.compacted - before
        most = max(most, left)
        assert estimates <= left + 10, number
    assert most >= 40
