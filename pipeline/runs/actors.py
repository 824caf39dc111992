"""Actors: each hosts independent episodes, and writes what they do to its own journal segment."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.backbone.client import ChatClient
from pipeline.backbone.config import BackboneConfig
from pipeline.backbone.serving import Endpoint
from pipeline.errors import BackboneUnavailable
from pipeline.plugins import locate
from pipeline.protocols import Harness, Limits, Outcome, Sampling, TaskView, Usage
from pipeline.runs.broadcast import AttachedCorpora, CorpusHandle
from pipeline.runs.journal import Attempt, AttemptRecorder, Segment
from pipeline.runs.traffic import RemoteTraffic


@dataclass(frozen=True)
class ArmRuntime:
    """What an actor needs of an arm: its harness' config, its backbone and where that answers.

    `traffic` names the actor that decides for all of a run's requests to that endpoint.
    """

    harness: Any
    backbone: BackboneConfig
    endpoint: Endpoint
    traffic: str = ""


@dataclass(frozen=True)
class Assignment:
    """One attempt at one episode. It holds no gold."""

    episode: str
    attempt: int
    arm: str
    task: TaskView
    seed: int
    corpus: CorpusHandle


@dataclass(frozen=True)
class Ended:
    """How an attempt ended. `error` says why, if it was interrupted."""

    attempt: Attempt
    usage: Usage
    seconds: float
    error: str | None = None


class EpisodeActor:
    """Runs episodes side by side: they mostly wait for the model."""

    def __init__(self, journal: Path, writer: str, arms: Mapping[str, ArmRuntime]) -> None:
        """Open a journal segment of this incarnation: Ray calls this again when it restarts the actor."""
        if not journal.is_dir():
            raise FileNotFoundError(
                f"{journal} is not to be seen from this node: the run folder must be on a shared file system"
            )
        self._segment = Segment(journal, writer)
        self._arms = arms
        self._corpora = AttachedCorpora()
        self._open = AsyncExitStack()
        self._harnesses: dict[str, Harness] = {}
        self._clients: dict[str, ChatClient] = {}

    async def run(self, assignment: Assignment) -> Ended:
        """Run one attempt to its end. An unavailable backbone interrupts it: the episode is owed."""
        arm = self._arms[assignment.arm]
        corpus = await self._corpora.get(assignment.corpus)
        recorder = AttemptRecorder(self._segment, assignment.episode, assignment.attempt)
        started = time.monotonic()
        error = None
        client = await self._client(assignment.arm)
        try:
            outcome = await self._harness(assignment.arm).run(
                assignment.task, corpus, client, recorder, _limits(arm.backbone, assignment)
            )
        except BackboneUnavailable as unavailable:
            error = str(unavailable)
            recorder.failed_request(recorder.turns + 1, unavailable.requests)
            outcome = Outcome("interrupted", error=error)
        finally:
            client.ended(assignment.episode)
        seconds = time.monotonic() - started
        return Ended(recorder.end(outcome, seconds), recorder.usage, seconds, error)

    async def ready(self) -> None:
        """Answer, once this incarnation is there."""

    async def close(self) -> None:
        """Close connections and the journal segment."""
        await self._open.aclose()
        self._segment.close()

    def _harness(self, arm: str) -> Harness:
        if arm not in self._harnesses:
            config = self._arms[arm].harness
            self._harnesses[arm] = locate(config._target_)(config)
        return self._harnesses[arm]

    async def _client(self, arm: str) -> ChatClient:
        if arm not in self._clients:
            runtime = self._arms[arm]
            client = ChatClient(runtime.endpoint, runtime.backbone, RemoteTraffic.named(runtime.traffic))
            self._clients[arm] = client  # before the wait: a second episode must not open another
            await self._open.enter_async_context(client)
        return self._clients[arm]


def _limits(backbone: BackboneConfig, assignment: Assignment) -> Limits:
    sampling = backbone.sampling
    return Limits(
        backbone.max_tokens,
        Sampling(sampling.temperature, sampling.top_p, dict(sampling.extra)),
        assignment.seed,
        assignment.episode,
    )
