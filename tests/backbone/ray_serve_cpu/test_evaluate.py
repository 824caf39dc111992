"""The main job by Ray Serve LLM, deployed by the run on its Ray cluster; its replica is killed meanwhile.

One start for all that is looked at: it takes a minute or two.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from pipeline.runs import journal, tables
from pipeline.runs.replay import replay_run
from tests.backbone.ray_serve_cpu.options import options
from tests.backbone.serving.processes import alive, descendants, running, within
from tests.backbone.vllm_cpu.server import MODEL, STARTUP

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(1_500)]

EPISODES = 6
CANARY = "sk-canary-of-another-service"


def evaluate(conf: Path, root: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "pipeline", "evaluate", "--config-dir", str(conf)]
    command += ["backbone=tiny", "serving=tiny", f"root={root}", "run=served", "cluster.num_cpus=2"]
    command += ["benchmark.tokens=20000", "benchmark.questions_per_kind=1", "tasks.limit=3", "seeds=2"]
    command += ["harness.budget.turns=6", "harness.action.max_string=16", "harness.document_map_tokens=300"]
    command += ["actors.count=1", "actors.episodes=2"]
    environment = os.environ | {"LONGHARNESS_CACHE": str(root / "cache"), "OTHER_API_KEY": CANARY}
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)


def finished(run: Path) -> int:
    return sum(attempt.finished for attempt in journal.scan(run / "journal"))


def url_of(log: Path) -> str:
    (found,) = re.findall(r'^\{"urls": \["(\S+)"\]\}$', log.read_text(), re.MULTILINE)
    return str(found)


def asked(url: str, api: str, body: dict[str, object]) -> str:
    request = Request(f"{url}/{api}", json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urlopen(request, timeout=120) as response:
        return str(response.read().decode())


def test_episodes_end_though_the_replica_is_killed_and_nothing_is_left_over(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "served"
    log = run / "logs/serving-0-tiny/ray_serve.log"
    with evaluate(options(tmp_path / "conf", model), tmp_path) as driver:
        try:
            assert within(STARTUP, lambda: driver.poll() is not None or finished(run) >= 1)
            assert driver.poll() is None, driver.stderr and driver.stderr.read()[-3_000:]
            url = url_of(log)
            for api, body in (
                ("responses", {"input": "hello", "max_output_tokens": 8}),
                ("messages", {"messages": [{"role": "user", "content": "hello"}], "max_tokens": 8}),
            ):
                assert "output_tokens" in asked(url, api, {"model": MODEL, **body})
            (replica,) = running(f"ray::ServeReplica:{url.split('/')[3]}")
            family = [replica, *descendants(replica)]
            assert len(family) >= 2  # vLLM's engine is a process of its own
            os.kill(replica, signal.SIGKILL)
            _, said = driver.communicate(timeout=STARTUP)
            assert driver.returncode == 0, said[-3_000:]
        finally:
            driver.kill()
    assert within(30, lambda: not any(map(alive, family)))
    assert within(
        30, lambda: not running("ray_serve_app.py") and not running("ray::ServeReplica:longharness")
    )
    check(run, capsys)


def check(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every episode has one result, rebuilt from its record; neither prompts nor keys are in the logs."""
    episodes = tables.read(run, "episodes").to_pylist()
    turns = tables.read(run, "turns").to_pylist()
    requests = tables.read(run, "requests").to_pylist()
    parsed = [turn for turn in turns if turn["error_code"] != "malformed_response"]
    failed = [request for request in requests if request["error"]]
    with capsys.disabled():
        print(
            f"\n{len(parsed)} of {len(turns)} turns parsed; {len(failed)} of {len(requests)} requests failed"
        )
    assert len({episode["episode_id"] for episode in episodes}) == len(episodes) == EPISODES
    assert {episode["status"] for episode in episodes} <= {"answered", "turns_exhausted"}
    assert len(parsed) >= 0.8 * len(turns)
    assert failed  # those that the killed replica had in hand, made good after it
    assert sum(request["cached_tokens"] or 0 for request in requests) > 0
    assert not replay_run(run).mismatches
    metrics = tables.read(run, "serving").to_pylist()
    assert {"num_requests_running", "prefix_cache_hits_total"} <= {row["metric"] for row in metrics}
    assert {row["replica"] for row in metrics} == {request["replica"] for request in requests}
    logged = b"".join(path.read_bytes() for path in (run / "logs").rglob("*") if path.is_file())
    assert b"longharness" in logged and CANARY.encode() not in logged
    question = tables.read_plan(run).to_pylist()[0]["question"]
    assert question.encode() not in logged
