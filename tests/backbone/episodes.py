"""Whole episodes in this process, with a real model: what was asked, replied and made of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from pipeline.backbone.client import ChatClient
from pipeline.backbone.config import BackboneConfig
from pipeline.backbone.serving import Endpoint
from pipeline.corpus import Corpus, build
from pipeline.corpus.config import CorpusConfig
from pipeline.harness import LongHarness, Reply, Trace
from pipeline.harness.config import HarnessConfig
from pipeline.protocols import Completion, Limits, Outcome, RequestRecord, Sampling, TaskView


@dataclass
class Recorded:
    """A recorder that keeps all in memory."""

    completions: list[Completion] = field(default_factory=list)
    hashes: list[str] = field(default_factory=list)
    failed: list[RequestRecord] = field(default_factory=list)

    def turn(self, turn: int, completion: Completion, state_sha256: str) -> None:
        self.completions.append(completion)
        self.hashes.append(state_sha256)

    def failed_request(self, turn: int, requests: tuple[RequestRecord, ...]) -> None:
        self.failed += requests


@dataclass(frozen=True)
class Episode:
    """An episode that was run, and the trace that its replies alone give."""

    outcome: Outcome
    recorded: Recorded
    trace: Trace

    @property
    def parsed(self) -> int:
        """Turns whose reply held an operation."""
        return sum(turn.error is None or turn.error.code != "malformed_response" for turn in self.trace.turns)

    @property
    def valid(self) -> int:
        return sum(turn.valid for turn in self.trace.turns)

    def report(self) -> str:
        """Figures of the episode, one line a turn."""
        lines = [
            f"{self.outcome.status}: {self.parsed} parsed, {self.valid} valid of {len(self.trace.turns)}"
        ]
        for turn, completion in zip(self.trace.turns, self.recorded.completions, strict=True):
            usage, code = completion.usage, turn.error.code if turn.error else "valid"
            lines.append(
                f"{turn.number:3} {turn.operation or '-':9} {code:24} {completion.seconds:5.1f} s, prompt "
                f"{usage.prompt} of which cached {usage.cached}, completion {usage.completion}"
            )
        return "\n".join(lines)


async def run_episode(
    endpoint: Endpoint,
    backbone: BackboneConfig,
    harness: HarnessConfig,
    corpus: Corpus,
    task: TaskView,
    seed: int,
) -> Episode:
    """Run one episode and replay it; its hashes must agree (contract 1.2)."""
    agent, recorded = LongHarness(harness), Recorded()
    sampling = Sampling(backbone.sampling.temperature, backbone.sampling.top_p, backbone.sampling.extra)
    limits = Limits(backbone.max_tokens, sampling, seed, f"episode {seed}")
    async with ChatClient(endpoint, backbone) as client:
        outcome = await agent.run(task, corpus, client, recorded, limits)
    replies = [Reply(completion.text, completion.reasoning) for completion in recorded.completions]
    trace = agent.replay(task, corpus, replies)
    assert [turn.state_sha256 for turn in trace.turns] == recorded.hashes
    return Episode(outcome, recorded, trace)


def corpus_of(texts: dict[str, str], folder: Path) -> Corpus:
    """Index texts by their file names."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return build([folder], CorpusConfig(), None)
