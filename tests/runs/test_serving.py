"""The table `serving`: the metrics of servers that a run watches."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.backbone.serving import Endpoint
from pipeline.backbone.serving.vllm import serve
from pipeline.runs import serving, tables
from pipeline.runs.serving import recorded
from tests.backbone.requests import hasty
from tests.backbone.serving.processes import within
from tests.backbone.serving.test_vllm import config


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
