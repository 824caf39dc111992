"""The contract's own cases: a collection, replies, and what must then hold (contract, sections 8 and 9)."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pipeline.cli import main
from tests.conftest import ROOT

CASES = Path(os.environ.get("LONGHARNESS_SHARED") or ROOT.parent / "shared") / "cases"
FILES = [CASES / "contract" / name for name in ("cases.json", "extensions.json")]
NAMED = [case for file in FILES if file.is_file() for case in json.loads(file.read_text(encoding="utf-8"))]
OUTSIDE = (
    "a whole episode: search, read, admit, correct, compute, final",
    "an empty folder is unusable input",
)


@pytest.fixture(scope="session")
def runner(shared: Path) -> ModuleType:
    """The cases' own runner, as a module: its checks are the ones that count."""
    spec = importlib.util.spec_from_file_location("contract_runner", shared / "cases" / "run.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("case", NAMED or [{"name": "every case"}], ids=lambda case: case["name"])
def test_the_case_holds(
    case: dict[str, Any],
    runner: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    def here(argv: list[str], **_: Any) -> subprocess.CompletedProcess[bytes]:
        """Run the command in this process, and take its output as the runner's subprocess would."""
        capfd.readouterr()
        status = main(argv[1:])
        said = capfd.readouterr()
        return subprocess.CompletedProcess(argv, status, said.out.encode(), said.err.encode())

    monkeypatch.setattr(runner.subprocess, "run", here)
    assert runner.run(case, "longharness trace") == []


def test_cases_hold_from_outside(shared: Path, tmp_path: Path) -> None:
    chosen = tmp_path / "cases.json"
    chosen.write_text(json.dumps([case for case in NAMED if case["name"] in OUTSIDE]), encoding="utf-8")
    command = f"{Path(sys.executable).with_name('longharness')} trace"
    runner = [sys.executable, str(shared / "cases" / "run.py"), "--command", command, str(chosen)]
    done = subprocess.run(runner, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "all cases hold\n")
