"""AA-LCR as one Parquet file, with the documents between markers in its rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.benchmarks.aa_lcr.joined import COLUMNS, read
from pipeline.errors import BenchmarkError
from tests.conftest import examples


def joined(texts: Sequence[str]) -> str:
    return "\n\n".join(
        f"BEGIN DOCUMENT {number}:\n{text}\nEND DOCUMENT {number}"
        for number, text in enumerate(texts, start=1)
    )


def written(folder: Path, *contexts: str | None) -> Path:
    """A file with a question for each context."""
    count = len(contexts)
    cells = [[f"What is {n}?" for n in range(count)], [f"It is {n}." for n in range(count)], list(contexts)]
    table = pa.table(dict(zip(COLUMNS, cells, strict=True)))
    pq.write_table(table, folder / "lcr.parquet")
    return folder / "lcr.parquet"


def texts(path: Path) -> list[list[str]]:
    return [[text.decode() for text in held.files().values()] for held in read(path).sets]


def test_rows_of_one_context_share_a_set(tmp_path: Path) -> None:
    one, two = joined(["A\n", "B"]), joined(["C"])
    data = read(written(tmp_path, one, two, one))
    assert [(q.id, q.document_set) for q in data.questions] == [
        ("q001", "set_01"),
        ("q002", "set_02"),
        ("q003", "set_01"),
    ]
    assert [held.files() for held in data.sets] == [{"01.txt": b"A\n", "02.txt": b"B"}, {"01.txt": b"C"}]


PIECES = st.text(st.sampled_from("aé\n :1") | st.characters(codec="utf-8"), max_size=30)


@examples(50)
@given(st.lists(PIECES, min_size=1, max_size=12))
def test_documents_come_back_as_they_were_joined(
    tmp_path_factory: pytest.TempPathFactory, documents: list[str]
) -> None:
    assert texts(written(tmp_path_factory.mktemp("joined"), joined(documents))) == [documents]


def test_text_that_only_resembles_a_marker_is_the_documents_own(tmp_path: Path) -> None:
    documents = ["see BEGIN DOCUMENT 2:", "END DOCUMENT 1 (of 3)\nBEGIN DOCUMENT two:\nEND  DOCUMENT 2"]
    assert texts(written(tmp_path, joined(documents))) == [documents]


@pytest.mark.parametrize(
    ("context", "said"),
    [
        (
            joined(["A", "B\nEND DOCUMENT 2"]),
            r"'END DOCUMENT 2' stands at character \d+, not 'BEGIN DOCUMENT 3:'",
        ),
        (
            joined(["A\nBEGIN DOCUMENT 2:\nx"]),
            r"'BEGIN DOCUMENT 2:' stands at character \d+, not 'END DOCUMENT 1'",
        ),
        (joined(["A", "B"]).replace("2", "3"), r"'BEGIN DOCUMENT 3:' stands at .*, not 'BEGIN DOCUMENT 2:'"),
        (
            joined(["A", "B"]).replace("DOCUMENT 1", "DOCUMENT 0"),
            r"'BEGIN DOCUMENT 0:' .*not 'BEGIN DOCUMENT 1:'",
        ),
        (joined(["A"]).removesuffix("END DOCUMENT 1"), "it ends without 'END DOCUMENT 1'"),
        ("A text", "it ends without 'BEGIN DOCUMENT 1:'"),
        ("Head\n" + joined(["A"]), "text between documents, from character 0 on: 'Head'"),
        (joined(["A"]) + "\nTail", r"text between documents, from character \d+ on: 'Tail'"),
        (joined(["A", "B"]).replace("\n\n", "\nx\n"), r"text between documents, from character \d+ on: 'x'"),
        ("", "empty"),
        (None, "empty"),
    ],
)
def test_a_context_that_cant_be_split_for_sure_is_refused(
    tmp_path: Path, context: str | None, said: str
) -> None:
    with pytest.raises(BenchmarkError, match=rf"lcr\.parquet, row 2, column context: {said}"):
        read(written(tmp_path, joined(["A"]), context))


def test_an_unusable_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkError, match="has no questions"):
        read(written(tmp_path))
    with pytest.raises(BenchmarkError, match="can't be read: No such file"):
        read(tmp_path / "none.parquet")
    (tmp_path / "text.parquet").write_text("question,answer,context\n")
    with pytest.raises(BenchmarkError, match="is no Parquet file"):
        read(tmp_path / "text.parquet")
    pq.write_table(pa.table({"question": ["Q"], "answer": [7]}), tmp_path / "two.parquet")
    with pytest.raises(BenchmarkError, match="header: missing column context; it has: question, answer"):
        read(tmp_path / "two.parquet")
    pq.write_table(
        pa.table({"question": ["Q"], "answer": [7], "context": [joined(["A"])]}), tmp_path / "seven.parquet"
    )
    with pytest.raises(BenchmarkError, match="row 1, column answer: 7 is no text"):
        read(tmp_path / "seven.parquet")


def test_other_columns_are_not_looked_at(tmp_path: Path) -> None:
    columns = {"question": ["Q"], "answer": ["A"], "context": [joined(["T"])]}
    strange = pa.array([2**31 - 1], pa.date32())  # no date that Python has
    pq.write_table(pa.table({**columns, "day": strange}), tmp_path / "day.parquet")
    assert texts(tmp_path / "day.parquet") == [["T"]]
    pq.write_table(pa.table({**columns, "answer": strange}), tmp_path / "answer.parquet")
    with pytest.raises(BenchmarkError, match=r"answer\.parquet is no Parquet file: "):
        read(tmp_path / "answer.parquet")
