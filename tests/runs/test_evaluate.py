"""`longharness evaluate`: what is said before and after a run, and what `--dry-run` refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.cli import main
from pipeline.runs import tables
from pipeline.runs.folder import RunFolder
from pipeline.runs.lease import Lease

pytestmark = pytest.mark.usefixtures("cluster")

QUESTION = "What were outlays in {month} 1953, in millions of dollars?"


class Mine:
    """A run `mine` of one's own two questions, and the commands about it."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = root / "outputs" / "mine"
        self._root = root
        self._capsys = capsys
        (root / "documents").mkdir()
        table = "Total Outlays\n\n(In millions)\n\n| Month | Outlays |\n|---|---|\n"
        (root / "documents" / "a.txt").write_text(table + "| April 1953 | 6,120 |\n| May 1953 | 6,241 |\n")
        self.ask("6241")

    def ask(self, may: str, question: str = QUESTION) -> None:
        """Write the questions, with this gold answer for May."""
        rows = [f'Q1,"{question.format(month="April")}",6120', f'Q2,"{question.format(month="May")}",{may}']
        (self._root / "questions.csv").write_text("id,question,answer\n" + "\n".join(rows) + "\n")

    def evaluate(self, *words: str) -> tuple[int, str, str]:
        """Return exit status, stdout and stderr."""
        files = [
            f"benchmark.documents={self._root}/documents",
            f"benchmark.questions={self._root}/questions.csv",
        ]
        status = main(
            ["evaluate", "benchmark=custom", *files, f"root={self.folder.parent}", "run=mine", *words]
        )
        captured = self._capsys.readouterr()
        return status, captured.out, captured.err

    def dry_run(self, *words: str) -> dict[str, Any]:
        """Return what `--dry-run --json` says."""
        status, out, _ = self.evaluate("--dry-run", "--json", *words)
        assert status == 0
        found: dict[str, Any] = json.loads(out)
        return found


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Mine:
    monkeypatch.setenv("LONGHARNESS_CACHE", str(tmp_path / "cache"))
    return Mine(tmp_path, capsys)


def test_a_run_says_at_its_beginning_what_it_is_made_of(mine: Mine) -> None:
    status, out, error = mine.evaluate("tasks.ids=[Q1]")
    assert status == 0
    assert error.splitlines()[0] == (
        f"longharness evaluate: {mine.folder}: benchmark custom (1 task); arm longharness+reference; seed 0; "
        "1 episode: 0 done, 0 owed, 1 new"
    )
    assert f"{mine.folder}: 1 of 1 episodes done; tables, results and journal" in out
    assert error.count("mine: done") == 1


def test_changed_gold_is_announced_scored_and_noted_and_earlier_episodes_are_told_apart(mine: Mine) -> None:
    assert mine.evaluate()[0] == 0
    assert mine.dry_run()["regolded"] == []
    mine.ask("1")
    dry = mine.dry_run("tasks.ids=[Q2]")
    assert (dry["done"], dry["owed"], dry["new"], dry["earlier"]) == (1, 0, 0, 1)
    assert dry["regolded"] == [{"benchmark": "custom", "task_id": "Q2", "columns": ["answer"]}]
    assert "Gold" not in (mine.folder / "results" / "table.md").read_text()

    status, out, error = mine.evaluate("tasks.ids=[Q2]")
    assert status == 0
    assert "longharness evaluate: gold changed: task Q2 (answer). No model runs again" in error
    assert "mine: done · 1/1 done and 1 episode of earlier invocations" in error
    assert "1 of 1 episodes done and 1 episode of earlier invocations" in out
    assert tables.read(mine.folder, "episodes")["attempt"].to_pylist() == [1, 1]
    plan = {row["episode_id"]: row["task_id"] for row in tables.read_plan(mine.folder).to_pylist()}
    scores = tables.read(mine.folder, "scores").to_pylist()
    assert {plan[row["episode_id"]] for row in scores if row["value"] == 0} == {"Q2"}
    note = "Gold that changed after the run began, and that scores are by: Q2 (answer)."
    assert note in (mine.folder / "results" / "table.md").read_text().replace("\\", "")


def test_a_dry_run_refuses_what_the_run_refuses(mine: Mine) -> None:
    assert mine.evaluate()[0] == 0
    mine.ask("6241", "How much were the outlays of {month} 1953?")
    refused = [mine.evaluate(), mine.evaluate("--dry-run")]
    assert refused[0] == refused[1]
    assert refused[0][0] == 2 and "task 'Q1' of arm 'longharness+reference' has changed" in refused[0][2]
    mine.ask("6241")
    refused = [mine.evaluate(*words, "harness.budget.turns=3") for words in ([], ["--dry-run"])]
    assert refused[0] == refused[1]
    assert refused[0][0] == 2 and "harness.budget.turns: 200 → 3" in refused[0][2]


def test_a_dry_run_looks_at_a_run_that_is_being_driven_and_says_so(mine: Mine) -> None:
    assert mine.evaluate("tasks.ids=[Q1]")[0] == 0
    with Lease(RunFolder(mine.folder)):
        status, out, error = mine.evaluate("--dry-run", "seeds=2")
    assert status == 0
    assert out.startswith(f"{mine.folder}: 4 episodes: 1 done, 0 owed, 3 new\n")
    assert "longharness evaluate: a run would be refused now:" in error
    assert "longharness+reference, tasks 2, seeds 2, episodes 4, done 1, owed 0, new 3" in out


def test_a_scorer_that_has_no_judge_is_told_of_before_anything_is_asked(mine: Mine) -> None:
    judged = "benchmark.scorers=[equality]"
    told = (
        "longharness evaluate: judge=none: answers stay unscored by equality; name a judge: "
        "judge=endpoint judge.model=MODEL 'judge.urls=[http://127.0.0.1:8000/v1]'"
    )
    assert told in mine.evaluate("--dry-run", judged)[2].splitlines()
    assert mine.dry_run(judged)["judged"] == ["equality"]
    status, _, error = mine.evaluate(judged)
    assert status == 1
    lines = error.splitlines()
    assert lines.index(told) == 1
    assert lines[-1] == (
        f"longharness evaluate: name a judge: longharness score {mine.folder} judge=endpoint "
        "judge.model=MODEL 'judge.urls=[http://127.0.0.1:8000/v1]'"
    )
    named = ["judge=endpoint", "judge.model=m", "judge.urls=[http://127.0.0.1:9/v1]"]
    assert "judge=none" not in mine.evaluate("--dry-run", judged, *named)[2]
