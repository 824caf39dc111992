"""Parsed documents as text, in the form of the published texts."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from pipeline.benchmarks.officeqa import Rendering
from pipeline.benchmarks.officeqa.rendering import render
from pipeline.corpus import build
from pipeline.corpus.config import CorpusConfig
from tests.benchmarks.officeqa.parsed import document, element, from_text
from tests.corpus.conftest import write

HEAD = (
    "<thead><tr><th rowspan=2>Month</th><th colspan=2>Outlays</th><th></th></tr>"
    "<tr><th>Army</th><th></th><th></th></tr></thead>"
)


def text(*elements: Any, rendering: Rendering = Rendering.transformed) -> str:
    return render(document(*elements), rendering)


def table(rows: str) -> str:
    return text(element("table", f"<table>{rows}</table>"))


def test_elements_follow_in_order_with_an_empty_line_after_each() -> None:
    elements = [element("title", " Bulletin "), element("text", "One\r\ntwo."), element("page_footer", "3")]
    assert text(*elements) == "Bulletin\n\nOne\ntwo.\n\n3\n\n"


def test_what_has_no_content_leaves_no_gap() -> None:
    assert text(element("figure", None), element("text", "One."), element("text", "  ")) == "One.\n\n"


def test_levels_of_a_header_are_joined_and_empty_ones_filled() -> None:
    assert table(f"{HEAD}<tr><td>May</td><td>1</td><td>2</td><td></td></tr>") == (
        "| Month > Month | Outlays > Army | Outlays > Unnamed: 2_level_1 "
        "| Unnamed: 3_level_0 > Unnamed: 3_level_1 |\n| --- | --- | --- | --- |\n| May | 1 | 2 | nan |\n\n"
    )


def test_a_header_of_one_level_is_filled_without_it_and_names_are_told_apart() -> None:
    rows = "<tr><th></th><th>1971</th><th>1971</th></tr><tr><td>a</td><td>1</td><td>2</td></tr>"
    assert table(rows) == "| Unnamed: 0 | 1971 | 1971.1 |\n| --- | --- | --- |\n| a | 1 | 2 |\n\n"


def test_a_level_that_is_empty_throughout_is_none() -> None:
    rows = (
        "<thead><tr><th></th><th></th></tr><tr><th>A</th><th>B</th></tr></thead><tr><td>1</td><td>2</td></tr>"
    )
    assert table(rows).startswith("| A | B |\n")


def test_columns_without_a_header_are_numbered() -> None:
    assert table("<tr><td>Budget</td><td>2</td></tr>") == "| 0 | 1 |\n| --- | --- |\n| Budget | 2 |\n\n"


def test_rows_that_are_wider_than_the_header_have_names_all_the_same() -> None:
    rows = "<tr><th>A</th></tr><tr><td>1</td><td>2</td></tr>"
    assert table(rows) == "| A | Unnamed: 1 |\n| --- | --- |\n| 1 | 2 |\n\n"


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        ("1,234", "1234"),
        ("-1,234,567.80", "-1234567.80"),
        ("1,23", "1,23"),
        ("r 1,234", "r 1,234"),
        ("$1,234", "$1,234"),
        ("(1,234)", "(1,234)"),
        ("Army, Navy", "Army, Navy"),
        ("a | b", "a \\| b"),
        ("two\n  lines", "two lines"),
        ("nan", "nan"),
    ],
)
def test_a_figure_alone_in_its_cell_loses_its_commas_and_all_else_stays(cell: str, shown: str) -> None:
    assert table(f"<tr><th>A</th></tr><tr><td>{cell}</td></tr>").splitlines()[2] == f"| {shown} |"


def test_a_table_without_a_word_stays_as_it_is() -> None:
    assert table("<tr><td></td></tr>") == "```html\n<table><tr><td></td></tr></table>\n```\n\n"


def test_pages_are_marked_where_they_begin() -> None:
    elements = [
        element("text", "One.", 0),
        element("text", "Two.", 0),
        element("figure", "", 1),
        element("text", "Three.", 2),
    ]
    assert text(*elements, rendering=Rendering.page_level) == (
        "--- PAGE 0 ---\n\nOne.\n\nTwo.\n\n\n--- PAGE 2 ---\n\nThree.\n\n"
    )
    assert "PAGE" not in text(*elements)


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"{", "no JSON, at line 1"),
        (b"[]", r"no list document\.elements"),
        (b'{"document": {"elements": {}}}', r"no list document\.elements"),
        (document(), "no element has content"),
        (document(element("figure", None)), "no element has content"),
        (document(element("text", "One."), "two"), "element 2: it is no object with a type"),
        (document({"content": "x"}), "element 1: it is no object with a type"),
        (document(element("text", ["x"])), r"element 1 \(text\): content is no text"),
        (
            document(element("text", "One."), element("table", "<table></table> in words")),
            r"element 2 \(table\): the table has no row",
        ),
    ],
)
def test_what_is_malformed_is_named_by_element(raw: bytes, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        render(raw, Rendering.transformed)


@pytest.mark.parametrize("box", [None, [], [{}], [{"page_id": "3"}], {"page_id": 3}])
def test_an_element_without_a_page_is_named_where_pages_are_asked_for(box: Any) -> None:
    raw = document({**element("text", "One."), "bbox": box})
    assert render(raw, Rendering.transformed) == "One.\n\n"
    with pytest.raises(ValueError, match=r"element 1 \(text\): bbox names no page_id"):
        render(raw, Rendering.page_level)


def test_real_texts_come_out_as_they_were_published(shared: Path) -> None:
    """Each real text, taken apart to the elements that it was made of, renders to itself, byte for byte."""
    treasury = shared / "data/treasury"
    with (treasury / "MANIFEST.csv").open(newline="") as file:
        names = [row["file"] for row in csv.DictReader(file) if row["form"] == "transformed"]
    assert len(names) == 29
    for name in names:
        published = (treasury / "documents" / name).read_text(encoding="utf-8")
        assert text(*from_text(published)) == published, name


def test_the_corpus_reads_tables_titles_and_headers_of_a_rendered_document(tmp_path: Path) -> None:
    content = text(
        element("caption", "Table 1.—Outlays by Month"),
        element("text", "(In millions of dollars)"),
        element("table", f"<table>{HEAD}<tr><td>May</td><td>6,241</td><td></td><td></td></tr></table>"),
    )
    corpus = build([write(tmp_path / "documents", {"a.txt": content})], CorpusConfig(), None)
    (hit,) = corpus.search("outlays may", top_k=1).hits
    assert hit.table is not None and hit.table.title == "Table 1.—Outlays by Month"
