"""`longharness score`: other scorers, judges, what is kept, and its exit statuses."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pipeline.cli import main
from pipeline.runs import tables
from pipeline.runs.folder import RunFolder
from pipeline.runs.lease import Lease
from tests.analysis.conftest import MakeRun, episode, make_run, owed
from tests.backbone.faults import completion
from tests.judge_server import judge_server

__all__ = ["make_run"]  # the fixture

ROOT = Path(__file__).resolve().parents[2]
SCORERS = "pipeline.benchmarks.scorers"
JUDGED = ["--scorer", f"{SCORERS}.equality"]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGHARNESS_CACHE", str(tmp_path / "cache"))


def judge(url: str, *more: str) -> list[str]:
    """Overrides that name a judge, asked once and without patience."""
    once = ["judge.repeats=1", "judge.client.patience=0", "judge.client.attempts=1"]
    return ["judge=endpoint", "judge.model=m", f"judge.urls=[{url}]", *once, *more]


def scorers(folder: Path) -> set[str]:
    return set(tables.read(folder, "scores")["scorer"].to_pylist())


@pytest.fixture
def folder(make_run: MakeRun) -> Path:
    """A finished run of two answers."""
    return make_run([episode("qwen", "t1", 0, "100"), episode("qwen", "t2", 0, "Nebraska")])


def test_another_scorer_adds_its_scores(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", str(folder)]) == 0
    assert main(["score", str(folder), "--scorer", f"{SCORERS}.officeqa_strict", "--json"]) == 0
    assert scorers(folder) == {"officeqa", "officeqa_strict"}
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["run"] == "demo"


def test_a_judge_of_the_command_line_is_asked(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with judge_server() as server:
        assert main(["score", str(folder), *JUDGED, *judge(server.url)]) == 0
    assert len(server.bodies) == 2
    captured = capsys.readouterr()
    assert "equality 1 by m" in captured.out and captured.err == ""


def test_the_judge_of_the_runs_configuration_is_asked_and_overrides_change_it(folder: Path) -> None:
    with judge_server() as server:
        stored = {"name": "endpoint", "model": "stored", "urls": [server.url], "repeats": 1}
        RunFolder(folder).config.write_text(json.dumps({"seeds": [0], "judge": stored}))  # JSON is YAML
        assert main(["score", str(folder), *JUDGED]) == 0
        assert [body["model"] for body in server.bodies] == ["stored", "stored"]
        assert main(["score", str(folder), *JUDGED, "judge.repeats=2"]) == 0
        assert len(server.bodies) == 4
        assert main(["score", str(folder), *JUDGED, "judge=none"]) == 1
    assert len(server.bodies) == 4


def test_without_a_judge_it_says_what_to_do(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    named = folder.rename(folder.with_name("it's mine"))
    assert main(["score", str(named), *JUDGED]) == 1
    first, second, advice = capsys.readouterr().err.splitlines()
    assert first == "longharness score: equality left 2 of 2 episodes unscored:"
    assert second == "longharness score:   2 × there is no judge"
    command = advice.removeprefix("longharness score: name a judge: ")
    with judge_server() as server:  # where the advice says that one is, in its user's place
        command = command.replace("http://127.0.0.1:8000/v1", server.url).replace("MODEL", "m")
        program, *words = shlex.split(command)
        assert program == "longharness" and main(words) == 0
    assert len(server.bodies) == 6 and scorers(named) == {"equality"}


def test_a_scorer_of_ours_is_known_by_its_name(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", str(folder), "--scorer", "officeqa_strict", "--scorer", "answer"]) == 0
    assert scorers(folder) == {"officeqa_strict", "answer"}
    assert main(["score", str(folder), "--scorer", "officeqa_strikt"]) == 2
    assert "give an import path, or one of answer, equality, longbench_v2, " in capsys.readouterr().err


@pytest.mark.parametrize(("share", "status"), [("0.05", 1), ("0.49", 1), ("0.5", 0)])
def test_more_unscored_than_allowed_is_status_1(
    folder: Path, share: str, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    with judge_server(completion("hm")) as server:
        words = judge(server.url, f"judge.max_unscored={share}", "judge.concurrency=1")
        assert main(["score", str(folder), *JUDGED, *words]) == status
    assert "equality left 1 of 2 episodes unscored:" in capsys.readouterr().err


def test_owed_episodes_are_status_1(make_run: MakeRun) -> None:
    folder = make_run([episode("qwen", "t1", 0, "100"), owed("qwen", "t2", 0)])
    assert main(["score", str(folder)]) == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--scorer", "pipeline.nowhere"], "scorer 'pipeline.nowhere': there is no module"),
        (["--scorer", ""], "scorer '' is no import path"),
        (["judge=gtp"], "there is no judge 'gtp'; nearest: gpt"),
        (["judge=endpoint"], "judge needs values that only you can give: judge.model=… judge.urls=…"),
        (["judge.repeats=0"], "judge.repeats=0 is too small"),
        (["judge.max_unscored=5"], "judge.max_unscored=5.0: it is a share, from 0 to 1"),
        (["judge.modl=x"], "there is no key 'judge.modl'; nearest: judge.model"),
        (["seeds=3"], "seeds=3: scoring takes overrides of the judge alone"),
        (["another"], "give one run, or --answers FILE"),
        (["judge=gpt", "judge.model=x", "judge.api_key_env=NO_SUCH", *JUDGED], "NO_SUCH is not set"),
        (["judge=endpoint", "judge.model=x", "judge.urls=[nowhere]", *JUDGED], "'nowhere' is no URL"),
    ],
)
def test_what_cannot_be_used_changes_nothing(
    folder: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["score", str(folder), *words]) == 2
    assert said in capsys.readouterr().err
    assert scorers(folder) == set()


def test_a_run_that_is_being_driven_is_left_alone(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Lease(RunFolder(folder)):
        assert main(["score", str(folder)]) == 2
    assert "is being driven by process" in capsys.readouterr().err


def test_bare_answers_are_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "answers.jsonl"
    file.write_text('{"question": "Which?", "gold": "Nebraska", "answer": "nebraska"}\n')
    assert main(["score", "--answers", str(file), *JUDGED]) == 2
    assert "scorer equality needs a judge" in capsys.readouterr().err
    with judge_server(completion("hm")) as server:
        assert main(["score", "--answers", str(file), *JUDGED, *judge(server.url)]) == 1
        assert main(["score", "--answers", str(file), *JUDGED, *judge(server.url, "judge.model=n")]) == 0
    assert [json.loads(line)["score"] for line in capsys.readouterr().out.splitlines()] == [None, 1]


@pytest.fixture
def served() -> Any:
    """The scripted judge as a process of its own; gives its URL."""
    command = [sys.executable, "-m", "tests.judge_server"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{json.loads(process.stdout.readline())['port']}/v1"
        process.terminate()


def test_evaluate_judges_its_episodes_and_changing_the_judge_reruns_none(tmp_path: Path, served: str) -> None:
    documents = tmp_path / "documents"
    documents.mkdir()
    table = "Total Outlays\n\n(In millions)\n\n| Month | Outlays |\n|---|---|\n| May 1953 | 6,241 |\n"
    (documents / "a.txt").write_text(table)
    question = '"What were outlays in May 1953, in millions of dollars?"'
    (tmp_path / "questions.csv").write_text(f"uid,question,answer,source_files\nQ1,{question},6241,a.txt\n")
    command = [
        *(
            sys.executable,
            "-m",
            "pipeline",
            "evaluate",
            "benchmark=officeqa",
            f"root={tmp_path}",
            "run=judged",
        ),
        *(f"benchmark.questions={tmp_path}/questions.csv", f"benchmark.documents=[{documents}]"),
        f"benchmark.scorers=[{SCORERS}.equality]",
    ]

    def evaluate(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command, *words], cwd=ROOT, capture_output=True, text=True, check=False, env=dict(os.environ)
        )

    first = evaluate()
    assert first.returncode == 1
    assert "equality left 1 of 1 episodes unscored" in first.stderr
    second = evaluate(*judge(served))
    assert second.returncode == 0, second.stderr
    assert re.search(r"1/1 done", second.stderr)
    folder = tmp_path / "judged"
    (row,) = [row for row in tables.read(folder, "scores").to_pylist() if row["scorer"] == "equality"]
    assert json.loads(row["params"])["model"] == "m" and row["value"] is not None
    assert tables.read(folder, "episodes").num_rows == 1
    assert len(list((folder / "journal").iterdir())) == 1
