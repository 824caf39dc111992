"""Processes that die in mid-episode, by real signals: no row is lost or doubled."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pipeline.runs import journal, tables
from pipeline.runs.replay import replay_run
from pipeline.runs.run import run
from tests.runs.observe import in_flight, rows, wait_for, writers
from tests.runs.sample import TURNS, DeadlyConfig, Server, arm, spec

DELAY = 0.3


@pytest.fixture
def undisturbed(cluster: None, tmp_path: Path, documents: Path, server: Server) -> dict[str, list[str]]:
    """The rows of the same run when nothing happens to it."""
    result = run(spec(tmp_path / "undisturbed", [arm("a", documents, server.url)]))
    assert result.complete
    server.delay = DELAY
    return rows(result.folder)


def test_a_killed_actor_costs_no_result(
    undisturbed: dict[str, list[str]], tmp_path: Path, documents: Path, server: Server
) -> None:
    folder = tmp_path / "run"
    struck: dict[int, str] = {}

    def strike() -> None:
        attempt = wait_for(lambda: in_flight(folder))[0]
        pid = next(pid for pid, segment in writers(folder).items() if segment == attempt.segment)
        os.kill(pid, signal.SIGKILL)
        struck[pid] = attempt.segment

    killer = threading.Thread(target=strike)
    killer.start()
    result = run(spec(tmp_path, [arm("a", documents, server.url)]))
    killer.join()
    died = [attempt for attempt in in_flight(folder) if attempt.segment in struck.values()]
    assert died, "no episode was in flight when the actor was killed"
    assert result.complete
    assert rows(folder) == undisturbed
    attempts = {e["episode_id"]: e["attempt"] for e in tables.read(folder, "episodes").to_pylist()}
    assert all(attempts[attempt.episode] == 2 for attempt in died)


@pytest.mark.heavy
@pytest.mark.timeout(600)  # it starts Ray anew, which takes long on a crowded machine
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_driver_that_ends_early_is_resumed(
    how: signal.Signals, undisturbed: dict[str, list[str]], tmp_path: Path, documents: Path, server: Server
) -> None:
    folder = tmp_path / "run"
    command = [sys.executable, "-m", "tests.runs.drive", str(tmp_path), str(documents), server.url]
    driver = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        wait_for(lambda: in_flight(folder) or driver.poll() is not None)
        assert driver.poll() is None, "the driver ended by itself"
        if how is signal.SIGINT:
            os.killpg(driver.pid, how)  # as a terminal does: Ray's processes get it, too
        else:
            driver.send_signal(how)
        said, _ = driver.communicate(timeout=60)
    finally:
        driver.kill()
    assert in_flight(folder), f"no episode was in flight when the driver got {how.name}"
    if how is signal.SIGINT:
        assert driver.returncode == 1 and json.loads(said)["stopped"]
        assert not writers(folder) and not (folder / "lease.json").exists()
    wait_for(lambda: not writers(folder))  # the actors end with their driver, whatever ended that

    accepted, _ = journal.settle(journal.scan(folder / "journal"), ())
    asked = server.asked
    result = run(spec(tmp_path, [arm("a", documents, server.url)]))
    assert result.complete
    assert rows(folder) == undisturbed
    ready = 1  # the first completion that an endpoint is asked for
    assert server.asked - asked == ready + TURNS * (result.total - len(accepted))
    assert not replay_run(folder).mismatches


def test_a_completed_run_does_nothing_when_resumed(
    undisturbed: dict[str, list[str]], tmp_path: Path, documents: Path, server: Server
) -> None:
    asked = server.asked
    result = run(spec(tmp_path / "undisturbed", [arm("a", documents, server.url)]))
    assert (result.finished, result.new, server.asked) == (6, 0, asked)
    assert rows(result.folder) == undisturbed


def test_parts_that_no_commit_names_are_removed_on_resume(
    undisturbed: dict[str, list[str]], tmp_path: Path, documents: Path, server: Server
) -> None:
    folder = tmp_path / "undisturbed" / "run"
    for name in ("part-torn.parquet", ".part-unfinished.parquet.1234"):
        (folder / "tables" / "turns" / name).write_bytes(b"PAR1 and no more")
    assert rows(folder) == undisturbed
    run(spec(tmp_path / "undisturbed", [arm("a", documents, server.url)]))
    assert len(list((folder / "tables" / "turns").iterdir())) == 1


def test_a_batch_that_was_never_committed_is_made_again_without_the_model(
    undisturbed: dict[str, list[str]], tmp_path: Path, documents: Path, server: Server
) -> None:
    folder = tmp_path / "undisturbed" / "run"
    for record in (folder / "tables" / "commits").iterdir():
        record.unlink()
    asked = server.asked
    result = run(spec(tmp_path / "undisturbed", [arm("a", documents, server.url)]))
    assert (result.new, server.asked) == (6, asked)
    assert rows(folder) == undisturbed


def test_episodes_whose_rows_no_worker_lives_to_make_are_owed_and_made_later(
    cluster: None, tmp_path: Path, documents: Path, server: Server
) -> None:
    trigger = tmp_path / "trigger"
    trigger.touch()
    deadly = arm("a", documents, server.url, DeadlyConfig(trigger=str(trigger)), tasks=2)
    result = run(spec(tmp_path, [deadly]))
    assert (result.finished, result.owed, sum(result.reasons.values())) == (0, 2, 2)
    trigger.unlink()
    asked = server.asked
    result = run(spec(tmp_path, [deadly]))
    assert (result.complete, result.new, server.asked) == (True, 2, asked)
