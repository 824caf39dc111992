"""Episodes against a hostile server: each ends with a result or is owed with a reason."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from pipeline.backbone.client import ChatClient
from pipeline.backbone.config import BackboneConfig, ClientConfig, TrafficConfig
from pipeline.backbone.failures import FAULTS
from pipeline.corpus import Corpus, build
from pipeline.corpus.config import CorpusConfig
from pipeline.errors import BackboneUnavailable
from pipeline.harness import LongHarness, Reply
from pipeline.harness.config import BudgetConfig, HarnessConfig
from pipeline.protocols import Limits, Outcome, RequestRecord, TaskView
from tests.backbone.episodes import Recorded
from tests.backbone.hostile import BREAKDOWNS, ENDS, LIE, HostileServer, headed, hostile
from tests.runs.sample import TURNS, write_documents

AT_A_TIME = 64
BACKBONE = BackboneConfig(
    model="policy",
    client=ClientConfig(
        first_byte_timeout=2.0,
        stall_timeout=2.0,
        total_timeout=5.0,
        attempts=4,
        patience=3.0,
        backoff=0.01,
        max_backoff=0.1,
    ),
    traffic=TrafficConfig(canary_timeout=1.0),
)


@dataclass
class Case:
    """One episode: how it ended, or why it is owed, and every exchange."""

    task: TaskView
    recorded: Recorded = field(default_factory=Recorded)
    outcome: Outcome | None = None
    owed: BackboneUnavailable | None = None

    @property
    def records(self) -> list[RequestRecord]:
        made = [record for completion in self.recorded.completions for record in completion.requests]
        return [*made, *self.recorded.failed, *(self.owed.requests if self.owed else ())]


async def played(count: int, corpus: Corpus, server: HostileServer) -> list[Case]:
    """Run so many episodes with one client, some of them at a time."""
    agent, room = LongHarness(HarnessConfig(budget=BudgetConfig(turns=20))), asyncio.Semaphore(AT_A_TIME)
    cases = []
    for number in range(count):
        doomed = " DOOMED" if number % 50 == 49 else ""
        question = f"What were the outlays of department {number % 6} in 1950? (case {number}{doomed})"
        cases.append(Case(TaskView(f"t{number}", question)))
    async with ChatClient(server.endpoint, BACKBONE) as client:

        async def play(number: int, case: Case) -> None:
            async with room:
                limits = Limits(512, episode=case.task.id, seed=number)
                try:
                    case.outcome = await agent.run(case.task, corpus, client, case.recorded, limits)
                except BackboneUnavailable as error:
                    case.owed = error
                client.ended(case.task.id)

        await asyncio.gather(*(play(number, case) for number, case in enumerate(cases)))
    for case in cases:
        replies = [Reply(made.text, made.reasoning) for made in case.recorded.completions]
        trace = agent.replay(case.task, corpus, replies)
        assert [turn.state_sha256 for turn in trace.turns] == case.recorded.hashes
    return cases


def check(cases: list[Case], server: HostileServer) -> None:
    """Every episode and every request is accounted for, and every token of a reply counted once."""
    for number, case in enumerate(cases):
        assert (case.outcome is None) != (case.owed is None)
        assert len(case.records) == server.asked[str(number)], case
        kinds = {headed(record.error) for record in case.records if record.error}
        assert kinds <= set(FAULTS)
        if case.owed is not None:
            assert str(case.owed)
        elif case.outcome and case.outcome.status == "model_request_failed":
            assert case.outcome.error in {kind for kind, _ in ENDS.values()} | {"empty"}
        else:
            assert case.outcome and case.outcome.status == "answered"
            assert case.outcome.answer == str(1000 + 7 * (number % 6))
            assert len(case.recorded.completions) == TURNS
        for turn, made in enumerate(case.recorded.completions):
            assert made.usage.prompt in (server.prompts[str(number), turn], LIE)
            assert made.requests[-1].error is None and all(record.error for record in made.requests[:-1])
    doomed = [case for case in cases if "DOOMED" in case.task.question]
    assert doomed and all(case.owed for case in doomed)


async def play_and_check(
    count: int, share: float, folder: Path, caplog: pytest.LogCaptureFixture
) -> tuple[Counter[str], HostileServer]:
    corpus = build([write_documents(folder) / "c0"], CorpusConfig(), None)
    caplog.set_level(logging.WARNING)
    async with hostile(seed=count, share=share) as server:
        cases = await played(count, corpus, server)
    check(cases, server)
    assert caplog.text.count("a usage that can't be right") == 1
    return Counter(case.outcome.status if case.outcome else "owed" for case in cases), server


async def test_every_episode_is_accounted_for(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    ends, _ = await play_and_check(100, 0.3, tmp_path, caplog)
    assert ends.total() == 100 and ends["answered"] > 50 and ends["owed"] >= 2


@pytest.mark.heavy
@pytest.mark.timeout(1_800)
async def test_a_thousand_episodes_are_accounted_for(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    ends, server = await play_and_check(1_000, 0.3, tmp_path, caplog)
    assert ends.total() == 1_000 and set(BREAKDOWNS) | set(ENDS) <= set(server.done)
    assert sum(1 for _ in Path("/proc/self/fd").iterdir()) < 200  # no connection is left behind
    with capsys.disabled():
        print(f"\nhostile: {dict(ends)}; {server.asked.total()} requests, {server.canaries} canaries")
