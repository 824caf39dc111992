"""The benchmarks run, on corpora as small as they take: times are for their README, not for a test.

What of a prompt repeats the one before is no time, and is held to here (contract 5.3).
"""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from pipeline.benchmarks.ledgerqa import LedgerQAConfig, generate
from pipeline.corpus import Corpus, build
from pipeline.corpus.config import CorpusConfig
from pipeline.protocols import Completion, Request
from tests.variants import VARIANTS

BENCH = Path(__file__).resolve().parent.parent / "jobs" / "bench"
SMALL = {
    "episode.py": (["--tokens", "1e5", "--turns", "30"], r"longharness +\d[\d.]* / .*\n(?s:.*)all turns: "),
    "index.py": (["--tokens", "1e5"], r"\nours +\d(?s:.*)\nbm25s, our terms +\d"),
    "longbench.py": (["--rows", "4", "--long", "2", "--longest", "1e5"], r"first: 2 (?s:.*)\nagain: 2 "),
    "ledgerqa.py": (["--tokens", "1e5"], r"ledgerqa +\d(?s:.*)csv +\d(?s:.*)copy +\d"),
    "search.py": (["--tokens", "1e5", "--queries", "5"], r"\nbm25s +\d(?s:.*)\nsearch, filtered +\d"),
    "scores.py": (["--pairs", "200"], r"officeqa, four tolerances +\d[\d,]* +\d"),
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


# --- What an episode's requests share


@pytest.fixture(scope="module")
def bench() -> Iterator[Any]:
    """The module `jobs/bench/episode.py`, which is a script among others of its folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCH))
        yield importlib.import_module("episode")


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> tuple[Corpus, list[str]]:
    """A generated collection of 300,000 tokens, and its questions."""
    folder = tmp_path_factory.mktemp("ledger") / "ledgerqa"
    generate(LedgerQAConfig(seed=0, tokens=300_000), folder)
    lines = (folder / "questions.jsonl").read_bytes().splitlines()
    questions = [str(orjson.loads(line)["question"]) for line in lines]
    return build([folder / "documents"], CorpusConfig(), None), questions


@pytest.mark.parametrize("name", ["longharness" if name == "full" else name for name in VARIANTS])
def test_5_3_a_request_repeats_95_percent_of_the_one_before(
    bench: Any, ledger: tuple[Corpus, list[str]], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests, complete = list[Request](), bench.Script.complete

    async def kept(script: Any, request: Request) -> Completion:
        requests.append(request)
        completion: Completion = await complete(script, request)
        return completion

    monkeypatch.setattr(bench.Script, "complete", kept)
    bench.run(bench.harness(name), *ledger, turns=100)
    shares = []
    for before, now in pairwise(b",".join(m.encoded for m in request.messages) for request in requests):
        stable = before.rpartition(json.dumps(bench.TAIL)[1:-1].encode())[0]
        assert now.startswith(stable)
        shares.append(len(stable) / len(before))
    assert len(shares) == 99
    assert np.percentile(shares, 5) >= 0.95
