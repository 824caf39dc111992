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


ROWS = "<tr><th>Month</th><th>Army</th></tr><tr><td>May</td><td>6,241</td></tr>"
PLAIN = f"<table>{ROWS}</table>"
CAPTIONED = f"<table><caption>Outlays <b>of the Army</b></caption>{ROWS}</table>"


@pytest.mark.parametrize(
    ("page", "title"),
    [
        (f"<h1>Report</h1>{CAPTIONED}", "Outlays of the Army"),
        (f"<h1>Report</h1><p>The army spent more</p>{CAPTIONED}", "Outlays of the Army"),
        (f"<h1>Report</h1><p>(In millions of dollars)</p>{CAPTIONED}", "Outlays of the Army"),
        (f"<h1>Report</h1><h2>Army</h2>{PLAIN}", "Army"),
        (f"<h1>Report</h1><div><h2>The<br>Army</h2></div><div>{PLAIN}</div>", "The Army"),
        (f"<h2>Army</h2><p>Spent more</p><p>(In millions of dollars)</p>{PLAIN}", "Army"),
        (f"<h2>Army</h2>{'<p>Spent more</p>' * 30}{PLAIN}", "Army"),
        (f"<h2>Army</h2>{CAPTIONED}<p>Note</p>{PLAIN}<h2>Navy</h2>", "Army"),
        (f"<h2>Army</h2><p>Table 3.—Outlays</p><p>(In millions of dollars)</p>{PLAIN}", "Table 3.—Outlays"),
        (f"<p>The army spent more</p>{PLAIN}", "Month | Army"),
        (f"<p>The army spent more</p><p>(In millions of dollars)</p>{PLAIN}", "Month | Army"),
    ],
)
def test_a_table_is_titled_by_its_caption_or_the_nearest_heading_and_by_no_paragraph(
    make: Make, page: str, title: str
) -> None:
    corpus: Corpus = make({"page.html": text_of(page.encode())})
    tables = {hit.table.title for hit in corpus.search("may army", top_k=50).hits if hit.table}
    assert tables - {"Outlays of the Army"} == {title} - {"Outlays of the Army"}
    assert title in tables


def test_a_title_stands_apart_and_above_the_unit(make: Make) -> None:
    text = text_of(f"<h1>Report</h1><p>More.</p><p>(In millions of dollars)</p>{CAPTIONED}".encode())
    assert text == (
        "Report\n\nMore.\n\n\n\nOutlays of the Army\n\n(In millions of dollars)\n\n"
        "| Month | Army |\n| --- | --- |\n| May | 6,241 |\n"
    )
    (hit,) = make({"page.html": text}).search("millions of dollars may", top_k=1).hits
    assert hit.table is not None and hit.table.title == "Outlays of the Army"


def test_a_heading_is_said_again_only_where_it_is_not_right_above_the_table() -> None:
    assert text_of(f"<h2>Army</h2>{PLAIN}".encode()).count("Army\n") == 1
    assert text_of(f"<h2>Army</h2><p>More.</p>{PLAIN}".encode()).startswith("Army\n\nMore.\n\n\n\nArmy\n\n|")


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


def test_what_stands_behind_tags_that_are_never_closed_is_kept_or_the_page_refused() -> None:
    """The parser drops all that follows, without a word, at a depth that careless pages reach."""
    assert "behind" in text_of(b"<p>before</p>" + b"<font>" * 400 + b"<p>behind</p>")
    for depth in (1_500, 10_000):
        with pytest.raises(ValueError, match=r"deep|Excessive depth"):
            text_of(b"<p>before</p>" + b"<font>" * depth + b"<p>behind</p>")


def test_a_text_of_any_length_is_read() -> None:
    assert len(text_of(b"<p>" + b"word " * 2_100_000 + b"</p>")) > 10_000_000


def test_control_characters_in_a_table_are_blanks() -> None:
    page = TABLE.replace("6,241", "6,241\x0c\x0b").encode()
    assert text_of(page) == text_of(TABLE.encode())


def test_an_encoding_is_taken_from_the_declaration_of_xml_too() -> None:
    page = '<?xml version="1.0" encoding="ISO-8859-1"?><html><body><p>café</p></body></html>'
    assert text_of(page.encode("latin-1")) == "café\n"
    with pytest.raises(ValueError, match="encoding"):
        text_of(page.replace("ISO-8859-1", "none-such").encode("latin-1"))
