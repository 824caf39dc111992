"""Offsets are code points into the text exactly as it is in the file (contract 3.9); bad input is named."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.corpus import build, documents
from pipeline.corpus.config import CorpusConfig
from pipeline.errors import CorpusError
from tests.corpus.conftest import FEW, Make, write

TEXT = st.text(st.sampled_from("ab \n\r\té—中😀\ufeff\x00"), max_size=60)


@FEW
@given(st.lists(TEXT, min_size=1, max_size=4), st.integers(1, 4), st.data())
def test_any_range_of_code_points_is_exact(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], times: int, data: st.DataObject
) -> None:
    texts = [text * times * 20 for text in texts]  # more than one block of offsets
    folder = write(tmp_path_factory.mktemp("d"), {f"{i}.txt": text for i, text in enumerate(texts)})
    corpus = build([folder], CorpusConfig(), None)
    for number, text in enumerate(texts):
        assert corpus.length(number) == len(text)
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, len(text)))
        assert corpus.text(number, start, end) == text[start:end]
        assert corpus.tokens(number, start, end) == -(-len(text[start:end].encode()) // 4)


@FEW
@given(TEXT.map(lambda text: text * 3), st.integers(1, 30), st.data())
def test_clip_is_the_largest_end_within_the_budget_at_a_line_end(
    tmp_path_factory: pytest.TempPathFactory, text: str, budget: int, data: st.DataObject
) -> None:
    corpus = build([write(tmp_path_factory.mktemp("d"), {"a": text})], CorpusConfig(), None)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    clipped = corpus.clip(0, start, end, budget)
    assert start <= clipped <= end
    assert corpus.tokens(0, start, clipped) <= budget
    fits = [e for e in range(start, end + 1) if corpus.tokens(0, start, e) <= budget]
    line_ends = [e for e in fits if e > start and text[e - 1] == "\n"]
    assert clipped == (end if fits[-1] == end else (line_ends or fits)[-1])


def test_line_ends_and_a_byte_order_mark_are_kept(make: Make) -> None:
    corpus = make({"a.txt": b"\xef\xbb\xbfone\r\ntwo\rthree\n"})
    assert corpus.text(0, 0, 99) == "\ufeffone\r\ntwo\rthree\n"


def test_ids_are_relative_paths_sorted_by_code_point(make: Make) -> None:
    corpus = make({"b.txt": "x", "a/z.txt": "x", "B.txt": "x", "é.md": "x", "a.txt": "x"})
    assert list(corpus.document_ids) == ["B.txt", "a.txt", "a/z.txt", "b.txt", "é.md"]
    assert [corpus.number(name) for name in corpus.document_ids] == [0, 1, 2, 3, 4]
    assert corpus.number("c.txt") is None


def test_hidden_files_and_folders_are_no_documents(make: Make) -> None:
    assert list(make({"a": "x", ".b": "\xff", ".git/c": "x", "d/.e": "x"}).document_ids) == ["a"]


def test_several_folders_are_one_corpus(tmp_path: Path) -> None:
    one, two = write(tmp_path / "1", {"a": "x"}), write(tmp_path / "2", {"b": "y"})
    assert list(build([two, one], CorpusConfig(), None).document_ids) == ["a", "b"]


def test_an_empty_file_is_a_document_without_passages(make: Make) -> None:
    corpus = make({"a": "", "b": "word"})
    assert list(corpus.document_ids) == ["a", "b"]
    assert (corpus.length(0), corpus.text(0, 0, 5), corpus.passage("a#0")) == (0, "", None)
    assert [hit.document for hit in corpus.search("word").hits] == ["b"]


def test_a_corpus_of_empty_files_or_blanks_can_be_searched(make: Make) -> None:
    for content in ("", "\n\n \n", ",.-"):
        result = make({"a": content}).search("word")
        assert (result.hits, result.searched, result.indexed_terms) == ((), 1, 0)


@pytest.mark.parametrize(
    ("content", "byte"), [(b"ab\xffc", 2), (b"x" * 5_000_000 + b"\xc3(", 5_000_000), (b"\xe2\x82", 0)]
)
def test_text_that_is_not_utf8_is_named_with_its_byte(make: Make, content: bytes, byte: int) -> None:
    with pytest.raises(CorpusError, match=rf"bad\.txt': not UTF-8 at byte {byte} \(.*\): save it as UTF-8"):
        make({"good.txt": "x", "bad.txt": content})


def test_all_files_that_are_no_text_are_named_by_what_they_are(make: Make) -> None:
    refused = {
        "a.docx": b"PK\x03\x04\xff",
        "b.XLSX": b"PK\x03\x04\xff",
        "sub/c.png": b"\x89PNG\r\n",
        "d.zip": b"PK\x03\x04\xff",
        "e": b"%PDF-1.7\n\xff",
        "f.txt": b"\xff\xfeT\x00",
        "g.dat": b"\x80",
    }
    with pytest.raises(CorpusError) as said:
        make({"good.txt": "x", "notes.doc": "text by another name", **refused})
    lines = str(said.value).splitlines()
    assert lines[0] == "documents that are not text; convert them, or take them out of the folder:"
    found = {name: line for name in refused for line in lines[1:] if f"{name}'" in line}
    assert [found[name].partition("': ")[2] for name in refused] == [
        "Word file: not supported; save it as PDF, HTML or text",
        "spreadsheet: not supported; save its sheets as HTML or CSV",
        "image: not supported; make text of it first (OCR)",
        "archive: not supported; unpack it",
        "PDF file by another name: let its name end in .pdf",
        "text in UTF-16: not supported; save it as UTF-8",
        "not UTF-8 at byte 0 (invalid start byte): save it as UTF-8",
    ]
    assert len(lines) == 1 + len(refused)


def test_of_many_files_that_are_no_text_the_first_and_their_number_are_told(make: Make) -> None:
    with pytest.raises(CorpusError) as said:
        make({f"{number:02}.docx": b"\xff" for number in range(13)})
    lines = str(said.value).splitlines()
    assert "00.docx" in lines[1] and "09.docx" in lines[10]
    assert lines[11:] == ["… and 3 more"]


def test_a_missing_or_empty_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="nowhere' is not a folder"):
        build([tmp_path / "nowhere"], CorpusConfig(), None)
    with pytest.raises(CorpusError, match="no document"):
        build([write(tmp_path, {".hidden": "x"})], CorpusConfig(), None)
    with pytest.raises(CorpusError, match="no document"):
        build([], CorpusConfig(), None)


def test_an_id_that_two_folders_share_is_an_error(tmp_path: Path) -> None:
    folders = [write(tmp_path / name, {"s/a.txt": name}) for name in ("1", "2")]
    with pytest.raises(CorpusError, match=r"'s/a\.txt' occurs twice: .*1/s/a\.txt.*2/s/a\.txt"):
        build(folders, CorpusConfig(), None)


def test_links_are_followed_and_a_loop_of_them_is_an_error(tmp_path: Path) -> None:
    folder = write(tmp_path / "d", {"a/x.txt": "x"})
    (folder / "b").symlink_to(folder / "a")
    assert list(build([folder], CorpusConfig(), None).document_ids) == ["a/x.txt", "b/x.txt"]
    (folder / "a" / "loop").symlink_to(folder)
    with pytest.raises(CorpusError, match="leads back to a folder above it"):
        build([folder], CorpusConfig(), None)


def test_a_broken_link_and_a_special_file_are_errors(tmp_path: Path) -> None:
    folder = write(tmp_path / "d", {"x": "x"})
    (folder / "gone").symlink_to(tmp_path / "gone")
    with pytest.raises(CorpusError, match="gone' is no readable file"):
        build([folder], CorpusConfig(), None)
    (folder / "gone").unlink()
    os.mkfifo(folder / "pipe")
    with pytest.raises(CorpusError, match="pipe' is no readable file"):
        build([folder], CorpusConfig(), None)


def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    folder = write(tmp_path, {"locked.txt": "x"})
    (folder / "locked.txt").chmod(0)
    if os.access(folder / "locked.txt", os.R_OK):  # root reads everything: read something that nobody can
        (folder / "locked.txt").unlink()
        (folder / "locked.txt").symlink_to("/proc/self/mem")
    with pytest.raises(CorpusError, match=r"can't read document .*locked\.txt"):
        build([folder], CorpusConfig(), None)


def test_a_file_name_that_is_no_line_of_text_is_refused_and_an_odd_one_is_not(tmp_path: Path) -> None:
    odd = "a #1 [x]*?\"'é中😀.txt"
    folder = write(tmp_path, {odd: "word"})
    corpus = build([folder], CorpusConfig(), None)
    assert corpus.search("word", documents=[odd]).hits[0].passage == f"{odd}#0"
    assert corpus.passage(f"{odd}#0") is not None
    for name in (b"\xff.txt", b"a\n=== state ===.txt", "a\u2028b".encode(), b"a\x1b[2J"):
        forged = folder / os.fsdecode(name)
        forged.write_text("x")
        with pytest.raises(CorpusError, match="is not UTF-8 or breaks the line: rename"):
            build([folder], CorpusConfig(), None)
        forged.unlink()


def test_a_file_that_changes_under_the_reader_is_an_error(tmp_path: Path) -> None:
    file = documents.File("a", write(tmp_path, {"a": "1234"}) / "a")
    with pytest.raises(CorpusError, match="changed while it was read"):
        documents._read_into(file, documents.np.empty(5, "u1"))
    with pytest.raises(CorpusError, match="changed while it was read"):
        documents._read_into(file, documents.np.empty(3, "u1"))


def test_the_fingerprint_is_of_ids_bytes_and_config_alone(tmp_path: Path) -> None:
    base = build([write(tmp_path / "1", {"a": "x", "b": "y"})], CorpusConfig(), None).fingerprint
    assert build([write(tmp_path / "2", {"b": "y", "a": "x"})], CorpusConfig(), None).fingerprint == base
    others = [
        build([write(tmp_path / "3", {"a": "x", "c": "y"})], CorpusConfig(), None),
        build([write(tmp_path / "4", {"a": "x", "b": "z"})], CorpusConfig(), None),
        build([write(tmp_path / "5", {"a": "xb", "b": "y"})], CorpusConfig(), None),
        build([tmp_path / "1"], CorpusConfig(passage_tokens=512), None),
    ]
    assert len({base, *(other.fingerprint for other in others)}) == 5
