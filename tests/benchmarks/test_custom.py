"""Questions and documents of one's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.benchmarks.custom import CustomConfig, load
from pipeline.errors import BenchmarkError, CorpusError
from pipeline.protocols import AnswerFormat
from tests.corpus.conversion.pdfs import pdf

HEADER = "id,question,answer,documents,format,tolerance"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGHARNESS_CACHE", str(tmp_path / "cache"))


def custom(folder: Path, content: str | bytes, name: str = "questions.csv") -> CustomConfig:
    """Write a question file over three documents and return its config."""
    documents = folder / "documents"
    documents.mkdir()
    (documents / "may.txt").write_text("Outlays in May: 6,241.\n")
    (documents / "june.html").write_text("<p>Outlays in June: 5,998.</p>")
    (documents / "july.pdf").write_bytes(pdf(["Outlays in July: 6,000."]))
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return CustomConfig(documents=str(documents), questions=str(path))


def test_a_csv_file_becomes_tasks_with_gold_apart(tmp_path: Path) -> None:
    config = custom(
        tmp_path,
        f"{HEADER},topic\n"
        'Q1,"What, in May?",6241,may.txt;july.pdf,number:0,0.01,outlays\n'
        'Q2,Which months?,"[May, June]","june.html\nmay.txt",list:2,,outlays\n'
        "Q3,Why?,Wars.,,text,,\n",
    )
    benchmark = load(config)
    first, second, third = benchmark.tasks
    assert (first.view.question, first.view.answer_format) == (
        "What, in May?",
        AnswerFormat("number", decimals=0),
    )
    assert (first.gold.answer, first.gold.tolerance) == ("6241", 0.01)
    assert first.gold.documents == ("may.txt", "july.pdf")
    assert second.gold.documents == ("june.html", "may.txt")
    assert second.view.answer_format == AnswerFormat("list", length=2)
    assert (third.view.answer_format, third.gold.documents, third.gold.tolerance) == (
        AnswerFormat("text"),
        (),
        None,
    )
    assert [dict(task.fields) for task in benchmark.tasks] == [{"topic": "outlays"}, {"topic": "outlays"}, {}]
    assert benchmark.breakdowns == ("topic",)
    assert benchmark.scorers == ("pipeline.benchmarks.scorers.answer",)


def test_json_lines_say_the_same(tmp_path: Path) -> None:
    rows = [
        {
            "id": "Q1",
            "question": "What?",
            "answer": "6241",
            "documents": ["may.txt", "july.pdf"],
            "tolerance": 0.01,
        },
        {
            "id": "Q2",
            "question": "Why?",
            "answer": "Wars.",
            "documents": "may.txt",
            "format": "text",
            "year": 1953,
        },
    ]
    config = custom(tmp_path, "\n\n".join(map(json.dumps, rows)), "questions.jsonl")
    first, second = load(config).tasks
    assert (first.gold.documents, first.gold.tolerance) == (("may.txt", "july.pdf"), 0.01)
    assert (second.gold.documents, second.fields) == (("may.txt",), {"year": "1953"})


@pytest.mark.parametrize(
    ("answer", "form", "gold"),
    [
        ("601", "number", "601"),
        ("12.50", "number:2", "12.50"),
        ("1e3", "number", "1e3"),
        ("-0.0", "", "-0.0"),
        ("9" * 40, "number", "9" * 40),
        ('["May", "June"]', "list", "[May, June]"),
        ('[ 12.50,601 , "a, b"]', "list:3", "[12.50, 601, a, b]"),
    ],
)
def test_numbers_and_lists_in_json_are_answers_as_they_are_written(
    tmp_path: Path, answer: str, form: str, gold: str
) -> None:
    line = f'{{"id": "Q1", "question": "What?", "format": "{form}", "answer": {answer}}}'
    (task,) = load(custom(tmp_path, line, "questions.jsonl")).tasks
    assert task.gold.answer == gold


def test_a_list_is_an_answer_where_the_question_asks_for_one(tmp_path: Path) -> None:
    line = '{"id": "Q1", "question": "Which months? Answer as a bracketed list.", "answer": ["May", 6]}'
    assert load(custom(tmp_path, line, "questions.jsonl")).tasks[0].gold.answer == "[May, 6]"


def test_a_json_file_is_an_array_of_objects_or_has_one_a_line(tmp_path: Path) -> None:
    first = {"id": "Q1", "question": "What?", "answer": 7, "year": 1953}
    rows = [first, {**first, "id": "Q2", "tolerance": 0.05}]
    config = custom(tmp_path, "\ufeff" + json.dumps(rows, indent=2), "questions.json")
    tasks = load(config).tasks
    assert [(task.view.id, task.gold.answer, task.fields["year"]) for task in tasks] == [
        ("Q1", "7", "1953"),
        ("Q2", "7", "1953"),
    ]
    Path(config.questions).write_text("\n".join(map(json.dumps, rows)))
    assert load(config).tasks == tasks


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('[{"id": "Q1", "question": "What?", "answer": 7}, 8]', r"q\.json, row 2: not a JSON object"),
        ('[{"id": "Q1", "question": "What?", "answer": null}]', r"q\.json, row 1, column answer: empty"),
        ('[\n {"id": "Q1",\n]', r"q\.json: not JSON, at line \d, column \d"),
        ('{\n "id": "Q1"}', r"row 1 \(line 1\): not JSON.*write one object a line, or, in a \.json file, an"),
        ("[]", r"q\.json has no questions"),
    ],
)
def test_a_faulty_json_file_is_an_error(tmp_path: Path, content: str, said: str) -> None:
    with pytest.raises(BenchmarkError, match=said):
        load(custom(tmp_path, content, "q.json"))


def test_documents_of_all_kinds_keep_their_names(tmp_path: Path) -> None:
    benchmark = load(custom(tmp_path, "id,question,answer\nQ1,What?,7\n"))
    (folder,) = benchmark.corpora["custom"].folders
    texts = {path.name: path.read_text() for path in folder.iterdir()}
    assert texts["june.html"] == "Outlays in June: 5,998.\n"
    assert texts["july.pdf"].startswith("--- PAGE 1 ---\n\nOutlays in July: 6,000.\n")
    assert texts["may.txt"] == "Outlays in May: 6,241.\n"


def test_without_a_format_the_question_says_it(tmp_path: Path) -> None:
    config = custom(
        tmp_path,
        'id,question,answer\nQ1,"What, to two decimal places?",7\nQ2,"Which, as a bracketed list?",7\n',
    )
    formats = [task.view.answer_format for task in load(config).tasks]
    assert formats == [AnswerFormat("number", decimals=2), AnswerFormat("list")]


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (b"\xef\xbb\xbfid,question,answer\nQ1,What?,7\n", "q.csv"),
        (b"id,question,answer\r\n\r\nQ1,What?,7\r\n\r\n", "Q.CSV"),
        (b'\xef\xbb\xbf{"id": "Q1", "question": "What?", "answer": "7"}\r\n\r\n', "q.jsonl"),
    ],
    ids=["byte order mark", "blank lines, CRLF", "JSON with both"],
)
def test_what_spreadsheets_and_editors_add_is_no_matter(tmp_path: Path, content: bytes, name: str) -> None:
    (task,) = load(custom(tmp_path, content, name)).tasks
    assert (task.view.id, task.view.question, task.gold.answer) == ("Q1", "What?", "7")


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("Q1,What?,8,,,", r"column id: 'Q1' is that of row 1 too"),
        (",What?,8,,,", "column id: empty"),
        ("Q2,,8,,,", "column question: empty"),
        ("Q2,What?, ,,,", "column answer: empty"),
        ("Q2,What?", "column answer: empty"),
        ("Q2,What, then?,8,,,,,", "more cells than columns; quote cells that hold a comma"),
        (
            "Q2,What?,8,may.text,,",
            r"column documents: there is no document 'may\.text'; the nearest is 'may\.txt'",
        ),
        ("Q2,What?,8,may.txt;sub/june.html,,", r"'sub/june\.html'; the nearest is 'june\.html'"),
        ("Q2,What?,8,,numbr,", "column format: 'numbr' is none of line, letter, .*the nearest is 'number'"),
        ("Q2,What?,8,,number:two,", "column format: 'number:two' is no form: write number:DECIMALS"),
        (f"Q2,What?,8,,number:{'9' * 5_000},", "column format: 'number:9+' is no form"),
        ("Q2,What?,8,,letter:2,", "column format: 'letter:2' is no form"),
        ("Q2,What?,8,,,5%", "column tolerance: '5%' is no relative tolerance.*from 0 to below 1"),
        ("Q2,What?,8,,,1", "column tolerance: '1' is no relative tolerance"),
        ("Q2,What?,8,,,-0.1", "column tolerance: '-0.1' is no"),
        ("Q2,What?,8,,,nan", "column tolerance: 'nan' is no"),
    ],
)
def test_a_faulty_row_is_named_by_file_row_and_column(tmp_path: Path, row: str, said: str) -> None:
    config = custom(tmp_path, f"{HEADER}\nQ1,What?,7,,,\n\n{row}\n")
    with pytest.raises(BenchmarkError, match=rf"row 2 \(ending at line 4\).*{said}") as refused:
        load(config)
    assert config.questions in str(refused.value)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"id": 7}, "column id: 7 is no text; write it in quotes"),
        ({"answer": True}, "column answer: True is no text"),
        ({"answer": {"a": 1}}, r"column answer: \{'a': 1\} is no text"),
        ({"answer": ["May", "June"]}, "column answer: a list, but the form of the answer is 'line'"),
        ({"answer": [], "format": "list"}, r"column answer: \[\] is no list of texts and numbers"),
        ({"answer": ["May", None], "format": "list"}, r"column answer: \['May', None\] is no list of"),
        ({"answer": [[1]], "format": "list"}, r"column answer: \[\[1\]\] is no list of"),
        ({"answer": ["May", " "], "format": "list"}, "column answer: .* is no list of"),
        ({"answer": None}, "column answer: empty"),
        ({"documents": {"a": 1}}, r"column documents: \{'a': 1\} is no text"),
        ({"documents": ["may.txt", 3]}, "column documents: .* is no text"),
        ({"tolerance": True}, "column tolerance: True is no relative tolerance"),
        ({"tolerance": [0.1]}, r"column tolerance: \[0.1\] is no relative tolerance"),
        ({"format": 2}, "column format: 2 is no text"),
        ({"topic": ["a"]}, r"column topic: \['a'\] is no text"),
        (
            ["Q2", "What?", "8"],
            r"not a JSON object.*; write one object a line, or, in a \.json file, an array",
        ),
        ("{", "not JSON, at column 2: .*; write one object a line"),
        ('{"id": "Q2", "question": "What?", "answer": NaN}', "not JSON"),
        ('{"a":' * 1_010 + "1" + "}" * 1_010, "nested too deeply|not JSON"),
    ],
)
def test_json_of_the_wrong_type_is_named_by_line(tmp_path: Path, row: Any, said: str) -> None:
    first = {"id": "Q1", "question": "What?", "answer": "7"}
    second = {**first, "id": "Q2", **row} if isinstance(row, dict) else row
    lines = [json.dumps(first), "", second if isinstance(second, str) else json.dumps(second)]
    with pytest.raises(BenchmarkError, match=rf"row 2 \(line 3\).*{said}"):
        load(custom(tmp_path, "\n".join(lines), "questions.jsonl"))


@pytest.mark.parametrize("column", ["document", "Format", "tolerence"])
def test_a_column_that_nearly_has_a_known_name_is_questioned(tmp_path: Path, column: str) -> None:
    with pytest.raises(BenchmarkError, match=f"column {column}: did you mean '[a-z]+'"):
        load(custom(tmp_path, f"id,question,answer,{column}\nQ1,What?,7,x\n"))


def test_a_column_without_a_name_may_hold_nothing(tmp_path: Path) -> None:
    config = custom(tmp_path, "id,question,answer,\nQ1,What?,7,\n")
    assert load(config).tasks[0].fields == {}
    Path(config.questions).write_text("id,question,answer,\nQ1,What?,7,x\n")
    with pytest.raises(BenchmarkError, match="column '': 'x' stands in a column without a name"):
        load(config)


def test_a_column_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkError, match="header: column answer is there twice"):
        load(custom(tmp_path, "id,question,answer,answer\nQ1,What?,7,8\n"))


def test_a_missing_column_a_missing_file_and_another_kind_of_file_are_named(tmp_path: Path) -> None:
    config = custom(tmp_path, "uid,question,answer\nQ1,What?,7\n")
    with pytest.raises(BenchmarkError, match="header: missing column id; it has: uid, question, answer"):
        load(config)
    config.questions = str(tmp_path / "absent.csv")
    with pytest.raises(BenchmarkError, match=r"benchmark.questions: .*absent\.csv' is not there"):
        load(config)
    (tmp_path / "q.xlsx").write_bytes(b"PK")
    config.questions = str(tmp_path / "q.xlsx")
    with pytest.raises(
        BenchmarkError, match=r"q\.xlsx' is none of \.csv, \.jsonl and \.json; save it as one"
    ):
        load(config)


def test_a_folder_that_is_no_corpus_is_an_error(tmp_path: Path) -> None:
    config = custom(tmp_path, "id,question,answer\nQ1,What?,7\n")
    config.documents = str(tmp_path / "absent")
    with pytest.raises(BenchmarkError, match=r"benchmark\.documents: .*absent' is not there"):
        load(config)
    (tmp_path / "empty").mkdir()
    config.documents = str(tmp_path / "empty")
    with pytest.raises(CorpusError, match="a corpus needs at least one file"):
        load(config)
