"""Served processes: what they see, when they are ready, and that none outlives the run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.backbone.client import ChatClient
from pipeline.backbone.config import ProcessConfig
from pipeline.backbone.serving import process
from pipeline.backbone.serving.process import serve, supervised
from pipeline.errors import BackboneUnavailable, ConfigError
from tests.backbone.requests import ask, hasty
from tests.backbone.serving.processes import alive, running, within

# A server with a child of its own, as an inference engine has; both say who they are.
FAMILY = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print("pids", os.getpid(), child.pid, flush=True)
time.sleep(600)
"""
# A child that left its group and session, and lost its parent, as a daemon does.
DAEMON = """
import os, subprocess, sys, time
leaving = '''import subprocess as s, sys
sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
print(s.Popen(sleep, start_new_session=True, stdout=s.DEVNULL, stderr=s.DEVNULL).pid)'''
left = subprocess.run([sys.executable, "-c", leaving], stdout=subprocess.PIPE, text=True).stdout.strip()
print("pids", os.getpid(), left, flush=True)
time.sleep(600)
"""
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + FAMILY


def pids(log: Path) -> list[int]:
    assert within(10, lambda: b"pids" in log.read_bytes()), log.read_text()
    return [int(word) for word in log.read_text().split("pids")[1].split()]


@pytest.mark.parametrize("program", [FAMILY, STUBBORN, DAEMON])
def test_the_whole_family_ends_with_the_block(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "GRACE", 0.3)
    log = tmp_path / "log"
    with supervised((sys.executable, "-c", program), {}, log) as runs:
        family = pids(log)
        assert runs() and all(map(alive, family))
    assert within(5, lambda: not any(map(alive, family)))  # killed by now; the kernel may lag


def test_the_family_ends_when_the_block_fails(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with pytest.raises(KeyboardInterrupt), supervised((sys.executable, "-c", FAMILY), {}, log):
        family = pids(log)
        raise KeyboardInterrupt
    assert within(5, lambda: not any(map(alive, family)))  # killed by now; the kernel may lag


DRIVER = """
import sys, time
from pathlib import Path
from pipeline.backbone.serving.process import supervised
with supervised((sys.executable, "-c", sys.argv[2]), {}, Path(sys.argv[1])):
    time.sleep(600)
"""


@pytest.mark.parametrize("program", [FAMILY, DAEMON])
@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_process_outlives_a_killed_driver(sign: signal.Signals, program: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.touch()
    with subprocess.Popen(
        (sys.executable, "-c", DRIVER, str(log), program), stderr=subprocess.DEVNULL
    ) as driver:
        family = pids(log)
        assert all(map(alive, family))
        driver.send_signal(sign)
        driver.wait(10)
    assert within(10, lambda: not any(map(alive, family)))
    assert within(10, lambda: not running(str(log)))


@pytest.mark.parametrize("program", [FAMILY, DAEMON])
def test_what_a_server_that_dies_alone_leaves_behind_ends_too(program: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with supervised((sys.executable, "-c", program), {}, log) as runs:
        server, child = pids(log)
        os.kill(server, signal.SIGKILL)
        assert within(10, lambda: not runs() and not alive(child))
    assert b"ended by itself" in log.read_bytes()


@pytest.mark.parametrize("program", [FAMILY, DAEMON])
@pytest.mark.parametrize("generation", [1, 2])
def test_a_supervisors_death_is_the_whole_familys(program: str, generation: int, tmp_path: Path) -> None:
    """There are two: the server's parent, and its parent in turn."""
    log = tmp_path / "log"
    with supervised((sys.executable, "-c", program), {}, log):
        family = pids(log)
        supervisor = family[0]
        for _ in range(generation):
            supervisor = _parent(supervisor)
        os.kill(supervisor, signal.SIGKILL)
        assert within(10, lambda: not any(map(alive, family)))


async def test_the_reference_policy_sees_neither_files_nor_variables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LONGHARNESS_SECRET", "gold")
    with serve(ProcessConfig(), hasty(), tmp_path) as endpoint:
        (url,) = endpoint.urls
        assert url.startswith("http://127.0.0.1:") and endpoint.node_local
        servers = [pid for pid in running("pipeline.backbone.reference") if _child_of_ours(pid)]
        (server,) = [pid for pid in servers if "supervise" not in Path(f"/proc/{pid}/cmdline").read_text()]
        assert not list(Path(f"/proc/{server}/cwd").iterdir())
        assert b"LONGHARNESS_SECRET" not in Path(f"/proc/{server}/environ").read_bytes()
        async with ChatClient(endpoint, hasty()) as client:
            assert (await client.complete(ask())).text
    assert not any(map(alive, servers))


def _child_of_ours(pid: int) -> bool:
    parent = _parent(pid)
    return parent == os.getpid() or (parent > 1 and _child_of_ours(parent))


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def test_a_module_that_ends_at_once_is_an_error_with_its_log(tmp_path: Path) -> None:
    with (
        pytest.raises(BackboneUnavailable, match=r"ended before it answered(?s:.*)error: argument infile"),
        serve(ProcessConfig(module="json.tool"), hasty(), tmp_path),
    ):
        pass


def test_a_module_that_never_listens_is_given_up(tmp_path: Path) -> None:
    config = ProcessConfig(module="asyncio", startup_timeout=0.5)  # an interpreter's prompt
    with pytest.raises(BackboneUnavailable, match="startup_timeout"), serve(config, hasty(), tmp_path):
        pass


@pytest.mark.parametrize("module", ["no_such_module", "pipeline.no_such_module"])
def test_an_unknown_module_is_a_config_error(module: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=module), serve(ProcessConfig(module=module), hasty(), tmp_path):
        pass
