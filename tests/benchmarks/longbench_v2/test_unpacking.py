"""The long questions of `data.json`, each with a document of its own: checked as they are streamed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.benchmarks.longbench_v2 import unpacking
from pipeline.benchmarks.longbench_v2.unpacking import COLUMNS, DOCUMENT, count_words, unpacked
from pipeline.errors import BenchmarkError
from tests.benchmarks.longbench_v2.published import row, without, write


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LONGHARNESS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache/longbench_v2"


def test_long_questions_are_kept_each_with_a_document_of_its_own(tmp_path: Path) -> None:
    data = unpacked(write(tmp_path, [row(0, "short"), row(1), row(2, "medium"), row(3, context="a b\r\nc")]))
    assert [(item.id, item.answer, item.words) for item in data.items] == [
        ("66f01", "B", 3),
        ("66f03", "D", 3),
    ]
    first, second = data.items
    assert first.choices == ("One", "Two", "Three,\nor more", "Four")
    assert (data.documents(first) / DOCUMENT).read_bytes() == "Text 1: “ça”.\n".encode()
    assert (data.documents(second) / DOCUMENT).read_bytes() == b"a b\r\nc"


def test_a_file_is_unpacked_once_by_what_it_holds(tmp_path: Path, cache: Path) -> None:
    path = write(tmp_path, [row(1)])
    first = unpacked(path)
    made = first.folder.stat().st_ino
    assert unpacked(path.rename(tmp_path / "renamed.json")) == first
    assert first.folder.stat().st_ino == made
    assert unpacked(write(tmp_path, [row(1, context="Other")])).folder != first.folder
    (first.documents(first.items[0]) / DOCUMENT).write_bytes(b"cut")
    assert unpacked(tmp_path / "renamed.json") == first
    assert (first.documents(first.items[0]) / DOCUMENT).stat().st_size == first.items[0].bytes


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        *((without(column, row(2)), rf"row 2, column {column}: empty") for column in COLUMNS),
        (row(2, context=""), r"row 2, column context: empty"),
        (row(2, context=["Text"]), r"row 2, column context: \['Text'\] is no text"),
        (row(2, choice_B=7), r"row 2, column choice_B: 7 is no text"),
        (row(2, answer="E"), r"row 2, column answer: 'E' is none of A, B, C, D"),
        (row(2, answer="a"), r"row 2, column answer: 'a' is none of A, B, C, D"),
        (row(2, "longer"), r"row 2, column length: 'longer' is none of short, medium, long"),
        (row(2, difficulty="medium"), r"row 2, column difficulty: 'medium' is none of easy, hard"),
        (row(2, "short", answer="E"), r"row 2, column answer: 'E' is none of"),
        (row(1), r"row 2, column _id: '66f01' is that of row 1 too"),
        (row(2, _id="../66f"), r"row 2, column _id: '../66f' can't name a folder"),
        ([], r"row 2: not a JSON object"),
    ],
)
def test_a_faulty_row_is_named_by_file_row_and_column_and_leaves_nothing(
    tmp_path: Path, cache: Path, cells: Any, said: str
) -> None:
    path = write(tmp_path, [row(1), cells])
    with pytest.raises(BenchmarkError, match=f"^{re.escape(str(path))}, {said}"):
        unpacked(path)
    assert list(cache.iterdir()) == []


@pytest.mark.parametrize(
    ("old", "new", "byte"),
    [
        (b'"answer"', b'answer"', 0),
        (b'"domain":', b'"domain";', 8),
        (b'"Text 2', b'"Te\xfft 2', 3),
        (b"What is 2", b"What\nis 2", 4),
    ],
)
def test_what_is_not_json_is_named_by_its_byte(tmp_path: Path, old: bytes, new: bytes, byte: int) -> None:
    path = write(tmp_path, [row(1), row(2)])
    raw = path.read_bytes()
    at = raw.rindex(old)
    path.write_bytes(raw[:at] + new + raw[at + len(old) :])
    with pytest.raises(BenchmarkError, match=rf"data\.json, row 2: not JSON, at byte {at + byte:,}: "):
        unpacked(path)


def test_a_file_that_was_cut_is_named_by_its_size(tmp_path: Path) -> None:
    path = write(tmp_path, [row(1), row(2, context="Text " * 100_000)])
    path.write_bytes(path.read_bytes()[:300_000])
    with pytest.raises(BenchmarkError, match=r"row 2: not JSON, at byte 300,000: parse error: premature EOF"):
        unpacked(path)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", r"is no JSON array: it must begin with '\['"),
        (orjson.dumps({"data": [row(1)]}), r"is no JSON array"),
        (b" []", "has no questions"),
        (orjson.dumps([row(1)]) + b" x", r"row 2: not JSON, at byte \d+: parse error: trailing garbage"),
    ],
)
def test_a_file_that_is_no_array_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "data.json").write_bytes(content)
    with pytest.raises(BenchmarkError, match=said):
        unpacked(tmp_path / "data.json")
    with pytest.raises(BenchmarkError, match="can't be read: No such file"):
        unpacked(tmp_path / "none.json")


@given(st.text(st.sampled_from("ab \n\t\u2003\xa0é"), max_size=40), st.integers(1, 7))
def test_words_are_counted_as_a_split_of_the_whole_would(text: str, piece: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unpacking, "_PIECE", piece)
        assert count_words(text) == len(text.split())
