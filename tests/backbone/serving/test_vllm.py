"""Replicas that the run starts and keeps up, by a program that is called as vLLM is: see `stand_in`."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import ray
from ray.cluster_utils import Cluster

from pipeline.backbone.client import ChatClient
from pipeline.backbone.serving import Endpoint
from pipeline.backbone.serving.config import Placement, ServerConfig, VLLMConfig
from pipeline.backbone.serving.replica import Port
from pipeline.backbone.serving.vllm import serve, visible_gpus
from pipeline.errors import BackboneUnavailable, ConfigError
from pipeline.runs.cluster import Cluster as RunCluster
from tests.backbone.requests import ask, hasty
from tests.backbone.serving.processes import alive, running, within

STAND_IN = [sys.executable, "-m", "tests.backbone.serving.stand_in"]
ROOT = Path(__file__).resolve().parents[3]


def config(**fields: Any) -> VLLMConfig:
    given: dict[str, Any] = {"gpus": 0, "env": {"PYTHONPATH": str(ROOT)}, "startup_timeout": 60.0}
    return VLLMConfig(command=STAND_IN, **given | fields)


def family(log: Path) -> list[int]:
    """The server and its child, of the latest start."""
    assert within(20, lambda: "pids" in log.read_text()), log.read_text()
    return [int(word) for word in log.read_text().rpartition("pids ")[2].split()[:2]]


def environment(log: Path) -> dict[str, str]:
    line = log.read_text().rpartition("environment ")[2].splitlines()[0]
    found: dict[str, str] = json.loads(line)
    return found


async def replied(url: str, endpoint: Endpoint) -> str:
    async with ChatClient(Endpoint((url,), endpoint.model, node_local=True), hasty(patience=30.0)) as client:
        return (await client.complete(ask(max_tokens=64))).text


async def test_every_replica_answers_and_all_end_with_the_block(tmp_path: Path) -> None:
    with serve(config(replicas=2), hasty(), tmp_path) as endpoint:
        assert endpoint.node_local and len(endpoint.urls) == 2
        families = [pid for n in range(2) for pid in family(tmp_path / f"vllm-{n}.log")]
        assert all(map(alive, families)) and len(set(families)) == 4
        assert [await replied(url, endpoint) for url in endpoint.urls] == [
            f"from {url.split(':')[2].removesuffix('/v1')}" for url in endpoint.urls
        ]
        assert endpoint.metrics == tuple(url.replace("/v1", "/metrics") for url in endpoint.urls)
    assert not any(map(alive, families))


@pytest.mark.parametrize("victim", ["server", "both"])
async def test_a_replica_that_dies_is_started_anew_at_its_old_address(victim: str, tmp_path: Path) -> None:
    log = tmp_path / "vllm-0.log"
    with serve(config(), hasty(), tmp_path) as endpoint:
        server, child = family(log)
        for pid in (server, child) if victim == "both" else (server,):
            os.kill(pid, signal.SIGKILL)
        assert within(20, lambda: not alive(child))  # what the dead server left
        assert (await replied(endpoint.urls[0], endpoint)).startswith("from")
        assert within(20, lambda: log.read_text().count("pids") == 2)
        again = family(log)
        assert not {server, child} & set(again)
    assert not any(map(alive, again))
    assert "start 1 of 5 anew" in log.read_text()


def test_a_replica_that_keeps_dying_is_given_up(tmp_path: Path) -> None:
    log = tmp_path / "vllm-0.log"
    with serve(config(restarts=1), hasty(), tmp_path):
        os.kill(family(log)[0], signal.SIGKILL)
        assert within(20, lambda: log.read_text().count("pids") == 2)
        os.kill(family(log)[0], signal.SIGKILL)
        assert within(20, lambda: "it is given up" in log.read_text())


def test_a_server_that_can_not_start_is_an_error_with_its_log_and_no_second_try(tmp_path: Path) -> None:
    with (
        pytest.raises(BackboneUnavailable, match=r"ended before it answered(?s:.*)no such flag"),
        serve(config(flags={"fail": True}), hasty(), tmp_path),
    ):
        pass
    assert (tmp_path / "vllm-0.log").read_text().count("no such flag") == 1


def test_a_server_that_never_answers_is_given_up(tmp_path: Path) -> None:
    silent = config(startup_timeout=1.0)
    silent.command = [sys.executable, "-c", "import time; print('silent', flush=True); time.sleep(600)"]
    with pytest.raises(BackboneUnavailable, match="startup_timeout"), serve(silent, hasty(), tmp_path):
        pass
    assert not running("print('silent', flush=True)")


def test_the_port_is_kept_between_two_starts() -> None:
    port = Port("127.0.0.1", None)
    with pytest.raises(ConfigError, match=r"serving\.port"):
        Port("127.0.0.1", port.number)
    port.close()
    Port("127.0.0.1", port.number).close()


def test_the_server_is_given_what_it_needs_and_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTHER_API_KEY", "sk-canary")
    monkeypatch.setenv("SERVED_KEY", "sk-served")
    serving = config(api_key_env="SERVED_KEY", hf_home=str(tmp_path / "weights"))
    with serve(serving, hasty(), tmp_path) as endpoint:
        seen = environment(tmp_path / "vllm-0.log")
    assert endpoint.api_key_env == "SERVED_KEY"
    assert (seen["VLLM_API_KEY"], seen["HF_HOME"]) == ("sk-served", str(tmp_path / "weights"))
    assert "sk-canary" not in json.dumps(seen)


def test_replicas_of_one_machine_get_gpus_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,5,6,7")
    backbone = hasty()
    backbone.server = ServerConfig(tensor_parallel=2)
    with serve(config(gpus=4, placement=Placement.local), backbone, tmp_path):
        seen = [environment(tmp_path / f"vllm-{n}.log")["CUDA_VISIBLE_DEVICES"] for n in range(2)]
    assert seen == ["3,5", "6,7"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert visible_gpus() == []
    with (
        pytest.raises(ConfigError, match=r"4 are needed, 0 are visible"),
        serve(config(gpus=4, placement=Placement.local), backbone, tmp_path),
    ):
        pass


DRIVER = """
import sys, time
import ray
from pathlib import Path
from tests.backbone.requests import hasty
from tests.backbone.serving.test_vllm import config
from pipeline.backbone.serving.config import Placement
from pipeline.backbone.serving.vllm import serve
placement = Placement(sys.argv[2])
if placement is Placement.ray:
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
with serve(config(replicas=2, cpus=0.1, placement=placement), hasty(), Path(sys.argv[1])):
    print("up", flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize(
    ("placement", "sign"), [("local", signal.SIGKILL), ("local", signal.SIGINT), ("ray", signal.SIGKILL)]
)
def test_no_replica_outlives_a_killed_driver(placement: str, sign: signal.Signals, tmp_path: Path) -> None:
    token = {"RAY_AUTH_TOKEN": "a-token-of-the-tests-" + "0" * 32, "RAY_USAGE_STATS_ENABLED": "0"}
    with subprocess.Popen(
        (sys.executable, "-c", DRIVER, str(tmp_path), placement),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | token | {"PYTHONPATH": str(ROOT)},
    ) as driver:
        assert driver.stdout is not None and driver.stdout.readline() == b"up\n"
        families = [pid for n in range(2) for pid in family(tmp_path / f"vllm-{n}.log")]
        driver.send_signal(sign)
        driver.wait(30)
    assert within(60, lambda: not any(map(alive, families)))


@pytest.fixture
def nodes(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    """Two nodes with two (logical) GPUs each."""
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("RAY_AUTH_TOKEN", "a-token-of-the-tests-" + "0" * 32)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    ray.shutdown()
    cluster = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 2, "num_gpus": 2, "include_dashboard": False}
    )
    cluster.add_node(num_cpus=2, num_gpus=2)
    ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
    try:
        yield cluster
    finally:
        ray.shutdown()
        cluster.shutdown()


