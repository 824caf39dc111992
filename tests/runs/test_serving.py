"""The table `serving`: the metrics of servers that a run watches."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.backbone.serving import Endpoint
from pipeline.backbone.serving.config import ScriptedConfig
from pipeline.backbone.serving.vllm import serve
from pipeline.harness.config import BudgetConfig, HarnessConfig
from pipeline.runs import serving, tables
from pipeline.runs.run import run
from pipeline.runs.serving import recorded
from tests.backbone.requests import hasty
from tests.backbone.serving.processes import within
from tests.backbone.serving.test_vllm import config
from tests.runs.sample import arm, spec


def test_metrics_are_taken_down_while_it_runs_and_once_more_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "FLUSH", 0.0)
    with serve(config(replicas=2), hasty(), tmp_path) as endpoint:
        with recorded(tmp_path, endpoint, 0.05):
            assert within(10, lambda: tables.read(tmp_path, "serving").num_rows >= 8)
        seen = tables.read(tmp_path, "serving").to_pylist()
        with recorded(tmp_path, endpoint, 600.0):
            pass
        assert tables.read(tmp_path, "serving").num_rows == len(seen) + 4
    assert {row["replica"] for row in seen} == {
        url.removeprefix("http://").removesuffix("/v1") for url in endpoint.urls
    }
    assert {(row["metric"], row["value"]) for row in seen} == {
        ("num_requests_running", 3.0),
        ("prefix_cache_queries_total", 640.0),
    }
    assert tables.prune(tmp_path) == 0


def test_a_replica_that_is_gone_leaves_a_gap(tmp_path: Path) -> None:
    with serve(config(), hasty(), tmp_path) as endpoint:
        pages = ("http://127.0.0.1:1/metrics", *endpoint.metrics)
        with recorded(tmp_path, Endpoint(endpoint.urls, "m", metrics=pages), 600.0):
            pass
    assert tables.read(tmp_path, "serving").num_rows == 2


def test_a_server_without_metrics_is_left_alone(tmp_path: Path) -> None:
    with recorded(tmp_path, Endpoint(("http://127.0.0.1:1/v1",), "m"), 0.01):
        pass
    assert tables.read(tmp_path, "serving").num_rows == 0


@pytest.mark.usefixtures("cluster")
def test_a_scripts_replies_drive_episodes_and_its_end_is_the_models_failure(
    tmp_path: Path, documents: Path
) -> None:
    script = tmp_path / "script.jsonl"
    search = {"operation": {"name": "search", "query": "outlays"}}
    lines = [{"error": 503}, {"reply": search}, {"reply": "no operation"}]
    script.write_text("".join(json.dumps(line) + "\n" for line in lines))
    serving = ScriptedConfig(script=str(script))
    short, long = (
        replace(arm(f"{turns} turns", documents, "", harness, tasks=2), serving=serving)
        for turns in (2, 5)
        for harness in (HarnessConfig(budget=BudgetConfig(turns=turns)),)
    )
    for one in (short, long):
        one.backbone.client.attempts = 3
    result = run(spec(tmp_path, [short, long]))
    assert result.complete
    episodes = tables.read(result.folder, "episodes").to_pylist()
    assert {(e["arm"], e["status"], e["turns"], e["invalid_turns"]) for e in episodes} == {
        ("2 turns", "turns_exhausted", 2, 1),
        ("5 turns", "model_request_failed", 2, 1),
    }
    requests = tables.read(result.folder, "requests").to_pylist()
    assert {request["status"] for request in requests} == {200, 400, 503}
    assert all("no reply for turn 3" in request["error"] for request in requests if request["status"] == 400)
