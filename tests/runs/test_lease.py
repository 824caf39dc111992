"""One driver for a run folder."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pipeline.errors import RunError
from pipeline.runs import lease as leases
from pipeline.runs.folder import RunFolder
from pipeline.runs.lease import Lease, current, process_start
from tests.runs.observe import wait_for


def lease(folder: RunFolder, **holder: object) -> None:
    me = {"host": socket.gethostname(), "pid": os.getpid(), "started": process_start(os.getpid())}
    folder.lease.write_text(json.dumps(me | {"heartbeat": time.time()} | holder))


def test_a_living_driver_keeps_others_out(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    with Lease(folder):
        assert current(folder) is not None
        with pytest.raises(RunError, match=f"process {os.getpid()} on {socket.gethostname()}"), Lease(folder):
            pass
    assert current(folder) is None and not folder.lease.exists()


def test_the_lease_of_a_dead_process_is_taken_over(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    lease(folder, pid=dead.pid, started="some time ago")
    with Lease(folder):
        holder = current(folder)
        assert holder is not None and holder["pid"] == os.getpid()


def test_a_process_id_that_is_used_again_is_not_the_holder(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    lease(folder, started="another boot:1")
    with Lease(folder):
        pass


def test_a_holder_on_another_host_lives_by_its_heartbeat(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    lease(folder, host="elsewhere", heartbeat=time.time() - 5)
    with pytest.raises(RunError, match="on elsewhere"), Lease(folder):
        pass
    lease(folder, host="elsewhere", heartbeat=time.time() - 3_600)
    with Lease(folder):
        pass


@pytest.mark.parametrize("content", ["", '{"host": "x', "[]", '{"pid": 1}'])
def test_a_torn_lease_is_nobodys(tmp_path: Path, content: str) -> None:
    folder = RunFolder(tmp_path)
    folder.lease.write_text(content)
    with Lease(folder):
        pass


def test_a_driver_learns_that_another_took_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "HEARTBEAT_SECONDS", 0.01)
    folder = RunFolder(tmp_path)
    with Lease(folder) as held:
        lease(folder, host="elsewhere")
        wait_for(lambda: held.lost, 20)
    holder = current(folder)
    assert holder is not None and holder["host"] == "elsewhere"


def test_a_lease_that_cannot_be_renewed_for_long_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "HEARTBEAT_SECONDS", 0.01)
    monkeypatch.setattr(leases, "STALE_SECONDS", 0.05)
    folder = RunFolder(tmp_path)
    with Lease(folder) as held:
        folder.lease.unlink()
        folder.lease.mkdir()
        wait_for(lambda: held.lost, 20)
        folder.lease.rmdir()


@pytest.mark.parametrize("odd", [{"pid": "x"}, {"heartbeat": None}, {"pid": [1]}])
def test_a_lease_that_names_nobody_is_taken_over(tmp_path: Path, odd: dict[str, object]) -> None:
    folder = RunFolder(tmp_path)
    lease(folder, **odd)
    with Lease(folder):
        pass


def test_a_folder_that_cannot_be_made_is_named_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match=r"file/run can't be made .* choose another with root="):
        RunFolder(tmp_path / "file" / "run").create()


@pytest.mark.parametrize(
    "record", ['{"schema_version": 1}', "[]", '{"schema_version": 1, "arms": [], "corpora": 1}']
)
def test_a_record_without_its_parts_is_damaged(tmp_path: Path, record: str) -> None:
    folder = RunFolder(tmp_path)
    folder.record.write_text(record)
    with pytest.raises(RunError, match="is damaged"):
        folder.read_record()
