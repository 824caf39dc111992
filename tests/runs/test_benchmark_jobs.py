"""The main job on the other benchmarks: real documents and a scripted judge, many corpora, letters."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pipeline.runs import tables
from tests.benchmarks.longbench_v2.published import row, write
from tests.conftest import ROOT
from tests.judge_server import judge_server


def longharness(*arguments: str, cache: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"LONGHARNESS_CACHE": str(cache), "RAY_USAGE_STATS_ENABLED": "0"}
    command = (sys.executable, "-m", "pipeline", *arguments)
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)


def summary(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr[-2_000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.heavy
@pytest.mark.timeout(1_200)
def test_a_hundred_questions_over_thirty_sets_of_documents_are_judged(shared: Path, tmp_path: Path) -> None:
    run = ("backbone=reference", f"root={tmp_path}", "run=aa_lcr")
    questions = f"benchmark.questions={shared / 'data/aa_lcr.parquet'}"
    with judge_server() as server:
        judge = ("judge=endpoint", "judge.model=scripted", f"judge.urls=[{server.url}]")
        job = ("evaluate", "benchmark=aa_lcr", questions, *run, *judge, "--json")
        (arm,) = summary(longharness(*job, cache=tmp_path / "cache"))["arms"]
        asked = len(server.bodies)
        scored = longharness("score", str(tmp_path / "aa_lcr"), "--json", cache=tmp_path / "cache")
        assert len(server.bodies) == asked  # what was judged is judged
    assert summary(scored)["arms"][0]["figures"] == arm["figures"]
    figures = arm["figures"]
    assert (figures["done"], figures["owed"]) == (100, 0)
    ((label, rates),) = figures["rates"].items()
    assert label.startswith("equality ") and label.endswith(" by scripted")
    assert rates["correct"]["unscored"] == 0
    judgements = tables.read(tmp_path / "aa_lcr", "judgements").to_pylist()
    answered = tables.read(tmp_path / "aa_lcr", "episodes").to_pylist()
    assert {one["episode_id"] for one in judgements} == {
        one["episode_id"] for one in answered if one["status"] == "answered"
    }
    assert {one["verdict"] for one in judgements} <= {"correct", "incorrect"}
    assert all(one["prompt_tokens"] > 0 and one["model"] for one in judgements)
    assert len({one["corpus_id"] for one in answered}) == 30


@pytest.mark.heavy
def test_long_documents_of_their_own_are_asked_for_a_letter(tmp_path: Path) -> None:
    data = write(tmp_path, [row(number) for number in range(6)])
    job = ("benchmark=longbench_v2_long", f"benchmark.questions={data}", "backbone=reference")
    where = (f"root={tmp_path}", "run=long", "actors.count=2")
    refused = longharness("evaluate", *job, *where, cache=tmp_path / "cache")
    assert refused.returncode == 2
    assert "questions 6 (published 108)" in refused.stderr
    job += ("benchmark.allow_other_revision=true",)
    (arm,) = summary(longharness("evaluate", *job, *where, "--json", cache=tmp_path / "cache"))["arms"]
    assert arm["revision"] == "other revision: questions 6 (published 108)"
    assert arm["figures"]["done"] == 6
    assert arm["by"].keys() == {"difficulty", "domain"}
    episodes = tables.read(tmp_path / "long", "episodes").to_pylist()
    assert {one["answer"] for one in episodes} <= set("ABCD")
    scores = {one["episode_id"]: one["value"] for one in tables.read(tmp_path / "long", "scores").to_pylist()}
    golds = {one["task_id"]: one["answer"] for one in tables.read_gold(tmp_path / "long").to_pylist()}
    assert scores == {one["episode_id"]: float(one["answer"] == golds[one["task_id"]]) for one in episodes}


@pytest.mark.heavy
def test_answers_that_need_a_judge_are_unscored_without_one(shared: Path, tmp_path: Path) -> None:
    questions = f"benchmark.questions={shared / 'data/aa_lcr.parquet'}"
    job = ("benchmark=aa_lcr", questions, "backbone=reference", "tasks.limit=2", "actors.count=1")
    done = longharness("evaluate", *job, f"root={tmp_path}", "run=unjudged", cache=tmp_path / "cache")
    assert done.returncode == 1
    assert "judge=" in done.stderr
    assert "2 finished episodes are unscored" in done.stdout
