"""PDF files as text."""

from __future__ import annotations

import pytest

from pipeline.corpus.conversion.pdf import text_of
from tests.corpus.conftest import Make
from tests.corpus.conversion.pdfs import pdf

PAGE = """\
Outlays rose.
Table 1. - Total Outlays by Month
(In millions of dollars)
Year and month                       Total outlays         Interest
1953 - April                                 6,120              512
May                                          6,241
June                                         5,998            1,001"""


def squeezed(text: str) -> list[list[str]]:
    """The cells of each line: what two blanks or more set apart."""
    return [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in text.splitlines()]


def test_pages_are_marked_and_columns_stay_columns() -> None:
    text, empty = text_of(pdf(["Outlays rose."], ["Second."]))
    assert empty == []
    first, _, second = text.partition("--- PAGE 2 ---")
    assert squeezed(first) == squeezed(f"--- PAGE 1 ---\n\n{PAGE}\n\n")
    assert second.startswith("\n\nSecond.\n")
    april, may, june = (line for line in first.splitlines() if line.startswith(("1953", "May", "June")))
    assert april.index("6,120") + 5 == june.index("5,998") + 5 == may.index("6,241") + 5
    assert len(april) == len(june) > len(may)


def test_the_corpus_reads_the_table(make: Make) -> None:
    text, _ = text_of(pdf(["Outlays rose."]))
    (hit,) = make({"report.pdf": text}).search("outlays april", top_k=1).hits
    assert hit.table is not None
    assert hit.table.title == "Table 1. - Total Outlays by Month"


@pytest.mark.parametrize("angle", [90, 180, 270])
def test_a_page_that_is_written_sideways_reads_as_if_it_were_not(angle: int) -> None:
    text, _ = text_of(pdf(["Outlays rose."], angle=angle))
    assert squeezed(text) == squeezed(f"--- PAGE 1 ---\n\n{PAGE}")


def test_words_keep_their_spaces_and_paragraphs_an_empty_line() -> None:
    text, _ = text_of(pdf(["They rose and fell.", " ", "Then they rose."], table=False))
    assert text == "--- PAGE 1 ---\n\nThey rose and fell.\n\nThen they rose.\n"


def test_leaders_are_two_points() -> None:
    text, _ = text_of(pdf(["1953 ........... 6,241"], table=False))
    assert text == "--- PAGE 1 ---\n\n1953 .. 6,241\n"


def test_pages_without_text_are_told() -> None:
    text, empty = text_of(pdf(["One."], [], ["Three."], table=False))
    assert empty == [2]
    assert "--- PAGE 2 ---\n\n\n\n--- PAGE 3 ---" in text


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (pdf([], []), r"no page has text.*OCR"),
        (pdf(["Secret."], password="x"), "encrypted"),
        (pdf(["Cut."])[:300], "damaged, or no PDF"),
        (b"", "damaged, or no PDF"),
        (b"Just text.", "damaged, or no PDF"),
    ],
    ids=["images alone", "encrypted", "cut", "empty", "no PDF"],
)
def test_a_file_that_gives_no_text_is_refused_with_the_reason(raw: bytes, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        text_of(raw)
