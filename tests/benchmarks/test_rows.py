"""Rows of question files, and what is said of those that can't be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.benchmarks.rows import csv_rows, json_rows
from pipeline.errors import BenchmarkError

NEEDED = ("id", "question")


def written(folder: Path, content: str | bytes, name: str = "questions.jsonl") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_both_kinds_of_file_give_the_same_rows(tmp_path: Path) -> None:
    table = written(tmp_path, '\ufeffid,question,note\nQ1,"What,\nin all?",\nQ2,And?,x\n', "questions.csv")
    lines = written(
        tmp_path, '{"id": "Q1", "question": "What,\\nin all?"}\n\n{"id":"Q2","question":"And?","note":"x"}'
    )
    for rows in (list(csv_rows(table, NEEDED, "id")), list(json_rows(lines, NEEDED, "id"))):
        assert [row.text("question") for row in rows] == ["What,\nin all?", "And?"]
        assert [row.optional("note") for row in rows] == [None, "x"]
    assert [row.place for row in csv_rows(table, NEEDED, "id")] == [
        f"{table}, row 1 (ending at line 3)",
        f"{table}, row 2 (ending at line 4)",
    ]
    assert [row.place for row in json_rows(lines, NEEDED, "id")] == [
        f"{lines}, row 1 (line 1)",
        f"{lines}, row 2 (line 3)",
    ]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"id": "Q2", "question": ', r"row 2 \(line 2\): not JSON, at column \d+"),
        ('["Q2", "What?"]', r"row 2 \(line 2\): not a JSON object"),
        ('{"id": "Q2"}', r"row 2 \(line 2\), column question: empty"),
        ('{"id": "Q2", "question": null}', r"row 2 \(line 2\), column question: empty"),
        ('{"id": "Q2", "question": " \\n"}', r"row 2 \(line 2\), column question: empty"),
        ('{"id": "Q1", "question": "What?"}', r"row 2 \(line 2\), column id: 'Q1' is that of row 1 too"),
        (b'{"id": "Q2", "question": "\xff"}', r"row 2 \(line 2\): not JSON"),
    ],
)
def test_a_faulty_line_is_named_by_file_row_and_column(tmp_path: Path, line: str | bytes, said: str) -> None:
    first = b'{"id": "Q1", "question": "What?"}\n'
    path = written(tmp_path, first + (line.encode() if isinstance(line, str) else line))
    with pytest.raises(BenchmarkError, match=said) as refused:
        list(json_rows(path, NEEDED, "id"))
    assert str(path) in str(refused.value)


def test_a_cell_that_is_no_text_is_an_error_where_text_is_asked_for(tmp_path: Path) -> None:
    (row,) = json_rows(written(tmp_path, '{"id": 7, "question": ["What?"]}'), NEEDED, "id")
    assert row.cells["id"] == 7
    with pytest.raises(BenchmarkError, match=r"row 1 \(line 1\), column question: \['What\?'\] is no text"):
        row.text("question")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("id;question\nQ1;What?\n", "semicolons"),
        ('\ufeff"id";"question"\r\n"Q1";"What, then?"\r\n', "semicolons"),
        ("id\tquestion\nQ1\tWhat?\n", "tabs"),
        ("id|question\nQ1|What?\n", "vertical bars"),
    ],
)
def test_a_table_with_other_separators_than_commas_is_told_by_what_it_has(
    tmp_path: Path, content: str, said: str
) -> None:
    path = written(tmp_path, content, "q.csv")
    with pytest.raises(BenchmarkError, match=f"q.csv, header: its columns are separated by {said}; save it"):
        list(csv_rows(path, NEEDED, "id"))


def test_an_unusable_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkError, match="has no questions"):
        list(json_rows(written(tmp_path, "\n\n"), NEEDED, "id"))
    with pytest.raises(BenchmarkError, match="can't be read: No such file"):
        list(json_rows(tmp_path / "none", NEEDED, "id"))
    with pytest.raises(BenchmarkError, match="header: missing column question; it has: id"):
        list(csv_rows(written(tmp_path, "id\nQ1\n"), NEEDED, "id"))
    with pytest.raises(BenchmarkError, match="no UTF-8 CSV file, after row 1"):
        list(csv_rows(written(tmp_path, 'id,question\nQ1,What?\nQ2,"open'), NEEDED, "id"))
