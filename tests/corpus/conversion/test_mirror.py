"""Folders that hold PDF and HTML files."""

from __future__ import annotations

import logging
from importlib import metadata
from pathlib import Path

import pytest

from pipeline.corpus import build
from pipeline.corpus.config import CorpusConfig
from pipeline.corpus.conversion import mirror, pool, readable
from pipeline.errors import CorpusError
from tests.corpus.conftest import write
from tests.corpus.conversion.pdfs import pdf


def test_a_folder_of_text_stays_itself(tmp_path: Path) -> None:
    folder = write(tmp_path / "documents", {"a.txt": "Text."})
    assert readable([folder], tmp_path / "cache") == (folder,)
    assert not (tmp_path / "cache").exists()


def test_every_document_keeps_its_id(tmp_path: Path) -> None:
    documents = {"a.txt": "Text.", "sub/Report.PDF": pdf(["Outlays rose."]), "sub/b.html": "<p>Page.</p>"}
    folder = write(tmp_path / "documents", documents)
    (found,) = readable([folder], tmp_path / "cache")
    corpus = build([found], CorpusConfig(), None)
    assert corpus.document_ids == ["a.txt", "sub/Report.PDF", "sub/b.html"]
    assert (found / "a.txt").read_text() == "Text."
    assert (found / "sub/b.html").read_text() == "Page.\n"
    assert (found / "sub/Report.PDF").read_text().startswith("--- PAGE 1 ---\n\nOutlays rose.\n")


def test_only_folders_that_need_it_are_mirrored(tmp_path: Path) -> None:
    plain = write(tmp_path / "plain", {"a.txt": "Text."})
    pages = write(tmp_path / "pages", {"b.htm": "<p>Page.</p>"})
    first, second = readable([plain, pages], tmp_path / "cache")
    assert first == plain
    assert [path.name for path in second.iterdir()] == ["b.htm"]


def test_a_file_is_converted_once_and_again_when_it_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    converted: list[str] = []
    write_one = mirror._write

    def counted(path: Path, folder: Path) -> None:
        converted.append(path.name)
        write_one(path, folder)

    monkeypatch.setattr(mirror, "_write", counted)
    folder = write(tmp_path / "documents", {"a.html": "<p>A.</p>", "b.html": "<p>B.</p>"})
    before = readable([folder], tmp_path / "cache")
    assert readable([folder], tmp_path / "cache") == before
    assert converted == ["a.html", "b.html"]
    write(folder, {"b.html": "<p>Changed.</p>"})
    (after,) = readable([folder], tmp_path / "cache")
    assert converted == ["a.html", "b.html", "b.html"]
    assert (after / "b.html").read_text() == "Changed.\n"
    assert (before[0] / "b.html").read_text() == "B.\n"


def test_a_mirror_that_has_lost_a_text_is_made_again(tmp_path: Path) -> None:
    folder = write(tmp_path / "documents", {"a.html": "<p>A.</p>"})
    (found,) = readable([folder], tmp_path / "cache")
    (found / "a.html").resolve().unlink()
    (again,) = readable([folder], tmp_path / "cache")
    assert (again / "a.html").read_text() == "A.\n"


def test_many_files_are_converted_as_few_are(tmp_path: Path) -> None:
    names = [f"{number}.html" for number in range(2 * pool.FEW)]
    folder = write(tmp_path / "documents", {name: f"<p>Page of {name}</p>" for name in names})
    (found,) = readable([folder], tmp_path / "cache")
    assert [(found / name).read_text() for name in names] == [f"Page of {name}\n" for name in names]


def test_all_files_that_cannot_be_converted_are_named(tmp_path: Path) -> None:
    documents = {
        "a.pdf": pdf(["Secret."], password="x"),
        "b.pdf": b"no PDF",
        "c.pdf": pdf([]),
        "d.html": "",
        "e.html": "<p>Fine.</p>",
    }
    folder = write(tmp_path / "documents", documents)
    with pytest.raises(CorpusError) as refused:
        readable([folder], tmp_path / "cache")
    told = str(refused.value).splitlines()[1:]
    assert [Path(line.partition("': ")[0].strip("'")).name for line in told] == [
        "a.pdf",
        "b.pdf",
        "c.pdf",
        "d.html",
    ]
    assert ["encrypted" in told[0], "damaged" in told[1], "OCR" in told[2], "no markup" in told[3]] == [
        True
    ] * 4


def test_a_file_that_is_no_text_is_named_where_it_lies_not_by_its_mirror(tmp_path: Path) -> None:
    folder = write(tmp_path / "documents", {"a.html": "<p>A.</p>", "b.docx": b"PK\x03\x04\xff"})
    mirrored = readable([folder], tmp_path / "cache")
    with pytest.raises(CorpusError, match=rf"{folder / 'b.docx'}': Word file"):
        build(mirrored, CorpusConfig(), None)


def test_pages_without_text_are_warned_of_every_time(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = write(tmp_path / "documents", {"scan.pdf": pdf(["One."], [], [], table=False)})
    for _ in range(2):
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            readable([folder], tmp_path / "cache")
        assert caplog.messages == [f"{folder / 'scan.pdf'}: no text on page 2, 3; images need OCR"]


def test_without_the_extra_the_error_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(mirror, "version", absent)
    folder = write(tmp_path / "documents", {"a.pdf": pdf(["One."])})
    with pytest.raises(CorpusError, match=r"a\.pdf.*pypdfium2: pip install 'longharness\[documents\]'"):
        readable([folder], tmp_path / "cache")
