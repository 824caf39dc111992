"""`longharness plant`: what it says, and what it refuses."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from pipeline.benchmarks.ledgerqa import LedgerQAConfig, generate
from pipeline.benchmarks.ledgerqa.planted.transcripts import FORMS
from pipeline.cli import main, plant


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plant") / "dataset"
    generate(LedgerQAConfig(seed=5, tokens=60_000, questions_per_kind=1), folder)
    return folder


def test_every_transcript_form_can_be_named() -> None:
    assert tuple(FORMS) == plant.FORMS


def test_it_says_what_was_planted_and_what_could_not_be(
    dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    assert main(["plant", str(dataset), str(run), "--arms", "longharness,codex", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["run"] == str(run)
    counts = {(row["arm"], row["fault"]): row["episodes"] for row in said["planted"]}
    assert counts["longharness", "right"] == counts["codex", "right"] == 7
    assert {row["arm"]: row["scored"] for row in said["planted"]} == {"longharness": True, "codex": False}
    planted = sum(n for (arm, _), n in counts.items() if arm == "codex")
    assert planted + sum(row["questions"] for row in said["skipped"]) == 7 * 5
    assert main(["score", str(run), "--json"]) == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--arms", "longhornes"], "--arms: there is no 'longhornes'; the nearest is 'longharness'"),
        (["--faults", "unraed"], "--faults: there is no 'unraed'; the nearest is 'unread'"),
        (["--arms", ","], "--arms: name at least one of"),
        (["--limit", "0"], "tasks.limit is 0: give at least 1"),
    ],
)
def test_a_name_that_is_none_is_refused_before_anything_is_written(
    dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], said: str
) -> None:
    assert main(["plant", str(dataset), str(tmp_path / "run"), *options]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_folder_that_is_no_dataset_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plant", str(tmp_path), str(tmp_path / "run")]) == 2
    assert "is no LedgerQA dataset (it has no manifest.json)" in capsys.readouterr().err


def test_the_dataset_that_it_advises_can_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for taken in ("docs", "data/ledgerqa"):
        (tmp_path / taken).mkdir(parents=True)
        (tmp_path / taken / "a.txt").write_text("mine")
    assert main(["plant", "docs", "my run"]) == 2
    make, then = re.findall(r"`longharness ([^`]+)`", capsys.readouterr().err)
    assert (make, then) == ("ledgerqa data/ledgerqa-2", "plant data/ledgerqa-2 'my run'")
    small = ["benchmark.tokens=60000", "benchmark.questions_per_kind=1"]
    assert main([*shlex.split(make), *small]) == 0
    assert main([*shlex.split(then), "--arms", "notes", "--limit", "1"]) == 0
    assert main(["plant", "new", "other"]) == 2
    assert "with `longharness ledgerqa new`, then `longharness plant new other`" in capsys.readouterr().err


def test_a_folder_in_use_is_left_alone(
    dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "mine.txt").write_text("kept")
    assert main(["plant", str(dataset), str(tmp_path / "run")]) == 2
    assert "is not empty: name a new folder" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["mine.txt"]


def test_a_dataset_that_was_changed_is_refused(
    dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import shutil

    copy = tmp_path / "copy"
    shutil.copytree(dataset, copy)
    document = next((copy / "documents").iterdir())
    document.write_text(document.read_text("utf-8").replace("0", "1"), "utf-8")
    assert main(["plant", str(copy), str(tmp_path / "run")]) == 2
    assert "is not as it was made" in capsys.readouterr().err


def test_what_was_planted_is_told_apart_into_episodes_of_the_run_and_transcripts(
    dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    words = ["--arms", "longharness,notes,codex", "--faults", "right", "--limit", "2"]
    assert main(["plant", str(dataset), str(run), *words]) == 0
    assert capsys.readouterr().out.splitlines()[-2:] == [
        f"4 in 2 arms (longharness, notes) are episodes of the run: longharness score {run}",
        f"2 in 1 arms (codex) are transcripts, which nothing scores: {run / 'transcripts'}",
    ]
