"""The main job with a real vLLM that it starts: on Ray, with driver and replica killed meanwhile."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from pipeline.runs import journal, tables
from pipeline.runs.replay import replay_run
from tests.backbone.serving.processes import alive, descendants, running, within
from tests.backbone.vllm_cpu.server import MODEL, STARTUP, searching, serving

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(1_500)]

EPISODES = 6


def options(folder: Path, model: Path) -> Path:
    """Write the options `backbone=tiny` and `serving=tiny`, as a user would."""
    backbone = {
        "defaults": ["custom", "_self_"],
        "name": "tiny",
        "model": MODEL,
        "max_tokens": 1_024,
        "sampling": {"temperature": 1.0, "extra": searching(model)},
        "server": {"weights": str(model), "tool_call_parser": "hermes"},
        "traffic": {"metrics_interval": 1.0},
    }
    given = asdict(serving())
    given["placement"] = "ray"
    vllm = {"defaults": ["vllm", "_self_"], **given}
    for group, option in (("backbone", backbone), ("serving", vllm)):
        (folder / group).mkdir(parents=True)
        OmegaConf.save(OmegaConf.create(option), folder / group / "tiny.yaml")
    return folder


@contextmanager
def evaluate(conf: Path, root: Path, replicas: int) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "pipeline", "evaluate", "--config-dir", str(conf)]
    command += ["backbone=tiny", "serving=tiny", f"serving.replicas={replicas}", f"root={root}", "run=vllm"]
    command += ["benchmark.tokens=20000", "benchmark.questions_per_kind=1", "tasks.limit=3", "seeds=2"]
    command += ["harness.budget.turns=6", "harness.action.max_string=16", "harness.document_map_tokens=300"]
    command += ["actors.count=1", "actors.episodes=3"]
    environment = os.environ | {"LONGHARNESS_CACHE": str(root / "cache")}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as driver:
        yield driver
        driver.kill()


def finished(run: Path) -> int:
    return sum(attempt.finished for attempt in journal.scan(run / "journal"))


def taken(run: Path) -> int:
    """Turns of all attempts."""
    return sum(attempt.turns for attempt in journal.scan(run / "journal"))


def server(log: Path) -> int:
    """The process of the API server that `log` is of."""
    port = re.findall(r"--port (\d+)", log.read_text())[-1]
    found = running(f"--port {port}")
    (pid,) = [p for p in found if "supervise.py" not in Path(f"/proc/{p}/cmdline").read_text()]
    return pid


def test_no_result_is_lost_when_the_driver_and_then_a_replica_is_killed(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    conf, run = options(tmp_path / "conf", model), tmp_path / "vllm"
    others = set(running(str(model)))  # the server that other tests share, if it is up
    log = run / "logs/serving-0-tiny/vllm-0.log"
    with evaluate(conf, tmp_path, replicas=1) as driver:
        assert within(STARTUP, lambda: driver.poll() is not None or finished(run) >= 1)
        assert driver.poll() is None, driver.stderr and driver.stderr.read()[-3_000:]
        family = [server(log), *descendants(server(log))]
        assert len(family) >= 2  # vLLM's engine is a process of its own
        driver.send_signal(signal.SIGKILL)
        assert within(30, lambda: not any(map(alive, family)))
    before, turns = finished(run), taken(run)
    assert 1 <= before < EPISODES
    with evaluate(conf, tmp_path, replicas=2) as driver:
        assert within(STARTUP, lambda: driver.poll() is not None or taken(run) > turns + 1)
        assert driver.poll() is None, driver.stderr and driver.stderr.read()[-3_000:]
        other = log.with_name("vllm-1.log")
        families = [[server(one), *descendants(server(one))] for one in (log, other)]
        os.kill(families[1][0], signal.SIGKILL)
        assert finished(run) < EPISODES
        assert within(30, lambda: not any(map(alive, families[1])))  # its engine too
        _, said = driver.communicate(timeout=STARTUP)
        assert driver.returncode == 0, said[-3_000:]
    assert "start 1 of 5 anew" in other.read_text()
    assert within(30, lambda: not any(map(alive, families[0])) and set(running(str(model))) <= others)
    check(run, capsys)


def check(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every episode has one result, rebuilt from its record; the servers' own metrics are there."""
    episodes = tables.read(run, "episodes").to_pylist()
    turns = tables.read(run, "turns").to_pylist()
    requests = tables.read(run, "requests").to_pylist()
    parsed = [turn for turn in turns if turn["error_code"] != "malformed_response"]
    valid = [turn for turn in turns if turn["valid"]]
    failed = [request for request in requests if request["error"]]
    with capsys.disabled():
        print(f"\n{len(valid)} valid of {len(turns)} turns; {len(failed)} of {len(requests)} requests failed")
    assert len({episode["episode_id"] for episode in episodes}) == len(episodes) == EPISODES
    assert {episode["status"] for episode in episodes} <= {"answered", "turns_exhausted"}
    assert len(parsed) >= 0.8 * len(turns)
    assert len(valid) >= 0.2 * len(turns)
    answered = [request for request in requests if request["error"] is None]
    assert len(answered) == len(turns)
    assert all(request["prompt_tokens"] > 0 for request in answered)
    assert sum(request["cached_tokens"] for request in answered) > 0
    assert len({request["replica"] for request in answered}) >= 2
    assert not replay_run(run).mismatches
    metrics = tables.read(run, "serving").to_pylist()
    assert {"num_requests_running", "prefix_cache_hits_total"} <= {row["metric"] for row in metrics}
    assert max(row["value"] for row in metrics if row["metric"] == "prefix_cache_hits_total") > 0
