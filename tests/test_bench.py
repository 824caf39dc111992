"""The benchmarks run, on corpora as small as they take: their figures are for the README, not for a test."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parent.parent / "jobs" / "bench"
SMALL = {
    "episode.py": (["--tokens", "1e5", "--turns", "30"], r"longharness +\d[\d.]* / .*\n(?s:.*)all turns: "),
    "index.py": (["--tokens", "1e5"], r"\nours +\d(?s:.*)\nbm25s, our terms +\d"),
    "search.py": (["--tokens", "1e5", "--queries", "5"], r"\nbm25s +\d(?s:.*)\nsearch, filtered +\d"),
    "sharing.py": (["--tokens", "1e5", "--actors", "2"], r"\d"),
}


@pytest.mark.parametrize("script", SMALL)
def test_a_benchmark_runs_and_prints_its_figures(script: str) -> None:
    options, figures = SMALL[script]
    command = [sys.executable, str(BENCH / script), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert re.search(figures, done.stdout), done.stdout


def test_every_benchmark_is_run_here_but_those_of_real_data() -> None:
    texts = {path.name: path.read_text(encoding="utf-8") for path in BENCH.glob("*.py")}
    assert {n for n, text in texts.items() if "def main()" in text and "--shared" not in text} == set(SMALL)
