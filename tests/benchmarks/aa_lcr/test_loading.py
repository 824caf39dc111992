"""AA-LCR as a benchmark: a corpus for each document set, and its published counts."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from pipeline.benchmarks.aa_lcr.config import AALCRConfig
from pipeline.benchmarks.aa_lcr.loading import PUBLISHED, RELEASED_DOCUMENTS, load
from pipeline.benchmarks.tasks import Benchmark
from pipeline.config import resolve
from pipeline.corpus.documents import scan
from pipeline.errors import BenchmarkError, ConfigError
from pipeline.protocols import AnswerFormat
from tests.benchmarks.aa_lcr.published import row, write_archive, write_questions

TOKENS_A_SET = 99_325
"""As published; by its own tokenizer."""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LONGHARNESS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def official(folder: Path, documents: int, allow: bool = False) -> Benchmark:
    """Load 100 questions over 30 sets with `documents` in all."""
    names = [[f"{n}.txt" for n in range(number, documents, 30)] for number in range(30)]
    texts = {f"lcr/Law/s{i}/{name}": f"{i} {name}".encode() for i, own in enumerate(names) for name in own}
    rows = [row(n, ";".join(names[n % 30]), f"s{n % 30}", "Law") for n in range(100)]
    config = AALCRConfig(
        questions=str(write_questions(folder / "q.csv", rows)),
        documents=str(write_archive(folder / "t.zip", texts)),
        allow_other_revision=allow,
    )
    return load(config)


def test_every_document_set_is_a_corpus_and_its_questions_ask_for_free_text(tmp_path: Path) -> None:
    benchmark = official(tmp_path, PUBLISHED["documents"])
    assert len(benchmark.corpora) == 30
    assert benchmark.scorers == ("pipeline.benchmarks.scorers.equality",)
    assert (benchmark.breakdowns, benchmark.revision, benchmark.origins) == (("category",), None, ())
    task = benchmark.tasks[31]
    assert (task.corpus, task.gold.answer) == ("s1", "It is 31.")
    assert task.fields == {"document_set": "s1", "category": "Law"}
    assert task.view.answer_format == AnswerFormat("text")
    files = scan(benchmark.corpora["s1"].folders)
    assert [file.id for file in files][:2] == ["01 1.txt", "02 31.txt"]
    assert files[1].path.read_text() == "1 31.txt"


def test_other_counts_are_refused_or_label_the_results(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkError, match=r"documents 200 \(published 234\).*allow_other_revision=true"):
        official(tmp_path, 200)
    assert official(tmp_path, 200, allow=True).revision == "other revision: documents 200 (published 234)"
    assert official(tmp_path, RELEASED_DOCUMENTS).revision is None


def test_texts_are_unpacked_once_and_again_where_a_file_is_missing(tmp_path: Path) -> None:
    first = official(tmp_path, PUBLISHED["documents"])
    path = scan(first.corpora["s1"].folders)[0].path
    made = path.stat().st_ino
    assert official(tmp_path, PUBLISHED["documents"]) == first
    assert path.stat().st_ino == made
    path.unlink()
    assert official(tmp_path, PUBLISHED["documents"]) == first
    assert path.exists()
    assert not list((tmp_path / "cache/aa_lcr").glob(".*-new-*"))


def test_other_texts_are_unpacked_to_another_folder(tmp_path: Path) -> None:
    first = official(tmp_path, PUBLISHED["documents"]).corpora["s1"].folders
    assert official(tmp_path, RELEASED_DOCUMENTS).corpora["s1"].folders != first


def test_the_shared_file_has_the_released_counts(shared: Path) -> None:
    benchmark = load(AALCRConfig(questions=str(shared / "data/aa_lcr.parquet")))
    assert (len(benchmark.tasks), len(benchmark.corpora), benchmark.revision) == (100, 30, None)
    files = {name: scan(source.folders) for name, source in benchmark.corpora.items()}
    assert sum(map(len, files.values())) == RELEASED_DOCUMENTS
    size = sum(file.path.stat().st_size for held in files.values() for file in held)
    assert size / 4 / 30 == pytest.approx(TOKENS_A_SET, rel=0.05)
    assert Counter(task.fields["document_set"] for task in benchmark.tasks).most_common(1)[0][1] == 12


def test_the_shared_files_texts_are_its_contexts(shared: Path) -> None:
    path = shared / "data/aa_lcr.parquet"
    benchmark = load(AALCRConfig(questions=str(path)))
    contexts = pq.read_table(path, columns=["context"])["context"].to_pylist()
    for task, context in zip(benchmark.tasks, contexts, strict=True):
        texts = [file.path.read_text("utf-8") for file in scan(benchmark.corpora[task.corpus].folders)]
        assert (
            "\n\n".join(
                f"BEGIN DOCUMENT {n}:\n{text}\nEND DOCUMENT {n}" for n, text in enumerate(texts, start=1)
            )
            == context
        )


def test_the_option_says_what_is_missing_and_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AA_LCR_DIR", str(tmp_path))
    (arm,) = resolve(["benchmark=aa_lcr"]).arms
    with pytest.raises(
        BenchmarkError, match=r"^benchmark\.questions: '.*/AA-LCR_Dataset\.csv' is not there"
    ) as said:
        load(arm.benchmark)
    assert "benchmark.folder=hf://datasets/ArtificialAnalysis/AA-LCR" in str(said.value)
    write_questions(tmp_path / "AA-LCR_Dataset.csv", [row(1, "a.txt")])
    with pytest.raises(
        BenchmarkError, match=r"^benchmark\.documents: '.*/AA-LCR_extracted-text\.zip' is not"
    ):
        load(arm.benchmark)
    with pytest.raises(ConfigError, match="question"):
        resolve(["benchmark=aa_lcr", "benchmark.question=x.csv"])
