"""A run as a Ray job, on a cluster that asks for a token."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request, urlopen

import pytest

from pipeline.runs import tables
from pipeline.runs.replay import replay_run
from tests.conftest import ROOT

START_SECONDS = 90.0


@dataclass(frozen=True)
class Head:
    address: str
    environment: dict[str, str]


def free_ports(count: int) -> list[int]:
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def answers(address: str, token: str) -> bool:
    asked = Request(f"{address}/api/version", headers={"Authorization": f"Bearer {token}"})
    try:
        return bool(urlopen(asked, timeout=5).status == 200)
    except (URLError, OSError):
        return False


@pytest.fixture
def head() -> Iterator[Head]:
    """A head node on loopback, with its job server; ended by its process group."""
    token = secrets.token_hex(32)
    gcs, dashboard, agent, client = free_ports(4)
    clean = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    environment = clean | {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": token,
        "RAY_USAGE_STATS_ENABLED": "0",
        "PATH": f"{Path(sys.executable).parent}:{clean['PATH']}",
    }
    with tempfile.TemporaryDirectory(prefix="ray", dir="/tmp", ignore_cleanup_errors=True) as folder:
        command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block"]
        command += [f"--port={gcs}", f"--dashboard-port={dashboard}", f"--ray-client-server-port={client}"]
        command += [f"--dashboard-agent-listen-port={agent}", f"--temp-dir={folder}", "--num-cpus=2"]
        command += [
            "--node-ip-address=127.0.0.1",
            "--dashboard-host=127.0.0.1",
            "--object-store-memory=200000000",
        ]
        process = subprocess.Popen(
            command, env=environment, stdout=subprocess.DEVNULL, start_new_session=True
        )
        address = f"http://127.0.0.1:{dashboard}"
        try:
            deadline = time.monotonic() + START_SECONDS
            while not answers(address, token):
                assert process.poll() is None and time.monotonic() < deadline, "the head did not come up"
                time.sleep(0.2)
            yield Head(address, environment)
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(20)
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()


@pytest.mark.heavy
@pytest.mark.timeout(900)
def test_the_quick_start_as_a_submitted_job_fills_its_folder(head: Head, tmp_path: Path) -> None:
    assert not answers(head.address, "not the token")
    environment = head.environment | {
        "RAY_API_SERVER_ADDRESS": head.address,
        "LONGHARNESS_CACHE": str(tmp_path / "cache"),
        "LONGHARNESS_VENV": str(Path(sys.executable).parent.parent),
    }
    submit = ROOT / "jobs" / "submit.sh"
    command = ["bash", str(submit), f"root={tmp_path}", "run=job", "experiment=quickstart"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=800, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    episodes = tables.read(tmp_path / "job", "episodes").to_pylist()
    assert len(episodes) == tables.read_plan(tmp_path / "job").num_rows == 58
    assert tables.read(tmp_path / "job", "scores").num_rows
    assert not replay_run(tmp_path / "job").mismatches
