"""HTML tables as grids of text."""

from __future__ import annotations

import lxml.html
import pytest

from pipeline.corpus.conversion.tables import Grid, grid, pipe_table, set_breaks


def read(markup: str) -> Grid:
    table = lxml.html.fromstring(f"<table>{markup}</table>")
    set_breaks(table)
    return grid(table)


def test_cells_that_span_stand_in_each_column_and_row() -> None:
    found = read(
        "<thead><tr><th rowspan=2>Month</th><th colspan=2>Outlays</th></tr>"
        "<tr><th>Army</th><th>Navy</th></tr></thead>"
        "<tbody><tr><td rowspan=2>May</td><td>1</td><td>2</td></tr><tr><td>3</td><td>4</td></tr></tbody>"
    )
    assert found.header == [["Month", "Outlays", "Outlays"], ["Month", "Army", "Navy"]]
    assert found.body == [["May", "1", "2"], ["May", "3", "4"]]


def test_a_span_into_a_short_row_keeps_its_column() -> None:
    found = read("<tr><td>a</td><td>b</td><td rowspan=3>c</td></tr><tr><td>d</td></tr><tr></tr>")
    assert found.body == [["a", "b", "c"], ["d", "", "c"], ["", "", "c"]]


def test_rows_of_header_cells_alone_are_the_header_where_no_section_says_so() -> None:
    found = read(
        "<tr><th>A</th><th>B</th></tr><tr><th>total</th><td>1</td></tr><tr><th>x</th><th>y</th></tr>"
    )
    assert found.header == [["A", "B"]]
    assert found.body == [["total", "1"], ["x", "y"]]


def test_the_foot_comes_last_and_short_rows_are_filled() -> None:
    found = read("<tfoot><tr><td>sum</td><td>3</td></tr></tfoot><tr><td>a</td></tr>")
    assert found.body == [["a", ""], ["sum", "3"]]


@pytest.mark.parametrize("span", ["x", "", "0", "-2"])
def test_a_span_that_is_no_number_is_one(span: str) -> None:
    assert read(f'<tr><td colspan="{span}">a</td><td>b</td></tr>').body == [["a", "b"]]


def test_a_mark_above_the_line_does_not_lengthen_a_figure() -> None:
    found = read("<tr><td>1,234<sup>2</sup></td><td>E<sup>1</sup></td><td>two<br>lines</td></tr>")
    assert found.body == [["1,234 2", "E1", "two lines"]]


def test_a_table_without_a_row_is_refused() -> None:
    with pytest.raises(ValueError, match="no row"):
        read("text")


def test_pipes_within_cells_are_escaped() -> None:
    assert pipe_table(["a", "b"], [["1|2", ""]]) == "| a | b |\n| --- | --- |\n| 1\\|2 |  |"
