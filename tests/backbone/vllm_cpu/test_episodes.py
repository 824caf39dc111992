"""LongHarness end to end on a real vLLM: random weights, constrained to its schema, over real bulletins."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pipeline.backbone.config import BackboneConfig, SamplingConfig
from pipeline.backbone.serving import Endpoint
from pipeline.harness.config import ActionConfig, BudgetConfig, HarnessConfig
from pipeline.protocols import TaskView
from tests.backbone.episodes import corpus_of, run_episode
from tests.backbone.vllm_cpu.server import MODEL, searching

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(900)]

QUESTION = "What were total receipts of the Treasury in fiscal year 1938, in millions of dollars?"
TURNS = 15


async def test_two_episodes_run_to_their_end(
    vllm: Endpoint,
    model: Path,
    bulletins: list[Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    corpus = corpus_of({path.name: path.read_text(encoding="utf-8") for path in bulletins}, tmp_path)
    sampling = SamplingConfig(temperature=1.0, extra=searching(model))
    backbone = BackboneConfig(model=MODEL, max_tokens=1_024, sampling=sampling)
    harness = HarnessConfig(
        budget=BudgetConfig(turns=TURNS), action=ActionConfig(max_string=16), document_map_tokens=500
    )
    task = TaskView("receipts", QUESTION)
    episodes = await asyncio.gather(
        *(run_episode(vllm, backbone, harness, corpus, task, seed) for seed in range(2))
    )
    with capsys.disabled():
        print(*("\n" + episode.report() for episode in episodes))
    turns = sum(len(episode.trace.turns) for episode in episodes)
    assert {episode.outcome.status for episode in episodes} <= {"answered", "turns_exhausted"}
    assert turns >= TURNS
    assert sum(episode.parsed for episode in episodes) >= 0.8 * turns
    assert sum(episode.valid for episode in episodes) >= 0.2 * turns
    later = [completion.usage for episode in episodes for completion in episode.recorded.completions[1:]]
    assert sum(usage.cached for usage in later) >= 0.7 * sum(usage.prompt for usage in later)
