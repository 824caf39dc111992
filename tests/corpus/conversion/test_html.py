"""HTML pages as text."""

from __future__ import annotations

import pytest

from pipeline.corpus import Corpus
from pipeline.corpus.conversion.html import text_of
from tests.corpus.conftest import Make

TABLE = (
    "<table><caption>Table 1.—Outlays by Month</caption>"
    "<tr><th rowspan=2>Month</th><th colspan=2>Outlays</th></tr>"
    "<tr><th>Army</th><th>Navy</th></tr><tr><td>May</td><td>6,241</td><td></td></tr></table>"
)


def test_blocks_are_paragraphs_and_what_no_browser_shows_is_left_out() -> None:
    page = (
        b"<html><head><title>Outlays</title><style>p {color: red}</style><script>var hidden;</script></head>"
        b"<body><h1>Outlays of May</h1><p>They <b>rose</b>\nagain.</p>"
        b"<ul><li>Army</li><li>Navy</li></ul></body>"
    )
    assert text_of(page) == "Outlays of May\n\nThey rose again.\n\n  * Army\n  * Navy\n"


def test_a_title_that_the_page_does_not_repeat_heads_the_text() -> None:
    assert text_of(b"<title>Report 1953</title><p>Outlays rose.</p>") == "Report 1953\n\nOutlays rose.\n"


def test_a_table_becomes_a_pipe_table_with_its_caption_above() -> None:
    assert text_of(f"<p>Before.</p>{TABLE}<p>After.</p>".encode()) == (
        "Before.\n\nTable 1.—Outlays by Month\n\n| Month | Outlays > Army | Outlays > Navy |\n"
        "| --- | --- | --- |\n| May | 6,241 |  |\n\nAfter.\n"
    )


def test_a_table_that_only_places_things_is_no_table() -> None:
    text = text_of(
        f"<table><tr><td>Menu</td><td>{TABLE}</td></tr><tr><td>a</td><td>b</td></tr></table>".encode()
    )
    assert text.count("| --- | --- | --- |") == 1
    assert "\nMenu\n" in f"\n{text}" and "| Menu" not in text


def test_the_corpus_finds_the_table_with_title_and_header(make: Make) -> None:
    corpus: Corpus = make({"page.html": text_of(f"<h1>Report</h1>{TABLE}".encode())})
    (hit,) = corpus.search("outlays may", top_k=1).hits
    assert hit.table is not None and hit.table.title == "Table 1.—Outlays by Month"


@pytest.mark.parametrize(
    "raw",
    ["<p>Zölle £5</p>".encode(), '<meta charset="latin-1"><p>Zölle £5</p>'.encode("latin-1")],
    ids=["utf-8 that is not declared", "declared"],
)
def test_the_encoding_is_found(raw: bytes) -> None:
    assert text_of(raw) == "Zölle £5\n"


@pytest.mark.parametrize("raw", [b"", b"  \n", b"<html><body><script>x</script></body></html>"])
def test_a_page_without_text_is_refused(raw: bytes) -> None:
    with pytest.raises(ValueError, match=r"no markup|no text"):
        text_of(raw)
