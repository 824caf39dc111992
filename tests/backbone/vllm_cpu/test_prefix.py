"""The harness' prompts in a real vLLM's prefix cache, by its own counters."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.backbone.client import ChatClient
from pipeline.backbone.serving import Endpoint
from pipeline.backbone.serving.metrics import take
from pipeline.harness import LongHarness
from pipeline.harness.config import BudgetConfig, HarnessConfig, SearchConfig
from pipeline.protocols import Completion, Limits, Request, TaskView
from tests.backbone.episodes import Recorded, corpus_of
from tests.backbone.requests import hasty
from tests.backbone.vllm_cpu.server import MODEL
from tests.backbone.vllm_cpu.test_episodes import QUESTION

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(900)]

TURNS = 50
WORDS = [
    "receipts",
    "expenditures",
    "surplus",
    "deficit",
    "public",
    "debt",
    "customs",
    "internal",
    "revenue",
    "trust",
    "accounts",
    "notes",
]


class Scripted:
    """A backbone whose prompts a real server reads and whose replies are a script's."""

    def __init__(self, client: ChatClient) -> None:
        self._client = client
        self._turn = 0

    async def complete(self, request: Request) -> Completion:
        seen = await self._client.complete(replace(request, max_tokens=1, schema=None))
        first, second = WORDS[self._turn % len(WORDS)], WORDS[(self._turn // len(WORDS) + 1) % len(WORDS)]
        self._turn += 1
        operation = {"name": "search", "query": f"{first} {second} {self._turn + 1900}"}
        return replace(seen, text=json.dumps({"operation": operation}), finish="stop")


def counted(vllm: Endpoint) -> tuple[float, float]:
    values = {sample.metric: sample.value for sample in take(vllm.metrics[0])}
    return values["prefix_cache_queries_total"], values["prefix_cache_hits_total"]


async def test_nine_tenths_of_a_long_episodes_prompts_are_prefix_cache_hits(
    vllm: Endpoint, bulletins: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = corpus_of({path.name: path.read_text(encoding="utf-8") for path in bulletins}, tmp_path)
    harness = HarnessConfig(
        budget=BudgetConfig(turns=TURNS), search=SearchConfig(top_k=1), document_map_tokens=500
    )
    backbone, recorded = hasty(total_timeout=120.0), Recorded()
    backbone.model = MODEL
    before = counted(vllm)
    async with ChatClient(vllm, backbone) as client:
        outcome = await LongHarness(harness).run(
            TaskView("receipts", QUESTION), corpus, Scripted(client), recorded, Limits(16, episode="long")
        )
    queries, hits = (after - start for after, start in zip(counted(vllm), before, strict=True))
    with capsys.disabled():
        last = recorded.completions[-1].usage.prompt
        print(
            f"\n{hits:,.0f} of {queries:,.0f} prompt tokens hit, {hits / queries:.1%}; the last had {last:,}"
        )
    assert (outcome.status, len(recorded.completions)) == ("turns_exhausted", TURNS)
    assert queries == sum(completion.usage.prompt for completion in recorded.completions)
    assert hits >= 0.9 * queries
