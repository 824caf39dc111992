"""Native tool calls on a real vLLM: constrained, read, recorded, and accepted back in the history."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pipeline.backbone.config import BackboneConfig, SamplingConfig
from pipeline.backbone.serving import Endpoint
from pipeline.corpus import Corpus
from pipeline.harness.config import ActionConfig, ActionMode, BudgetConfig, HarnessConfig, ToolChoice
from pipeline.harness.operations import NAMES
from pipeline.protocols import TaskView
from tests.backbone.episodes import Episode, corpus_of, run_episode
from tests.backbone.vllm_cpu.server import MODEL, searching
from tests.backbone.vllm_cpu.test_episodes import QUESTION

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(900)]

TURNS = 8


@pytest.fixture(scope="module")
def corpus(bulletins: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    texts = {path.name: path.read_text(encoding="utf-8") for path in bulletins}
    return corpus_of(texts, tmp_path_factory.mktemp("documents"))


async def episode(vllm: Endpoint, model: Path, corpus: Corpus, choice: ToolChoice, turns: int) -> Episode:
    sampling = SamplingConfig(temperature=1.0, extra=searching(model))
    backbone = BackboneConfig(model=MODEL, max_tokens=1_024, sampling=sampling)
    action = ActionConfig(ActionMode.tools, choice, max_string=16, max_items=2)
    harness = HarnessConfig(budget=BudgetConfig(turns=turns), action=action, document_map_tokens=500)
    return await run_episode(vllm, backbone, harness, corpus, TaskView("receipts", QUESTION), 1)


async def test_an_episode_of_required_calls_runs_to_its_end(
    vllm: Endpoint, model: Path, corpus: Corpus, capsys: pytest.CaptureFixture[str]
) -> None:
    run = await episode(vllm, model, corpus, ToolChoice.required, TURNS)
    with capsys.disabled():
        print("\n" + run.report())
    assert run.outcome.status in ("answered", "turns_exhausted")  # every request was accepted
    called = [completion for completion in run.recorded.completions if completion.tool_calls]
    assert len(called) >= TURNS / 2
    assert {call.name for completion in called for call in completion.tool_calls} <= set(NAMES)
    assert run.parsed >= TURNS / 2 and run.valid > 0
    assert all(re.search(r'"operation": \{"name": ', completion.text) for completion in called)
    later = [completion.usage for completion in run.recorded.completions[1:]]
    assert sum(usage.cached for usage in later) >= 0.7 * sum(usage.prompt for usage in later)


async def test_where_the_model_may_choose_it_may_answer_in_text(
    vllm: Endpoint, model: Path, corpus: Corpus
) -> None:
    run = await episode(vllm, model, corpus, ToolChoice.auto, 1)
    assert run.outcome.status == "turns_exhausted" and run.recorded.completions[0].text
