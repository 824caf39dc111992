"""`longharness serve` as a job on a cluster whose Serve has another application: it takes down its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.backbone.ray_serve_cpu.options import options
from tests.backbone.serving.processes import running, within
from tests.backbone.vllm_cpu.server import STARTUP, python
from tests.runs.test_job import Head, free_ports, head

__all__ = ["head"]  # a fixture
pytestmark = [pytest.mark.heavy, pytest.mark.timeout(900)]

OTHER = """
import sys

import ray
from ray import serve

ray.init(address="auto", runtime_env={"py_executable": sys.executable}, log_to_driver=False)

@serve.deployment(ray_actor_options={"num_cpus": 0})
class Other:
    async def __call__(self, request):
        return "still here"

if sys.argv[1] == "end":
    serve.shutdown()
    sys.exit()
serve.start(proxy_location="HeadOnly", http_options={"host": "127.0.0.1", "port": int(sys.argv[1])})
serve.run(Other.bind(), name="other", route_prefix="/other")
"""


def submit(head: Head, *words: str) -> None:
    command = [
        sys.executable,
        "-m",
        "ray.scripts.scripts",
        "job",
        "submit",
        "--address",
        head.address,
        *words,
    ]
    done = subprocess.run(command, env=head.environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3_000:] + done.stderr[-3_000:]


def test_killed_it_is_taken_down_and_the_other_application_stays(
    head: Head, model: Path, tmp_path: Path
) -> None:
    (port,) = free_ports(1)
    other = tmp_path / "other.py"
    other.write_text(OTHER, encoding="utf-8")
    submit(head, "--", str(python()), str(other), str(port))
    conf = options(tmp_path / "conf", model)
    serve = f"python -m pipeline serve --config-dir {conf} backbone=tiny serving=tiny root={tmp_path}"
    submit(head, "--no-wait", "--", *serve.split(), "cluster=existing")
    log = tmp_path / "serving/tiny/ray_serve.log"
    assert within(STARTUP, lambda: bool(running("ray::ServeReplica:longharness-"))), log.read_text()
    verb = [pid for pid in running(str(conf)) if "pipeline" in Path(f"/proc/{pid}/cmdline").read_text()]
    assert verb
    for pid in verb:
        os.kill(pid, signal.SIGKILL)
    assert within(90, lambda: not running("ray::ServeReplica:longharness-") and not running(str(log.parent)))
    with urlopen(f"http://127.0.0.1:{port}/other", timeout=30) as response:
        assert response.read() == b"still here"
    submit(head, "--", str(python()), str(other), "end")
