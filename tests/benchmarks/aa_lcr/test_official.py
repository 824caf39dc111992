"""AA-LCR as it is published: questions in a CSV file, their texts in an archive or a folder."""

from __future__ import annotations

import unicodedata
import zipfile
from pathlib import Path

import pytest

from pipeline.benchmarks.aa_lcr import texts as texts_module
from pipeline.benchmarks.aa_lcr.official import read
from pipeline.benchmarks.aa_lcr.sets import Data
from pipeline.errors import BenchmarkError
from tests.benchmarks.aa_lcr.published import HEADER, row, write_archive, write_questions

TEXTS = {"lcr/Company/co_one/b.txt": b"Text B\n", "lcr/Company/co_one/a.txt": b"Text A\n"}


def loaded(folder: Path, rows: list[list[str]], texts: dict[str, bytes] = TEXTS) -> Data:
    return read(write_questions(folder / "questions.csv", rows), write_archive(folder / "texts.zip", texts))


def test_questions_of_a_set_share_its_documents_in_the_order_of_the_file(tmp_path: Path) -> None:
    texts = TEXTS | {"lcr/Law/le_two/c.txt": b"Text C\n", "lcr/Law/le_two/unnamed.txt": b"No question's.\n"}
    rows = [row(1, "b.txt;a.txt"), row(2, "c.txt", "le_two", "Law"), row(3, "b.txt;a.txt")]
    data = loaded(tmp_path, rows, texts)
    assert [question.document_set for question in data.questions] == ["co_one", "le_two", "co_one"]
    assert [(held.id, held.category) for held in data.sets] == [("co_one", "Company"), ("le_two", "Law")]
    assert data.sets[0].files() == {"01 b.txt": b"Text B\n", "02 a.txt": b"Text A\n"}
    assert data.sets[1].files() == {"01 c.txt": b"Text C\n"}
    assert data.counts == {"questions": 3, "document sets": 2, "documents": 3}


def test_sorted_file_names_keep_the_order_of_a_large_set(tmp_path: Path) -> None:
    names = [f"{letter}.txt" for letter in reversed("abcdefghijkl")]
    texts = {f"lcr/Company/co_one/{name}": name.encode() for name in names}
    files = loaded(tmp_path, [row(1, ";".join(names))], texts).sets[0].files()
    assert [files[name].decode() for name in sorted(files)] == names


@pytest.mark.parametrize("in_archive", ["NFC", "NFD"])
@pytest.mark.parametrize("in_table", ["NFC", "NFD"])
def test_names_are_repaired_and_composed_before_they_are_looked_up(
    tmp_path: Path, in_archive: str, in_table: str
) -> None:
    name = "L’été à Zürich — rapport №1.txt"
    texts = {unicodedata.normalize(in_archive, f"lcr/Société/so_é/{name}"): b"Text\n"}
    cells = [unicodedata.normalize(in_table, cell) for cell in row(1, name, "so_é", "Société")]
    archive = write_archive(tmp_path / "texts.zip", texts)
    with zipfile.ZipFile(archive) as read_as_it_is:
        assert name not in "".join(read_as_it_is.namelist())
    data = read(write_questions(tmp_path / "questions.csv", [cells]), archive)
    assert list(data.sets[0].files()) == [f"01 {name}"]


def test_an_archive_whose_names_say_that_they_are_utf8_is_read_too(tmp_path: Path) -> None:
    archive = tmp_path / "texts.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("lcr/Company/co_one/L’été.txt", b"Text\n")
        file.writestr("__MACOSX/lcr/Company/co_one/._L’été.txt", b"\x00")
    data = read(write_questions(tmp_path / "q.csv", [row(1, "L’été.txt")]), archive)
    assert data.sets[0].files() == {"01 L’été.txt": b"Text\n"}


