"""LongBench v2 Long as a benchmark: its questions, corpora and published counts, and the longest document."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.benchmarks.longbench_v2 import loading
from pipeline.benchmarks.longbench_v2.config import LongBenchV2Config
from pipeline.benchmarks.longbench_v2.loading import load
from pipeline.benchmarks.longbench_v2.unpacking import Item
from pipeline.benchmarks.tasks import Benchmark
from pipeline.config import resolve
from pipeline.corpus.documents import scan
from pipeline.errors import BenchmarkError
from pipeline.harness import answers
from pipeline.protocols import AnswerFormat
from tests.benchmarks.longbench_v2.published import row, write

BENCH = Path(__file__).resolve().parents[3] / "jobs/bench/longbench.py"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGHARNESS_CACHE", str(tmp_path / "cache"))


def loaded(folder: Path, numbers: range, allow: bool = True) -> Benchmark:
    path = write(folder, [row(number) for number in numbers])
    return load(LongBenchV2Config(questions=str(path), allow_other_revision=allow))


def test_a_question_shows_its_choices_and_asks_for_a_letter(tmp_path: Path) -> None:
    benchmark = loaded(tmp_path, range(1, 4))
    task = benchmark.tasks[0]
    assert task.view.question == "What is 1?\n\n(A) One\n(B) Two\n(C) Three,\nor more\n(D) Four"
    assert task.view.answer_format == AnswerFormat("letter")
    assert task.gold.answer == "B"
    answers.check(task.view.answer_format, task.gold.answer)
    assert task.fields == {"difficulty": "hard", "domain": "Code Repository", "sub_domain": "Agents"}
    assert benchmark.breakdowns == ("difficulty", "domain")
    assert benchmark.scorers == ("pipeline.benchmarks.scorers.longbench_v2",)


def test_every_question_has_a_corpus_of_its_own(tmp_path: Path) -> None:
    benchmark = loaded(tmp_path, range(3))
    assert [task.corpus for task in benchmark.tasks] == list(benchmark.corpora) == ["66f00", "66f01", "66f02"]
    for number, source in enumerate(benchmark.corpora.values()):
        (file,) = scan(source.folders)
        assert (file.id, file.path.read_text("utf-8")) == ("document.txt", f"Text {number}: “ça”.\n")


def test_another_number_of_questions_is_refused_or_labels_the_results(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkError, match=r"questions 3 \(published 108\).*allow_other_revision=true"):
        loaded(tmp_path, range(3), allow=False)
    assert loaded(tmp_path, range(3)).revision == "other revision: questions 3 (published 108)"
    with pytest.raises(BenchmarkError, match="no row has the length 'long'"):
        load(LongBenchV2Config(questions=str(write(tmp_path, [row(1, "short")])), allow_other_revision=True))


def revision(*words: int, allow: bool = True) -> str | None:
    """Check 108 questions: the shortest document's words, the others', the longest's."""
    lengths = [words[0], *[words[1]] * 106, words[2]]
    items = [Item(str(n), "", (), "A", "", "", "easy", count, 0) for n, count in enumerate(lengths)]
    return loading._revision(LongBenchV2Config(allow_other_revision=allow), items)


def test_as_many_questions_with_documents_of_other_lengths_are_another_revision() -> None:
    assert revision(132_000, 204_000, 1_380_000) is None
    assert revision(131_400, 207_000, 1_377_123) is None
    assert revision(90_000, 204_000, 2_000_000) == (
        "other revision: fewest words 90,000 (published 132,000), most words 2,000,000 (published 1,380,000)"
    )
    with pytest.raises(BenchmarkError, match=r"median of words 100,000 \(published 204,000\)"):
        revision(132_000, 100_000, 1_380_000, allow=False)


def test_the_option_says_what_is_missing_and_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LONGBENCH_V2_DIR", str(tmp_path))
    (arm,) = resolve(["benchmark=longbench_v2_long"]).arms
    with pytest.raises(BenchmarkError, match=r"^benchmark\.questions: '.*/data\.json' is not there") as said:
        load(arm.benchmark)
    assert "benchmark.folder=hf://datasets/THUDM/LongBench-v2" in str(said.value)


def test_memory_is_that_of_a_few_documents_of_the_greatest_length_not_of_the_file() -> None:
    """Of 16 million characters: 100 short documents more, 70 MB, take nothing more."""
    peaks = []
    for rows in ("3", "103"):
        command = [sys.executable, str(BENCH), "--rows", rows, "--long", "3", "--longest", "16e6"]
        told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert "first: 3 long questions" in told
        peaks.append(int(re.findall(r"peak ([\d,]+) MB", told)[0].replace(",", "")))
    assert peaks[0] < 300
    assert peaks[1] < peaks[0] + 30
