"""The main job on real documents: 24 questions over 153 bulletins, and two of them with a real model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.runs import tables
from tests.conftest import ROOT


def longharness(*arguments: str, shared: Path) -> str:
    done = subprocess.run(
        (sys.executable, "-m", "pipeline", *arguments),
        cwd=ROOT,
        env=os.environ | {"LONGHARNESS_SHARED": str(shared)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    return done.stdout


@pytest.mark.heavy
@pytest.mark.timeout(1_200)
def test_real_questions_are_run_over_real_bulletins(
    shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = ("--config-dir", "tests/conf", "experiment=treasury", f"root={tmp_path}", "run=treasury")
    summary = json.loads(longharness("evaluate", *job, "--json", shared=shared))
    with capsys.disabled():
        print(f"\n{(tmp_path / 'treasury/results/table.md').read_text(encoding='utf-8')}")
    reference, embedded = (arm["figures"] for arm in summary["arms"])
    assert (reference["done"], embedded["done"]) == (24, 2)
    assert reference["owed"] == embedded["owed"] == 0
    rates = reference["rates"]["officeqa 2026-06-13"]
    assert rates["exact"]["mean"] >= 0.2  # its cells are found in real tables
    episodes = tables.read(tmp_path / "treasury", "episodes").to_pylist()
    turns = tables.read(tmp_path / "treasury", "turns").to_pylist()
    searched = {turn["episode_id"] for turn in turns if turn["operation"] == "search" and turn["valid"]}
    assert searched == {episode["episode_id"] for episode in episodes}
    replayed = longharness("replay", str(tmp_path / "treasury"), shared=shared)
    assert replayed.startswith("26 episodes, ") and "; 0 differ" in replayed
