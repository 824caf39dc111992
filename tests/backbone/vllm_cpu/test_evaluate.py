"""The main job with a real vLLM in the loop: `serving=endpoint`, episodes on Ray, tables, replay."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from pipeline.backbone.serving import Endpoint
from pipeline.runs import tables
from pipeline.runs.replay import replay_run
from tests.backbone.vllm_cpu.server import MODEL, searching

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(900)]


def test_two_episodes_on_ray_are_recorded_and_replayed(
    vllm: Endpoint, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    backbone = {
        "defaults": ["custom", "_self_"],
        "name": "tiny",
        "model": MODEL,
        "max_tokens": 1_024,
        "sampling": {"temperature": 1.0, "extra": searching(model)},
    }
    (tmp_path / "conf/backbone").mkdir(parents=True)
    OmegaConf.save(OmegaConf.create(backbone), tmp_path / "conf/backbone/tiny.yaml")
    command = [sys.executable, "-m", "pipeline", "evaluate", "--config-dir", str(tmp_path / "conf")]
    command += ["backbone=tiny", f"serving.urls=[{','.join(vllm.urls)}]", f"root={tmp_path}", "run=vllm"]
    command += ["benchmark.tokens=20000", "benchmark.questions_per_kind=1", "tasks.limit=2"]
    command += ["harness.budget.turns=8", "harness.action.max_string=16", "harness.document_map_tokens=300"]
    environment = os.environ | {"LONGHARNESS_CACHE": str(tmp_path / "cache")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=800)
    assert done.returncode == 0, done.stderr[-3_000:]
    run = tmp_path / "vllm"
    episodes = tables.read(run, "episodes").to_pylist()
    turns = tables.read(run, "turns").to_pylist()
    requests = tables.read(run, "requests").to_pylist()
    parsed = [turn for turn in turns if turn["error_code"] != "malformed_response"]
    valid = [turn for turn in turns if turn["valid"]]
    with capsys.disabled():
        print(f"\n{len(parsed)} parsed and {len(valid)} valid of {len(turns)} turns")
    assert len(episodes) == 2
    assert {episode["status"] for episode in episodes} <= {"answered", "turns_exhausted"}
    assert len(parsed) >= 0.8 * len(turns)
    assert len(valid) >= 0.2 * len(turns)
    assert len(requests) >= len(turns)
    assert all(request["status"] == 200 and request["prompt_tokens"] > 0 for request in requests)
    assert sum(request["cached_tokens"] for request in requests) > 0
    assert not replay_run(run).mismatches
