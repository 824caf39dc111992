"""OfficeQA's documents: texts as published, or rendered from parsed files; the published counts."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import pytest

from pipeline.benchmarks.officeqa import OfficeQAConfig, Rendering, load
from pipeline.benchmarks.officeqa import texts as module
from pipeline.config import resolve
from pipeline.errors import BenchmarkError
from tests.benchmarks.officeqa.parsed import document, element

COLUMNS = ["uid", "question", "answer", "source_docs", "source_files"]
RECORD = "corpus_file=a.txt | pdf_page_number=3 | year=1872 | month=N/A | description=Receipts; duties | all"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LONGHARNESS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def parsed(folder: Path, names: Sequence[str]) -> Path:
    """Write parsed documents that say their name, on two pages."""
    folder.mkdir(parents=True)
    for name in names:
        content = document(element("text", f"I am {name}."), element("text", "Page two.", 1))
        (folder / f"{name}.json").write_bytes(content)
    return folder


def questions(path: Path, *rows: Sequence[str]) -> str:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([COLUMNS, *rows])
    return str(path)


def config(folder: Path, **more: object) -> OfficeQAConfig:
    """Two parsed documents and a question over both."""
    made = OfficeQAConfig(
        questions=questions(folder / "q.csv", ["qid_7", "What?", "7", RECORD, "a.txt;b.txt"]),
        parsed=str(parsed(folder / "jsons", ["a", "b"])),
    )
    for key, value in more.items():
        setattr(made, key, value)
    return made


def contents(made: OfficeQAConfig) -> dict[str, str]:
    (folder,) = load(made).corpora[made.name].folders
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_parsed_documents_are_rendered_under_the_names_that_questions_give(tmp_path: Path) -> None:
    made = config(tmp_path)
    assert contents(made) == {name: f"I am {name[0]}.\n\nPage two.\n\n" for name in ("a.txt", "b.txt")}
    (task,) = load(made).tasks
    assert (task.view.id, task.gold.documents, task.fields) == ("qid_7", ("a.txt", "b.txt"), {})


def test_the_other_rendering_marks_pages(tmp_path: Path) -> None:
    made = config(tmp_path, rendering=Rendering.page_level)
    assert contents(made)["a.txt"] == "--- PAGE 0 ---\n\nI am a.\n\n\n--- PAGE 1 ---\n\nPage two.\n\n"


def test_published_texts_come_before_parsed_documents(tmp_path: Path) -> None:
    texts = tmp_path / "transformed"
    texts.mkdir()
    for name in ("a.txt", "b.txt"):
        (texts / name).write_text("As published.")
    made = config(tmp_path, documents=[str(texts)])
    assert load(made).corpora["officeqa"].folders == (texts,)
    made.documents = [str(tmp_path / "absent")]
    assert contents(made)["a.txt"].startswith("I am a.")


def test_where_neither_is_there_the_error_names_the_texts_and_how_to_get_them(tmp_path: Path) -> None:
    made = config(tmp_path, documents=[str(tmp_path / "absent")], obtain="Get it there.")
    made.parsed = str(tmp_path / "nowhere")
    with pytest.raises(BenchmarkError, match=r"benchmark\.documents: .*absent' is not there\. Get it there"):
        load(made)
    made.documents = []
    with pytest.raises(BenchmarkError, match=r"benchmark\.parsed: .*nowhere' is not there\. Get it there"):
        load(made)


def test_documents_are_rendered_once_and_again_when_they_have_changed(tmp_path: Path, cache: Path) -> None:
    made = config(tmp_path)
    contents(made)
    (folder,) = (cache / "officeqa").iterdir()
    (folder / "a.txt").write_text("Kept.")
    assert contents(made)["a.txt"] == "Kept."
    (tmp_path / "jsons" / "a.json").write_bytes(document(element("text", "Changed.")))
    assert contents(made)["a.txt"] == "Changed.\n\n"


def test_documents_that_cannot_be_rendered_are_named_with_the_element(tmp_path: Path, cache: Path) -> None:
    made = config(tmp_path)
    (tmp_path / "jsons" / "a.json").write_text("{")
    (tmp_path / "jsons" / "b.json").write_bytes(document(element("text", "One."), element("table", 3)))
    with pytest.raises(
        BenchmarkError, match=r"a\.json': no JSON.*\n.*b\.json': element 2 \(table\): content is no text"
    ):
        load(made)
    assert not any((cache / "officeqa").iterdir())
    (tmp_path / "jsons" / "a.json").unlink()
    (tmp_path / "jsons" / "b.json").rename(tmp_path / "jsons" / "b.txt")
    with pytest.raises(BenchmarkError, match=r"no \.json file in .*jsons"):
        load(made)


def test_without_the_extra_the_error_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(BenchmarkError, match=r"lxml: pip install 'longharness\[documents\]'"):
        load(config(tmp_path))


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        (
            "corpus_file=a.txt | year=1872",
            "record 1 has corpus_file, year, not corpus_file, pdf_page_number, year",
        ),
        (f"{RECORD};{RECORD.replace('year', 'yaer')}", "record 2 has corpus_file, pdf_page_number, yaer"),
        (f"{RECORD}\n{RECORD.replace('3', 'three')}", "record 2: pdf_page_number is 'three', no number"),
    ],
)
def test_a_malformed_record_of_sources_is_named_by_row_and_column(
    tmp_path: Path, cell: str, said: str
) -> None:
    made = config(tmp_path)
    questions(tmp_path / "q.csv", ["qid_7", "What?", "7", cell, "a.txt"])
    with pytest.raises(BenchmarkError, match=rf"row 1 .*column source_docs: {said}"):
        load(made)


@pytest.mark.parametrize(
    "cell", ["", "https://example.org/a?page=3\nhttps://example.org/b", f"{RECORD}; {RECORD};"]
)
def test_links_and_well_formed_records_pass(tmp_path: Path, cell: str) -> None:
    made = config(tmp_path)
    questions(tmp_path / "q.csv", ["UID0001", "What?", "7", cell, "a.txt"])
    assert len(load(made).tasks) == 1


def test_other_counts_than_the_published_are_an_error_or_a_label(tmp_path: Path) -> None:
    made = config(tmp_path, published={"questions": 1, "documents": 3})
    with pytest.raises(BenchmarkError, match=r"documents 2 \(published 3\)") as refused:
        load(made)
    assert "questions" not in str(refused.value)
    made.allow_other_revision = True
    assert load(made).revision == "other revision: documents 2 (published 3)"


def test_pro_v2_loads_at_its_published_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OFFICEQA_PRO_V2_DIR", str(tmp_path / "v2"))
    names = [f"receipts__{number:04}" for number in range(1_435)]
    parsed(tmp_path / "v2/parsed_corpus/jsons", names)
    rows = [[f"qid_{n}", f"What of {n}?", "$7.10", "", f"{names[n]}.txt; {names[-1]}.txt"] for n in range(90)]
    questions(tmp_path / "v2/officeqa_pro_v2.csv", *rows)
    benchmark = load(resolve(["benchmark=officeqa_pro_v2"]).arms[0].benchmark)
    assert (len(benchmark.tasks), benchmark.revision) == (90, None)
    assert benchmark.tasks[3].gold.documents == ("receipts__0003.txt", "receipts__1434.txt")


@pytest.mark.parametrize("rendering", Rendering)
def test_pro_v1_and_full_share_their_texts(
    rendering: Rendering, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OFFICEQA_DIR", str(tmp_path))
    texts = tmp_path / "treasury_bulletins_parsed" / rendering.value
    texts.mkdir(parents=True)
    for number in range(697):
        (texts / f"{number}.txt").write_text("Text.")
    rows = [[f"UID{n:04}", "What?", "7", "", "0.txt\n1.txt"] for n in range(246)]
    questions(tmp_path / "officeqa_full.csv", *rows)
    questions(tmp_path / "officeqa_pro.csv", *rows[:133])
    loaded = [
        load(resolve([f"benchmark={name}", f"benchmark.rendering={rendering.name}"]).arms[0].benchmark)
        for name in ("officeqa_full", "officeqa_pro_v1")
    ]
    assert [(len(benchmark.tasks), benchmark.revision) for benchmark in loaded] == [(246, None), (133, None)]
    assert [source.folders for benchmark in loaded for source in benchmark.corpora.values()] == [(texts,)] * 2
