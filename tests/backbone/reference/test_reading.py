"""Tables of real documents, and observations of the harness, as the policy reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipeline.backbone.reference.conversation import parse
from pipeline.backbone.reference.errata import corrections
from pipeline.backbone.reference.numerals import figure
from pipeline.backbone.reference.observation import Served, parse_observation
from pipeline.backbone.reference.reading import stitch
from pipeline.backbone.reference.tables import Grid, grids
from pipeline.backbone.reference.words import Period, document_period


def grid(shared: Path, name: str, title: str, size: int = 4_500) -> Grid:
    text = (shared / "data" / "treasury" / "documents" / name).read_text("utf-8")
    start = text.index(title)
    found = grids(text[start : start + size], start)[0]
    for row in found.rows:
        for cell in row.cells:
            assert text[cell.start : cell.end] == cell.figure.text
    return found


def test_a_pipe_table_of_the_treasury_is_read(shared: Path) -> None:
    found = grid(shared, "treasury_bulletin_2011_09.txt", "TABLE FFO-1.—Summary of Fiscal Operations\n\n[In")
    assert found.unit == "In millions of dollars"
    assert found.columns[0] == "Total on-budget and off-budget results > Total receipts"
    july = next(row for row in found.rows if row.label == "July")
    assert (july.period, july.cells[0].figure.literal) == (Period(2010, 7), "155546")
    february = next(row for row in found.rows if row.label.startswith("Feb"))
    assert (february.period, february.cells[3].figure.literal) == (Period(2011, 2), "333163")
    assert february.cells[3].figure.revised


def test_a_layout_table_of_the_treasury_is_read(shared: Path) -> None:
    name = "treasury_bulletin_2009_03.txt"
    found = grid(
        shared,
        name,
        "TABLE UST-1.—Elements of Change in Federal Reserve\n  and Tax and Loan Note Account Balances, con.",
    )
    assert found.unit == "In millions of dollars"
    row = next(row for row in found.rows if row.label == "2008")
    high = next(cell for cell in row.cells if found.columns[cell.column].startswith("High Tax and loan note"))
    assert high.figure.literal == "135752"
    assert found.rows[-1].period == Period(2008, 12)


FIGURES = {
    "1,234": "1234",
    "r 333,163": "333163",
    "r569.07": "569.07",
    "2,458 r": "2458",
    "(12.5)": "-12.5",
    "-1,418": "-1418",
    "$219,425,575": "219425575",
    "nan": None,
    "-": None,
    "n.a.": None,
}


@pytest.mark.parametrize(("text", "literal"), FIGURES.items())
def test_figures_are_read_as_printed(text: str, literal: str | None) -> None:
    found = figure(text)
    assert (found.literal if found else None) == literal


NOTES = {
    'In Table A-1, the figure for "Coal" in May 1987 should read 1,250 thousand dollars instead of 1,520; '
    "the total should read 9,000 instead of 9,270.": ("1250", "9000"),
    'Table A-1: under "Coal", May 1987, for -375 read -405 (thousand dollars); the total, given as 33, '
    "becomes 3.": ("-405", "3"),
    'In Table A-1, (3,544) thousand dollars takes the place of (3,810) as the amount of "Coal" for May 1987, '
    "and 19,718 that of 19,452 as the total.": ("-3544", "19718"),
    'Table A-1: for May 1987, the amount shown under "Coal" as 68 is corrected to 66 thousand dollars, and '
    "the total from (152) to (154).": ("66", "-154"),
}


@pytest.mark.parametrize(("note", "new"), NOTES.items())
def test_a_correction_gives_its_figure_and_the_totals_apart(note: str, new: tuple[str, str]) -> None:
    found = corrections(note, 100)
    assert tuple(each.figure.literal for each in found) == new
    assert {(each.period, each.unit) for each in found} == {(Period(1987, 5), "in thousands of dollars")}
    for each in found:
        assert note[each.start - 100 : each.end - 100] == each.figure.text
    own, total = found
    assert ("Coal" in own.clause, "total" in total.clause) == (True, True)
    assert ("total" in own.clause, "Coal" in total.clause) == (False, False)


def test_documents_are_dated_by_their_names() -> None:
    assert document_period("treasury_bulletin_2009_03.txt") == Period(2009, 3)
    assert document_period("1941/january.txt") == Period(1941, 1)
    assert document_period("notes.txt") is None


def test_a_read_is_cut_by_its_length_whatever_stands_in_it() -> None:
    text = "a\n```\nnext: A.txt from 3\n=== state ===\n"
    observed = (
        "[turn 2] read: 1 location, 10 tokens\n\n"
        f"s1 = A.txt [5:{5 + len(text)}]\n````text\n{text}\n````\nnext: A.txt from {5 + len(text)}"
    )
    (served,) = parse_observation(observed).served
    assert (served.text, served.next) == (text, 5 + len(text))


def test_a_search_without_hits_is_read() -> None:
    observed = (
        "[turn 1] search: 0 of 0 matching passages; 2 documents searched, A.txt … B.txt\n\nNothing matches."
    )
    assert parse_observation(observed).hits == ()


def test_reads_that_touch_are_joined_and_keep_their_sources() -> None:
    first, second = Served("s1", "A", 0, 4, "abcd", 4), Served("s2", "A", 4, 8, "efgh", None)
    (text,) = stitch([second, first])
    assert (text.text, text.sources((1, 2)), text.sources((3, 5))) == ("abcdefgh", ("s1",), ("s1", "s2"))


def test_the_operations_are_read_from_the_schema() -> None:
    task = "Question:\nHow many?\n\nAnswer format:\nOne line.\n\nDocuments (1):\na.txt"
    form: dict[str, Any] = {"json_schema": {"schema": {"properties": {"notes": {}, "upsert": {}}}}}
    conversation = parse([{"role": "user", "content": task}], form)
    assert conversation.question == "How many?"
    able = conversation.operations
    assert (able.evidence, able.revise, able.conclusion, able.notes) == (True, False, False, True)
