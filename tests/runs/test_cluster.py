"""The connection to a Ray cluster leaves standard output to results."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

LOSE_A_WORKER = """
import os, time
import ray
from pipeline.runs.cluster import connected
from pipeline.runs.config import ClusterConfig

@ray.remote(max_retries=0)
def die():
    os._exit(1)

with connected(ClusterConfig(num_cpus=1)):
    try:
        ray.get(die.remote())
    except ray.exceptions.WorkerCrashedError:
        pass
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and not os.path.getsize("said"):
        time.sleep(0.1)
print("the result")
"""


def test_what_befalls_a_worker_is_said_beside_the_results(tmp_path: Path) -> None:
    with (tmp_path / "said").open("w") as said:
        done = subprocess.run(
            [sys.executable, "-c", LOSE_A_WORKER],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=said,
            text=True,
        )
    told = (tmp_path / "said").read_text()
    assert done.returncode == 0, told
    assert done.stdout == "the result\n"
    assert "worker" in told