def test_ray_places_replicas_on_the_gpus_of_any_node(nodes: Cluster, tmp_path: Path) -> None:
    backbone = hasty()
    backbone.server = ServerConfig(tensor_parallel=2)
    logs = [tmp_path / f"vllm-{n}.log" for n in range(2)]
    with serve(config(gpus=4), backbone, tmp_path) as endpoint:
        assert not endpoint.node_local  # of two nodes: they listen on their nodes' addresses
        families = [pid for log in logs for pid in family(log)]
        for log in logs:
            assert len(environment(log)["CUDA_VISIBLE_DEVICES"].split(",")) == 2
        assert ray.available_resources().get("GPU", 0) == 0
        with (
            pytest.raises(ConfigError, match=r"other backbones hold 4 of the cluster's 4"),
            serve(config(gpus=2), backbone, tmp_path / "other"),
        ):
            pass
        assert RunCluster("of no node").cpus(node_local=False) == 4 - 2  # left for episodes
        assert all(asyncio.run(replied(url, endpoint)) for url in endpoint.urls)
        os.kill(family(logs[1])[0], signal.SIGKILL)
        assert asyncio.run(replied(endpoint.urls[1], endpoint))
        families += family(logs[1])
    assert within(20, lambda: not any(map(alive, families)))
    assert within(20, lambda: ray.available_resources().get("GPU", 0) == 4)
    backbone.server = ServerConfig(tensor_parallel=3)
    with (
        pytest.raises(ConfigError, match=r"don't fit into the cluster.*a replica lies on one node"),
        serve(config(gpus=3), backbone, tmp_path),
    ):
        pass
    absent = config(placement=Placement.ray)
    absent.command = ["no-such-program"]
    with pytest.raises(ConfigError, match="no-such-program"), serve(absent, hasty(), tmp_path):
        pass
    with (
        pytest.raises(ConfigError, match=r"serving\.cpus: .*leave none for episodes"),
        serve(config(replicas=2, cpus=2.0, placement=Placement.ray), hasty(), tmp_path),
    ):
        pass
    with (
        pytest.raises(BackboneUnavailable, match="no such flag"),
        serve(config(flags={"fail": True}, placement=Placement.ray), hasty(), tmp_path),
    ):
        pass


def test_placement_by_ray_needs_a_cluster(tmp_path: Path) -> None:
    ray.shutdown()
    with (
        pytest.raises(ConfigError, match="joined no Ray cluster"),
        serve(config(placement=Placement.ray), hasty(), tmp_path),
    ):
        pass
