"""Numbers as texts write them (contract 7.2)."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pipeline.figures
from pipeline.figures import Figure, Grounds, figures, quotations, unit_words
from tests.counting import lines

ODD = st.text(alphabet="0123456789９٩ ,.$€()-−–+/%_½'\"“”rpQms\n|[]*’million", max_size=80)


def read(text: str) -> list[tuple[str, str, int]]:
    return [(figure.text, str(figure.value), figure.scale) for figure in figures(text)]


def only(text: str) -> Figure:
    (figure,) = figures(text)
    return figure


@pytest.mark.parametrize(
    ("written", "value", "scale"),
    [
        ("4,100", "4100", 0),
        ("4100.50", "4100.50", 0),
        ("1\u202f234\u00a0567", "1234567", 0),
        (".753", "0.753", 0),
        ("1.779.352", "1779352", 0),
        ("$4,100", "4100", 0),
        ("US$4,100", "4100", 0),
        ("-$27.7", "-27.7", 0),
        ("$-27.7", "-27.7", 0),
        ("-27.7", "-27.7", 0),
        ("−27.7", "-27.7", 0),
        ("–280", "-280", 0),
        ("+2.082", "2.082", 0),
        ("(1,204)", "-1204", 0),
        ("($1,204.5)", "-1204.5", 0),
        ("$(1,204)", "-1204", 0),
        ("5.2%", "5.2", -2),
        ("5.2 percent", "5.2", -2),
        ("5.2 per cent", "5.2", -2),
        ("(5.2%)", "-5.2", -2),
        ("$4.1 million", "4.1", 6),
        ("4.1-million", "4.1", 6),
        ("4.1 Billion", "4.1", 9),
        ("3 thousand", "3", 3),
        ("4.1bn", "4.1", 9),
        ("$4.1B", "4.1", 9),
        ("2-1/2%", "2.5", -2),
        ("2½", "2.5", 0),
        ("3/4", "0.75", 0),
        ("９,９９９", "9999", 0),
        ("－９，９９９．５", "-9999.5", 0),
        ("５．２％", "5.2", -2),
        ("٩٬٩٩٩٫٥", "9999.5", 0),
        ("𝟗𝟗", "99", 0),
        ("( 3,300 )", "-3300", 0),
        ("(3,300 )", "-3300", 0),
        ("(\u00a03,300\u00a0)", "-3300", 0),
        ("$( 3,300 )", "-3300", 0),
        ("( $ 3,300 )", "-3300", 0),
        ("( 5.2 )%", "-5.2", -2),
        ("( 5.2% )", "-5.2", -2),
        ("( 5.2 ) percent", "-5.2", -2),
        ("1'204", "1204", 0),
        ("1’204’567.5", "1204567.5", 0),
        ("1\u2009204", "1204", 0),
        ("1\u202f204", "1204", 0),
    ],
)
def test_a_number_is_read_with_its_sign_and_unit(written: str, value: str, scale: int) -> None:
    (text, found, power) = read(f"It was {written} then.")[0]
    assert (text.replace("US", ""), found, power) == (written.replace("US", ""), value, scale)


@pytest.mark.parametrize(
    ("written", "value", "scale"),
    [
        ("'9,999'", "9999", 0),
        ("'42'", "42", 0),
        ("’1942’", "1942", 0),
        ("'42 million", "42", 6),
        ("_9,999_", "9999", 0),
        ("_-9,999_", "-9999", 0),
        ("__9,999__", "9999", 0),
        ("9_99", "9", 0),
        ("9,999USD", "9999", 0),
        ("_9,999USD_", "9999", 0),
        ("9,999-USD", "9999", 0),
        ("4.1USDm", "4.1", 6),
        ("EUR9,999", "9999", 0),
        ("EUR-9,999", "-9999", 0),
        ("-EUR9,999", "-9999", 0),
        ("(INR9,999)", "-9999", 0),
        ("(9,999CHF)", "-9999", 0),
        ("GBP 4.1m", "4.1", 6),
        ("9,999円", "9999", 0),
        ("9.9e-05", "0.000099", 0),
    ],
)
def test_7_2_quotes_emphasis_currency_codes_and_a_full_stop_hide_no_number(
    written: str, value: str, scale: int
) -> None:
    for text in (f"It was {written} then.", f"It was {written}.", written):
        assert read(text)[0][1:] == (value, scale)


@pytest.mark.parametrize(
    "text",
    [
        *("Q3", "10-K", "FD-9", "s1", "the 1990s", "FY1942", "a 10-year note", "x_5", "5_x"),
        *("bulletin_1942_05", "SUSD5", "5USDA", "'42", "’42", "Q'42", "'5x'", "2/", "3/31/25"),
    ],
)
def test_7_2_what_is_glued_to_letters_and_footnote_marks_do_not_count(text: str) -> None:
    assert figures(f"See {text} there") == ()


def test_item_numbers_of_a_list_do_not_count() -> None:
    assert read("1. Receipts of 12\n2) Other 13\n (3) 14") == [
        ("12", "12", 0),
        ("13", "13", 0),
        ("14", "14", 0),
    ]


def test_decimals_are_counted_as_written() -> None:
    assert [figure.decimals for figure in figures("146.53, 7.0%, 4,100, 2-1/2")] == [2, 1, 0, 1]


def test_a_year_is_one_where_its_place_says_so() -> None:
    assert [f.year for f in figures("May 1942, June 30, 1942, fiscal year 1942, 1942 pieces of 1,942")] == [
        True,
        False,
        True,
        True,
        False,
        False,
    ]


def test_a_fiscal_years_label_is_two_years() -> None:
    assert [(f.text, int(f.value), f.year) for f in figures("1941-42 and 1999–00")] == [
        ("1941", 1941, True),
        ("42", 1942, True),
        ("1999", 1999, True),
        ("00", 2000, True),
    ]


def test_of_a_date_in_digits_only_a_full_year_counts() -> None:
    assert [int(f.value) for f in figures("2025-03-31, 3/31/2025, 3/31/25")] == [2025, 2025]


def test_a_range_has_no_minus() -> None:
    ranges = "10-20 and 3.2%-4.1% and 5USD-6USD"
    assert [str(f.value) for f in figures(ranges)] == ["10", "20", "3.2", "4.1", "5", "6"]


@pytest.mark.parametrize(
    ("text", "either"),
    [
        ("(8.63)", True),
        ("a decrease of 8.63", True),
        ("8.63% lower", True),
        ("- 8.63", True),
        ("-8.63", False),
        ("8.63", False),
        ("surplus or deficit (-): 8.63", False),
        ("a decrease\nof 8.63", False),
    ],
)
def test_a_sign_in_words_or_formatting_may_mean_either(text: str, either: bool) -> None:
    assert only(text).either_sign is either


def test_quotations_are_straight_or_curly_and_no_inch_marks() -> None:
    text = 'a 15" pipe, "one thing", “Another one” and "" then "last'
    assert quotations(text) == ("one thing", "Another one")


def test_unit_words_are_found_in_each_spelling() -> None:
    assert unit_words("5 %, $3bn, 4 thousands") == ("thousand", "billion", "percent")
    assert unit_words("per cent; ($000s); millionaires") == ("thousand", "percent")
    assert unit_words("a thing, 1 000 or 2,000 of them") == ()


@given(ODD | st.text(max_size=60))
def test_any_text_is_read_and_positions_slice_it(text: str) -> None:
    found = figures(text)
    assert all(text[figure.start : figure.end] == figure.text for figure in found)
    assert all(a.start < b.start for a, b in pairwise(found))
    quotations(text), unit_words(text)


@given(ODD, st.sampled_from(["1", "-1", "0", "2.5", "1e3", "-12", "0.05"]))
def test_any_text_may_be_cited(text: str, literal: str) -> None:
    grounds = Grounds({"s1": text})
    grounds.operand(literal), grounds.quotation(text), grounds.lacks(text)


@given(ODD)
def test_7_2_a_text_grounds_its_own_numbers(text: str) -> None:
    grounds = Grounds({"s1": text})
    assert [figure for figure in figures(text) if grounds.figure(figure) is None] == []


PIECES = [
    *("1 ", "1,", "1-", "1/2 ", "1, 204 ", "204, ", "(", "-", "$ ", "9", " ", '"'),
    *("in millions ", "deficit 5 ", "1.", "5 m", "_1", "a_", "1'204", "'1", "USD1", "( 1 )", "９"),
]


def searched(text: str) -> None:
    """Read a text, and search it for numbers of either sign and for a quotation."""
    figures(text), quotations(text)
    grounds = Grounds({"s1": text})
    grounds.operand("-5"), grounds.operand("7"), grounds.quotation(text[-50:])


@pytest.mark.parametrize("piece", PIECES)
def test_the_work_of_reading_is_linear_in_the_length(piece: str) -> None:
    short, long = (
        lines(partial(searched, (piece * size)[:size]), pipeline.figures) for size in (1_500, 6_000)
    )
    assert long <= 4.2 * short


@pytest.mark.parametrize("piece", PIECES)
def test_a_long_text_of_one_piece_is_read(piece: str) -> None:
    """A quadratic step in a regular expression, which runs no lines, would take longer than a test may."""
    searched((piece * 150_000)[:150_000])