@pytest.mark.parametrize("extracted", ["right", "as code page 437"])
def test_an_extracted_folder_gives_what_its_archive_does(tmp_path: Path, extracted: str) -> None:
    texts = {"lcr/Company/co_one/L’été.txt": b"Text\n", **TEXTS}
    rows = [row(1, "b.txt;L’été.txt")]
    for name, text in texts.items():
        if extracted != "right":
            name = name.encode().decode("cp437")
        path = tmp_path / "extracted" / unicodedata.normalize("NFD" if extracted == "right" else "NFC", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)
    questions = write_questions(tmp_path / "questions.csv", rows)
    assert read(questions, tmp_path / "extracted") == loaded(tmp_path, rows, texts)
    assert read(questions, tmp_path / "extracted/lcr") == read(questions, tmp_path / "extracted")


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (
            row(2, "b.txt;c.txt", "co_two"),
            r"row 2 .*, column data_source_filenames: '.*' has no 'lcr/Company/co_two/b.txt'; the nearest is "
            r"'lcr/Company/co_one/b.txt'",
        ),
        (row(2, "a.txt;b.txt"), r"row 2 .*, column data_source_filenames: document set 'co_one' has another"),
        (row(2, "b.txt;a.txt", category="Law"), r"row 2 .*, column document_category: document set 'co_one'"),
        (row(1, "b.txt;a.txt"), r"row 2 .*, column question_id: '1' is that of row 1 too"),
        (row(2, " ; ;", "co_two"), r"row 2 .*, column data_source_filenames: no file is named"),
        (row(2, "a.txt;a.txt", "co_two"), r"row 2 .*, column data_source_filenames: 'a.txt' is named twice"),
        (row(2, "../co_one/a.txt", "co_two"), r"row 2 .*: '../co_one/a.txt' is no name of a file"),
        (row(2, "a.txt", "../two"), r"row 2 .*, column document_set_id: '../two' is no name of a folder"),
        (row(2, "a.txt", "co_two", ".."), r"row 2 .*, column document_category: '..' is no name of a folder"),
        (row(2, "b.txt;a.txt", question=" "), r"row 2 .*, column question: empty"),
        (row(2, "b.txt;a.txt")[:5], r"row 2 .*, column data_source_filenames: empty"),
    ],
)
def test_a_faulty_row_is_named_by_file_row_and_column(tmp_path: Path, cells: list[str], said: str) -> None:
    with pytest.raises(BenchmarkError, match=said):
        loaded(tmp_path, [row(1, "b.txt;a.txt"), cells])


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    questions = write_questions(tmp_path / "q.csv", [row(1, "b.txt")[1:]], HEADER[1:])
    with pytest.raises(BenchmarkError, match="header: missing column document_category"):
        read(questions, write_archive(tmp_path / "texts.zip", TEXTS))


def damaged(archive: Path, old: bytes, new: bytes) -> None:
    raw = archive.read_bytes()
    assert old in raw
    archive.write_bytes(raw.replace(old, new))


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (TEXTS | {"lcr/../../up.txt": b""}, r"'lcr/../../up.txt' lies outside of the archive"),
        (TEXTS | {"/etc/x.txt": b""}, r"'/etc/x.txt' lies outside of the archive"),
        (
            TEXTS | {unicodedata.normalize(form, "lcr/Company/co_one/é.txt"): b"" for form in ("NFC", "NFD")},
            r"two files are named 'Company/co_one/é.txt'",
        ),
        (
            TEXTS | {"lcr/Company/co_one/b.txt": b"Text \xff\n"},
            r"lcr/Company/co_one/b.txt is not UTF-8 at byte 5",
        ),
    ],
)
def test_a_faulty_archive_is_refused(tmp_path: Path, texts: dict[str, bytes], said: str) -> None:
    with pytest.raises(BenchmarkError, match=said):
        loaded(tmp_path, [row(1, "b.txt")], texts)


def test_a_damaged_or_encrypted_text_is_named(tmp_path: Path) -> None:
    questions = write_questions(tmp_path / "q.csv", [row(1, "b.txt")])
    archive = write_archive(tmp_path / "texts.zip", TEXTS)
    damaged(archive, b"Text B", b"Text X")
    with pytest.raises(BenchmarkError, match=r"texts.zip: 'lcr/Company/co_one/b.txt' is damaged: .*CRC"):
        read(questions, archive)
    write_archive(archive, TEXTS)
    raw = bytearray(archive.read_bytes())
    raw[raw.index(b"PK\x01\x02") + 8] |= 1  # the flag "encrypted" of the first entry in the directory
    archive.write_bytes(raw)
    with pytest.raises(BenchmarkError, match=r"'lcr/Company/co_one/b.txt' can't be extracted: .*encrypted"):
        read(questions, archive)
    archive.write_bytes(archive.read_bytes()[:-30])
    with pytest.raises(BenchmarkError, match=r"texts.zip can't be read as a ZIP archive"):
        read(questions, archive)


@pytest.mark.parametrize(
    ("at", "value", "said"),
    [
        (9, 8, "can't be read as a ZIP archive: .*utf-8"),  # the flag that its name, changed below, is UTF-8
        (6, 255, "can't be read as a ZIP archive: zip file version"),
        (46, 0, "a file has no name|two files|can't be read"),
    ],
)
def test_a_damaged_directory_is_an_error_of_the_archive(
    tmp_path: Path, at: int, value: int, said: str
) -> None:
    questions = write_questions(tmp_path / "q.csv", [row(1, "b.txt")])
    archive = write_archive(tmp_path / "texts.zip", TEXTS)
    raw = bytearray(archive.read_bytes())
    start = raw.index(b"PK\x01\x02")
    raw[start + 46] = 0xFF
    raw[start + at] = value
    archive.write_bytes(raw)
    with pytest.raises(BenchmarkError, match=rf"texts\.zip:? ({said})"):
        read(questions, archive)


def test_an_archive_that_would_fill_the_memory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(texts_module, "LARGEST", 10_000)
    with pytest.raises(BenchmarkError, match=r"would extract to 20,\d+ bytes, more than 10,000"):
        loaded(tmp_path, [row(1, "b.txt")], TEXTS | {"lcr/Company/co_one/c.txt": b" " * 20_000})
