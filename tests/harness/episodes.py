"""An episode as a script, the backbone that replies with it, and a recorder that keeps what it is told."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from pipeline.protocols import Completion, Limits, Request, RequestRecord, Sampling, TaskView, Usage
from tests.harness.conftest import OF_JUNE, SPAN, compute, final, read, revise, search, upsert

TASK = TaskView("t1", "What were the corrected expenditures for May 1942, in million dollars?")
LIMITS = Limits(512, Sampling(temperature=0.0), seed=3, episode="ep")

GAP = "expenditures for May 1942, as last corrected"
CLAIM = {"claim": "Expenditures for May 1942 were 4,400 million dollars"}
SCRIPT = [
    search("May 1942 expenditures", conclusion={"unresolved": [GAP]}),
    read(SPAN, thought="The March report has the first figure."),
    upsert("Expenditures for May 1942 were 4,100 million dollars.", conclusion={"unresolved": []}),
    search("corrected May 1942", documents=["1942/*"], top_k=2),
    "I should read the June report next.",
    read(OF_JUNE),
    revise("e1", "Expenditures for May 1942, as corrected, were 4,400 million dollars.", sources=("s2",)),
    compute("4400 - 4100", ("e1",), conclusion={"established": [{**CLAIM, "evidence": ["e1"]}]}),
    compute(
        "percent_change(4100, 4400)", ("e2",), conclusion={"established": [{**CLAIM, "evidence": ["e1"]}]}
    ),
    final("4,400", ("e2",), conclusion={"established": [{**CLAIM, "evidence": ["e2"]}], "unresolved": []}),
]


@dataclass
class Scripted:
    """A backbone that gives the scripted replies in order; an exception among them is raised."""

    replies: Sequence[str | Exception]
    requests: list[Request] = field(default_factory=list)

    async def complete(self, request: Request) -> Completion:
        self.requests.append(request)
        reply = self.replies[len(self.requests) - 1]
        if isinstance(reply, Exception):
            raise reply
        return Completion(reply, None, "stop", Usage(), "scripted", "r", 0.0)


@dataclass
class Recording:
    """A recorder that keeps what it is told."""

    turns: list[tuple[int, str, str]] = field(default_factory=list)
    failed: list[tuple[int, tuple[RequestRecord, ...]]] = field(default_factory=list)

    def turn(self, turn: int, completion: Completion, state_sha256: str) -> None:
        self.turns.append((turn, completion.text, state_sha256))

    def failed_request(self, turn: int, requests: tuple[RequestRecord, ...]) -> None:
        self.failed.append((turn, requests))


def texts(replies: Sequence[object]) -> list[str]:
    return [reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False) for reply in replies]
