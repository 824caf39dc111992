"""`longharness compare`: runs of the same seed, and arms of one run, over real tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.analysis import score
from pipeline.cli import main
from pipeline.harness.config import BudgetConfig, HarnessConfig
from pipeline.runs.run import run
from tests.runs.sample import TURNS, Server, arm, spec

pytestmark = pytest.mark.usefixtures("cluster")

SCORER = "pipeline.benchmarks.scorers.officeqa"


def compared(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    capsys.readouterr()
    assert main(["compare", "--json", *words]) == 0
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return found


def test_two_runs_of_the_same_seed_are_identical_until_the_server_replies_otherwise(
    tmp_path: Path, documents: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    arms = [arm("a", documents, server.url)]
    first = run(spec(tmp_path, arms, name="first")).folder
    again = run(spec(tmp_path, arms, name="again")).folder
    (found,) = compared(capsys, str(first), str(again))
    assert (found["names"], found["pairs"], found["identical"]) == (["first", "again"], 6, 6)
    assert (found["divergences"], found["changes"], found["median_turn"]) == ([], [], None)

    server.otherwise = "the outlays of department 3"
    other = run(spec(tmp_path, arms, name="other")).folder
    (found,) = compared(capsys, str(first), str(other))
    assert found["identical"] == 5
    (parted,) = found["divergences"]
    # The third reply is the first with a statement; until then both were asked alike.
    assert (parted["task_id"], parted["turn"], parted["same_prompt"]) == ("t3", 3, True)
    assert found["changes"] == []  # the same answer by another way
    assert main(["compare", str(first), str(other)]) == 0
    assert "t3 seed 0: from turn 3, asked alike" in capsys.readouterr().out


def test_two_arms_of_a_run_are_paired_by_task_and_seed(
    tmp_path: Path, documents: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    short = HarnessConfig(budget=BudgetConfig(turns=TURNS - 1))
    one = arm("a", documents, server.url, tasks=4)
    other = arm("b", documents, server.url, short, tasks=4)
    folder = run(spec(tmp_path, [one, other], seeds=(0, 1))).folder
    score(folder, [SCORER])
    (found,) = compared(capsys, str(folder))
    assert (found["names"], found["pairs"], found["identical"]) == (["a", "b"], 8, 0)
    assert len(found["changes"]) == 8
    assert {tuple(change["statuses"]) for change in found["changes"]} == {("answered", "turns_exhausted")}
    exact = next(paired for paired in found["scores"] if paired["metric"] == "exact")
    assert (exact["pairs"], exact["wins"], exact["losses"], exact["ties"]) == (8, 8, 0, 0)
    assert exact["means"] == [1.0, 0.0]
    # The other way about: the same pairs, with the signs turned.
    (turned,) = compared(capsys, str(folder), "--arms", "b", "a")
    exact = next(paired for paired in turned["scores"] if paired["metric"] == "exact")
    assert (exact["wins"], exact["losses"]) == (0, 8)


def test_what_cannot_be_paired_is_said(
    tmp_path: Path, documents: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = run(spec(tmp_path, [arm("a", documents, server.url, tasks=1)], name="one")).folder
    other = run(spec(tmp_path, [arm("a", documents, server.url, tasks=1)], name="two", seeds=(5,))).folder
    for words, said in (
        ([str(folder)], "has 1 arms: name two"),
        ([str(folder), str(other)], "no finished episode of the same benchmark, task and seed"),
        ([str(folder), "--arms", "a", "z"], "has no arm 'z'"),
        ([str(folder)] * 3, "one run or two"),
    ):
        assert main(["compare", *words]) == 2
        assert said in " ".join(capsys.readouterr().err.split())
