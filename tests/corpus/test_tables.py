"""Tables of both renderings are found from title to last row, with unit line and header."""

from __future__ import annotations

import time

import pytest

from pipeline.corpus.lines import Lines
from pipeline.corpus.rows import classify
from pipeline.corpus.tables import TableLines, clean_header, find, year_before, year_of

LAYOUT = """  accounts, see the footnotes.

--- PAGE 27 ---

  ACCOUNT OF THE U.S. TREASURY  19

  TABLE UST-1.—Elements of Change in Federal Reserve
  and Tax and Loan Note Account Balances, con. 1
  [In millions of dollars. Source: Financial Management Service]

  Balances
  Federal  note  Federal
  Fiscal year or month  (6)  (7)  (8)

2004 ..  5,987  30,362  -

2007 - Dec ..  16,120  40,855  3
2008 - Jan ..  5,773  r 64,498  16

  Feb ..  5,985  20,166  3,990

 See footnotes at end of table.

March 2009
"""


def tables(text: str) -> list[tuple[str, TableLines]]:
    lines = Lines(text.encode())
    found = find(lines, classify(lines))
    return [(text.encode()[lines.starts[t.first] : lines.starts[t.end]].decode(), t) for t in found]


def test_a_layout_table_runs_from_its_title_to_its_last_row() -> None:
    ((text, table),) = tables(LAYOUT)
    assert text.startswith("  TABLE UST-1.")
    assert text.endswith("Feb ..  5,985  20,166  3,990\n")
    assert table.title == (
        "TABLE UST-1.—Elements of Change in Federal Reserve and Tax and Loan Note Account Balances, con. 1"
    )
    assert table.unit == "[In millions of dollars. Source: Financial Management Service]"
    assert table.header.splitlines()[-1] == "Fiscal year or month  (6)  (7)  (8)"


def test_rows_inherit_the_year_of_the_rows_above() -> None:
    lines = Lines(LAYOUT.encode())
    (table,) = find(lines, classify(lines))
    assert year_before(lines, table, LAYOUT.encode().index(b"  Feb")) == "2008"
    assert year_before(lines, table, LAYOUT.encode().index(b"2004 ..")) == ""
    assert year_of("| 1951-January | 4448 |") == "1951"
    assert year_of("Feb ..  1,997  2,000") == ""


def test_a_table_with_dot_leaders_and_one_column_is_a_table() -> None:
    text = (
        "  TABLE TF-13.—Vaccine Injury Compensation Trust Fund\n  Results of Operations, Fiscal Year 2018\n"
        "  [Source: Department of the Treasury]\n\n  Balance Oct. 1, 2017 ..  $3,710,215,677\n  Receipts:\n"
        "  Excise tax ..  $304,341,862\n  Refund ..  -\n  Total receipts ..  $378,399,221\n\n  1 A note.\n"
    )
    ((found, table),) = tables(text)
    assert table.title.endswith("Trust Fund Results of Operations, Fiscal Year 2018")
    assert found.endswith("$378,399,221\n")


def test_two_tables_on_a_page_are_two() -> None:
    rows = "".join(f"  {month} ..  {n},100  {n}\n" for n, month in enumerate(["Jan", "Feb", "Mar"], 1))
    text = f"Table 1.- One\n(In dollars)\n{rows}\nTable 2.- Two\n(In dollars)\n{rows}\nSource: x.\n{rows}"
    assert [table.title for _, table in tables(text)] == ["Table 1.- One", "Table 2.- Two", ""]


@pytest.mark.parametrize(
    ("above", "title", "unit"),
    [
        (
            "Table 6. - Sales\n\n(In thousands of dollars)\n\n",
            "Table 6. - Sales",
            "(In thousands of dollars)",
        ),
        ("March 1948\n\n1\n\nSUMMARY\n\n(In millions)\n\n", "SUMMARY", "(In millions)"),
        ("54\n\nCases\n\nfor the month of Oct. 1939\n\n", "Cases for the month of Oct. 1939", ""),
        ("A sentence that ends a paragraph of ordinary prose, long enough to be one.\n\n", "", ""),
        ("1/ A footnote of the table above.\n\n", "", ""),
    ],
)
def test_what_stands_above_a_pipe_table_is_its_title(above: str, title: str, unit: str) -> None:
    ((_, table),) = tables(above + "| State | Jan. |\n| --- | --- |\n| Alabama | 2431 |\n")
    assert (table.title, table.unit) == (title, unit)


def test_a_pipe_table_right_below_another_goes_on_under_its_title() -> None:
    grid = "| a | b |\n| --- | --- |\n| x | 1 |\n"
    found = tables(f"TABLE X-2—Amounts\n\n[In dollars]\n\n{grid}\n{grid}")
    assert [table.title for _, table in found] == ["TABLE X-2—Amounts"] * 2
    assert found[1][0] == grid


def test_a_header_is_cleaned_of_fillers_and_repeats() -> None:
    line = "| Period > Unnamed: 0_level_1 | Net > Net > 3/ | nan | Total | Unnamed: 4_level_0 > nan |"
    assert clean_header(line) == "Period | Net > 3/ | - | Total"


def test_prose_in_two_columns_and_charts_are_no_tables() -> None:
    prose = (
        "Housing  employment tax receipts (partly reflecting year-end\n"
        "2005 following an exceptionally strong third quarter.  rose about 25 percent from last year\n"
        "starts dipped to 2.035 million, residential investment slowed  in 2006 and 2007, by 7.3 percent\n"
    ) * 5
    assert tables(prose) == []
    assert tables("--- PAGE 1 ---\n\n" + "Lists 1\n2\n3.5\n\n" * 9) == []


def test_the_detector_takes_linear_time() -> None:
    spent = []
    for times in (20, 200):
        far = "Label" + " " * 3_000 + "1,234  5\n"
        rows = "Label ..  1,234  5\n" * 40 + "Words  in  columns\n" * 40 + "| a | b |\n" * 40
        text = (far + rows + " " * 300) * times
        lines = Lines(text.encode())
        began = time.process_time()
        find(lines, classify(lines))
        spent.append(time.process_time() - began)
    assert spent[1] < 60 * max(spent[0], 0.005)
