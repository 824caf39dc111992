"""What a turn costs: the same at the end of a long episode as at its start (contract 5.3)."""

from __future__ import annotations

import time
from statistics import median

from pipeline.harness.prompt import Prompt
from pipeline.protocols import Message
from tests.harness.conftest import BIG, Opener, read, search, upsert


def test_5_3_a_turn_costs_the_same_at_turn_200_as_at_turn_10(episode: Opener) -> None:
    opened = episode(searches=200)
    prompt = Prompt(opened.environment, Message("system", "s"))
    seconds = []
    for number in range(198):
        reply = (
            read({"document": BIG, "start": number * 400, "end": number * 400 + 4000}),
            upsert("one", "two", sources=(f"s{number // 3 + 1}",)),
            search("ledger words"),
        )[number % 3]
        started = time.process_time()
        turn = opened.send(reply)
        prompt.append(turn)
        b"".join(message.encoded for message in prompt.messages(opened.state)[-3:])
        seconds.append(time.process_time() - started)
        assert turn.valid
    early, late = median(seconds[9:39]), median(seconds[-30:])
    assert late < 3 * early + 0.001
