"""The loader of questions in OfficeQA's layout."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest

from pipeline.benchmarks.answer_formats import answer_format
from pipeline.benchmarks.officeqa import OfficeQAConfig, load
from pipeline.errors import BenchmarkError
from pipeline.harness import answers
from pipeline.protocols import AnswerFormat

HEADER = ["uid", "question", "answer", "source_docs", "source_files", "difficulty"]


def questions(folder: Path, *rows: list[str], header: list[str] = HEADER) -> OfficeQAConfig:
    """Write a question file over two documents and return its config."""
    documents = folder / "documents"
    documents.mkdir()
    for name in ("a.txt", "b.txt"):
        (documents / name).write_text("Text.\n")
    with (folder / "questions.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return OfficeQAConfig(questions=str(folder / "questions.csv"), documents=[str(documents)])


def test_rows_become_tasks_with_gold_apart(tmp_path: Path) -> None:
    config = questions(
        tmp_path,
        ["Q1", "What, in all?", "1,234", "page 3", "a.txt\nb.txt", "hard"],
        ["Q2", "And then?", "7", "", " a.txt ; b.txt;", ""],
    )
    benchmark = load(config)
    first, second = benchmark.tasks
    assert (first.view.id, first.view.question) == ("Q1", "What, in all?")
    assert first.gold.answer == "1,234"
    assert first.gold.documents == second.gold.documents == ("a.txt", "b.txt")
    assert (first.fields, second.fields) == ({"difficulty": "hard"}, {})
    assert "a.txt" not in repr(first.view)
    assert benchmark.corpora[first.corpus].folders == (tmp_path / "documents",)


def test_the_difficulty_column_is_optional(tmp_path: Path) -> None:
    (task,) = load(questions(tmp_path, ["Q1", "What?", "7", "", "a.txt"], header=HEADER[:-1])).tasks
    assert task.fields == {}


def test_excluded_questions_are_marked_not_dropped(tmp_path: Path) -> None:
    config = questions(tmp_path, ["Q1", "What?", "7", "", "a.txt", ""], ["Q2", "Then?", "8", "", "a.txt", ""])
    config.exclude = ["Q2"]
    assert [task.fields["excluded"] for task in load(config).tasks] == ["no", "yes"]
    config.exclude = ["Q3"]
    with pytest.raises(BenchmarkError, match=r"exclude.*no uid 'Q3'; the nearest is 'Q\d'"):
        load(config)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (["Q2", "", "7", "", "a.txt", ""], r"row 2 \(ending at line 3\), column question: empty"),
        (["Q2", "What?", " ", "", "a.txt", ""], r"row 2 .*column answer: empty"),
        (["Q2", "What?", "7", "", "", ""], r"row 2 .*column source_files: empty"),
        (["Q2", "What?", "7"], r"row 2 .*column source_files: empty"),
        (["Q2", "What?", "7", "", " ; \n;", ""], r"row 2 .*column source_files: no document is named"),
        (["Q2", "What?", "7", "", "a.txt", "", "more"], r"row 2 .*more cells than columns"),
        (["Q1", "What?", "7", "", "a.txt", ""], r"row 2 .*column uid: 'Q1' is that of row 1"),
        (
            ["Q2", "What?", "7", "", "a.txt;c.txt;../d", ""],
            r"row 2 .*column source_files: .*: c\.txt, \.\./d$",
        ),
    ],
)
def test_a_faulty_row_is_named_by_file_row_and_column(tmp_path: Path, row: list[str], said: str) -> None:
    config = questions(tmp_path, ["Q1", "What?", "7", "", "a.txt", ""], row)
    with pytest.raises(BenchmarkError, match=said) as refused:
        load(config)
    assert config.questions in str(refused.value)


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    config = questions(tmp_path, ["Q1", "What?"], header=["uid", "question"])
    with pytest.raises(BenchmarkError, match="missing column answer, source_files; it has: uid, question"):
        load(config)


def test_an_unusable_file_is_an_error(tmp_path: Path) -> None:
    config = questions(tmp_path)
    with pytest.raises(BenchmarkError, match="has no questions"):
        load(config)
    Path(config.questions).write_bytes(b"uid,question,answer,source_files\nQ1,\xff,7,a.txt\n")
    with pytest.raises(BenchmarkError, match="UTF-8"):
        load(config)
    Path(config.questions).unlink()
    with pytest.raises(BenchmarkError, match=r"benchmark\.questions: .* is not there"):
        load(config)


def test_a_missing_document_folder_is_an_error(tmp_path: Path) -> None:
    config = questions(tmp_path, ["Q1", "What?", "7", "", "a.txt", ""])
    config.documents = [str(tmp_path / "elsewhere")]
    with pytest.raises(BenchmarkError, match=r"benchmark\.documents: .*elsewhere' is not there"):
        load(config)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What was it, rounded to two decimal places?", AnswerFormat("number", decimals=2)),
        (
            "What share was it? Express as a percent rounded to 1 decimal place.",
            AnswerFormat("number", decimals=1),
        ),
        ("What was it, rounded to the nearest million?", AnswerFormat()),
        ("What were the two rates, each rounded to two decimal places?", AnswerFormat()),
        ("Round yields to two decimal places; what is the ratio, to four decimal places?", AnswerFormat()),
        ("Which state, and at what percent rounded to two decimal places?", AnswerFormat()),
        ("What was it to several decimal places?", AnswerFormat()),
        ("What were they, as a bracketed list, to two decimal places?", AnswerFormat("list")),
        ("Which state had it, at what rate? Answer as [state, percent].", AnswerFormat("list")),
        ("What does the note [1] say, with its two figures?", AnswerFormat()),
        ("Who signed it?", AnswerFormat()),
    ],
)
def test_the_answer_format_is_read_from_the_question(question: str, expected: AnswerFormat) -> None:
    assert answer_format(question) == expected


def test_the_treasury_questions_load_and_their_formats_admit_their_golds(shared: Path) -> None:
    treasury = shared / "data/treasury"
    benchmark = load(
        OfficeQAConfig("", "treasury", str(treasury / "questions.csv"), [str(treasury / "documents")])
    )
    assert len(benchmark.tasks) == 24
    for task in benchmark.tasks:
        answers.check(task.view.answer_format, task.gold.answer)
    forms = Counter(task.view.answer_format.form for task in benchmark.tasks)
    assert forms == {"number": 10, "line": 11, "list": 3}
    assert {task.fields["difficulty"] for task in benchmark.tasks} == {"easy", "hard"}


def test_published_counts_of_what_nothing_counts_are_refused(tmp_path: Path) -> None:
    config = questions(tmp_path, ["Q1", "What?", "7", "", "a.txt", ""])
    config.published = {"qestions": 1}
    with pytest.raises(
        BenchmarkError, match=r"published: nothing counts 'qestions' .*there is questions, documents"
    ):
        load(config)
