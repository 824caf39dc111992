"""Finished episodes that are run again, and what of a run's requests and servers is recorded."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import ConfigError
from pipeline.runs import journal, tables
from pipeline.runs.config import TasksConfig
from pipeline.runs.folder import RunFolder
from pipeline.runs.library import Library
from pipeline.runs.replay import replay_run
from pipeline.runs.run import RunResult, look, run
from pipeline.runs.spec import ArmSpec
from pipeline.runs.standing import Counts
from tests.runs.sample import TURNS, Server, arm, spec

pytestmark = pytest.mark.usefixtures("cluster")

FAILED = "model_request_failed"


def failing(documents: Path, server: Server, *retry: str) -> ArmSpec:
    """Two tasks whose prompts don't fit while the server is narrow."""
    made = arm("a", documents, server.url, question="OVERLONG? department {n}", tasks=2)
    return replace(made, tasks=TasksConfig(retry_status=list(retry)))


def episodes(folder: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = tables.read(folder, "episodes").to_pylist()
    return rows


def lines(folder: Path) -> list[bytes]:
    return [line for path in (folder / "journal").iterdir() for line in path.read_bytes().splitlines()]


def failed_run(root: Path, documents: Path, server: Server) -> RunResult:
    result = run(spec(root, [failing(documents, server), arm("b", documents, server.url, tasks=1)]))
    assert Counter(e["status"] for e in episodes(result.folder)) == {FAILED: 2, "answered": 1}
    return result


def again(root: Path, documents: Path, server: Server, *retry: str) -> RunResult:
    others = arm("b", documents, server.url, tasks=1)
    return run(spec(root, [failing(documents, server, *retry), others]))


def test_episodes_that_failed_run_again_and_take_the_place_of_the_old(
    tmp_path: Path, documents: Path, server: Server
) -> None:
    folder = failed_run(tmp_path, documents, server).folder
    before, untouched = lines(folder), [e for e in episodes(folder) if e["arm"] == "b"]
    _, found = look(spec(tmp_path, [failing(documents, server, FAILED)]), Library())
    assert found.total == Counts(done=0, owed=2, new=0, again=2)
    server.narrow = False
    result = again(tmp_path, documents, server, FAILED)
    assert (result.new, result.complete) == (2, True)
    after = episodes(folder)
    assert {(e["status"], e["attempt"]) for e in after if e["arm"] == "a"} == {("answered", 2)}
    assert [e for e in after if e["arm"] == "b"] == untouched
    counts = Counter(turn["episode_id"] for turn in tables.read(folder, "turns").to_pylist())
    assert set(counts.values()) == {TURNS} and len(counts) == len(after) == 3
    assert not any(r["error"] for r in tables.read(folder, "requests").to_pylist())
    # Nothing is lost in the journal, and of each episode exactly one attempt counts.
    assert set(before) < set(lines(folder))
    finished = Counter(a.episode for a in journal.scan(folder / "journal") if a.finished)
    assert set(finished.values()) == {1}
    replayed = replay_run(folder)
    assert (replayed.episodes, replayed.mismatches) == (3, [])


def test_without_it_a_finished_episode_stays_as_it_is(
    tmp_path: Path, documents: Path, server: Server
) -> None:
    folder = failed_run(tmp_path, documents, server).folder
    before = episodes(folder)
    server.narrow = False
    assert again(tmp_path, documents, server).new == 0
    assert again(tmp_path, documents, server, "turns_exhausted").new == 0
    assert episodes(folder) == before


def test_a_retry_that_is_interrupted_leaves_the_episode_owed_and_its_old_end_in_no_table(
    tmp_path: Path, documents: Path, server: Server
) -> None:
    folder = failed_run(tmp_path, documents, server).folder
    server.unavailable = "OVERLONG"
    result = again(tmp_path, documents, server, FAILED)
    assert (result.owed, {e["arm"] for e in episodes(folder)}) == (2, {"b"})
    server.unavailable, server.narrow = "UNAVAILABLE", False
    # Without the option, too: they are owed like any others.
    assert again(tmp_path, documents, server).complete
    assert {e["status"] for e in episodes(folder)} == {"answered"}


def test_a_crash_between_the_journal_and_the_tables_is_made_good(
    tmp_path: Path, documents: Path, server: Server
) -> None:
    folder = failed_run(tmp_path, documents, server).folder
    attempts = journal.scan(folder / "journal")
    journal.retire(folder / "journal", [a for a in attempts if a.status == FAILED])
    assert {e["status"] for e in episodes(folder)} == {FAILED, "answered"}  # as the crash left it
    server.narrow = False
    assert again(tmp_path, documents, server).new == 2
    assert {e["status"] for e in episodes(folder)} == {"answered"} and len(episodes(folder)) == 3


def test_a_status_that_no_finished_episode_has_is_refused(
    tmp_path: Path, documents: Path, server: Server
) -> None:
    for status in ("interrupted", "failed"):
        with pytest.raises(ConfigError, match="model_request_failed"):
            again(tmp_path, documents, server, status)


def test_what_each_request_was_and_what_the_servers_are_is_recorded(
    tmp_path: Path, documents: Path, server: Server
) -> None:
    folder = run(spec(tmp_path, [arm("a", documents, server.url, tasks=2)], seeds=(0, 7))).folder
    requests = tables.read(folder, "requests").to_pylist()
    assert len({r["seed"] for r in requests} - {None}) == len(requests) == 2 * 2 * TURNS
    assert {r["sampling"] for r in requests} == {'{"max_tokens":4096}'}
    first = {r["prompt_sha256"] for r in requests if r["turn"] == 1}
    assert len(first) == 2  # one a task: seeds ask the same
    assert all(len(r["prompt_sha256"]) == 64 for r in requests)
    (entry,) = RunFolder(folder).read_record()["servers"]
    assert entry["backbone"] == "sample" and entry["model"] == "policy"
    assert [replica["replica"] for replica in entry["replicas"]] == [server.url[7:-3]]
    assert entry["serving"]["urls"] == [server.url]
    # The same servers again add nothing.
    run(spec(tmp_path, [arm("a", documents, server.url, tasks=3)], seeds=(0, 7)))
    assert len(json.loads((folder / "run.json").read_bytes())["servers"]) == 1
