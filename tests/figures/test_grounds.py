"""Numbers and quotations found again in cited texts (contract 7.1, 7.2)."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.figures import Grounds, Place, Text, figures, free


def stands(literal: str, *texts: str) -> bool:
    return Grounds({f"s{n}": text for n, text in enumerate(texts, 1)}).operand(literal) is not None


def says(statement: str, *texts: str) -> bool:
    """Whether all numbers of a statement stand in the texts."""
    grounds = Grounds({f"s{n}": text for n, text in enumerate(texts, 1)})
    found = figures(statement)
    assert found
    return all(grounds.figure(figure) for figure in found)


@pytest.mark.parametrize(
    ("literal", "text"),
    [
        ("4400", "were 4,400 million dollars"),
        ("4400.0", "4,400"),
        ("1.5e9", "1,500,000,000"),
        ("4400", "| May | 4400.0 | nan |"),
        ("4100", "Total....4,100"),
        ("1204", "1,204 r"),
        ("1204", "r1,204"),
        ("1204", "1,204r"),
        ("1204", "1,204*"),
        ("1204", "1,204 1/"),
        ("14.1", "(14.1)1"),
        ("1204", "1, 204"),
        ("1204", "1 204"),
        ("4100", "4,1 00"),
        ("4100", "$ 4,100"),
        ("-1204", "(1,204)"),
        ("-1204", "−1,204"),
        ("-1204", "$(1,204)"),
        ("-2462", "r-2,462"),
        ("-3300", "( 3,300 )"),
        ("-3300", "(3,300 )"),
        ("-3300", "$( 3,300\u00a0)"),
        ("-0.052", "( 5.2 )%"),
        ("1204", "1'204"),
        ("1204", "1\u2009204"),
        ("9999", "９,９９９"),
        ("9999", "EUR9,999"),
        ("1204", "(1,204)"),
        ("-8.63", "a decrease of 8.63 percent"),
        ("5.2", "5.2%"),
        ("0.052", "5.2%"),
        ("0.052", "5.2 percent"),
        ("0.0642", "[In percent]\n\n| Feb | 6.42 |"),
        ("2.5", "the 2-1/2% notes"),
        ("0.025", "the 2-1/2% notes"),
        ("4100000", "$4.1 million"),
        ("4.1", "$4.1 million"),
        ("4100000", "(In thousands of dollars)\n\n| May | 4,100 |"),
        ("4.1e9", "[In millions]\n4,100"),
        ("4.1e9", "4,100 (in millions)"),
        ("4.1e9", "Millions of dollars\n4,100"),
        ("4.1e6", "($000s)\n4,100"),
        ("2006", "| 2006 | 12 |"),
        ("1942", "FY1942"),
        ("1942", "1941-42"),
        ("2020", "09/02/20"),
    ],
)
def test_7_1_an_operand_is_found_up_to_formatting(literal: str, text: str) -> None:
    assert stands(literal, text)


@pytest.mark.parametrize(
    ("literal", "text"),
    [
        ("4300", "4,400"),
        ("440", "4,400"),
        ("44000", "4,400"),
        ("4400000", "4,400"),
        ("4400000", "(In millions)\n4,400"),
        ("4400000", "(In thousands)\n1\n(In millions)\n4,400"),
        ("4400000", "4,400 of the millions"),
        ("0.0642", "6.42"),
        ("-4400", "4,400"),
        ("-4400", "10-4,400"),
        ("-4400", "(see 4,400)"),
        ("-4400", "Surplus or deficit (-): 4,400"),
        ("-6", "Total receipts (6)"),
        ("-6", "Total receipts (6 )"),
        ("-3300", "( 3,300"),
        ("-3300", "( 3,300\n)"),
        ("204", "1'204"),
        ("-6", "1,204 6/"),
        ("400", "4,400"),
        ("4", "4,400"),
    ],
)
def test_7_1_an_operand_that_the_text_does_not_have_is_not_found(literal: str, text: str) -> None:
    assert not stands(literal, text)


def test_a_unit_line_read_apart_scales_rows_that_have_none_above() -> None:
    assert stands("4100000", "| May | 4,100 |", "(In thousands of dollars)")


def test_a_text_that_was_kept_is_not_read_again() -> None:
    kept = Text("one\ntwo 4,100")
    assert Grounds({"s1": kept, "e1": "4,200"}).operand("4100") == Place("s1", 2)


def test_the_place_is_the_first_text_and_the_line() -> None:
    grounds = Grounds({"e1": "Receipts", "s1": "one\ntwo 4,100\nthree 4,100", "s2": "4,100"})
    assert grounds.operand("4100") == Place("s1", 2)


@pytest.mark.parametrize(
    "statement",
    [
        "4,400",
        "4,400 million dollars",
        "$4.4 billion",
        "(4,400)",
        "4400.0",
    ],
)
def test_7_2_a_statement_may_scale_by_a_unit_word(statement: str) -> None:
    assert says(statement, "(In millions of dollars)\n| May | 4,400 |")


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("$4.1 billion", "$4.1 million and one billion"),
        ("4,400 billion", "(In millions)\n4,400"),
        ("4,300", "4,400"),
        ("-4,400", "4,400"),
        ("in May 1942", "1,942"),
        ("in May 1942", "May 1943"),
        ("6.42%", "642"),
        ("4.1%", "4.1 million"),
    ],
)
def test_7_2_a_statement_may_not_say_what_the_text_does_not(statement: str, text: str) -> None:
    assert not says(statement, text)


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("4,400 million", "4,400"),
        ("5.2%", "0.052"),
        ("fell 5.2%", "-5.2"),
        ("a deficit of 665,826", "-665826"),
        ("fiscal year 1942", "1941-42"),
        ("1941-42", "1941-42"),
        ("June 30, 1942", "June 30, 1942"),
    ],
)
def test_7_2_a_statement_may_word_what_the_text_has(statement: str, text: str) -> None:
    assert says(statement, text)


def test_7_2_quotations_are_found_with_case_and_space_folded() -> None:
    grounds = Grounds({"s1": "one\nThe Public\n  Debt’s “total”\nend"})
    assert grounds.quotation("public debt's") == Place("s1", 2)
    assert grounds.quotation('"TOTAL",') == Place("s1", 3)
    assert grounds.quotation("public debts") is None
    assert Grounds({"s1": "item ９"}).quotation("Item ９") == Place("s1", 1)
    assert grounds.quotation(" ") is None


def test_7_2_unit_words_that_no_text_has_are_named() -> None:
    grounds = Grounds({"s1": "(In millions)\n4,100", "s2": "5%"})
    assert grounds.lacks("4.1 billion, or 4,100 million, up 5 percent") == ("billion",)
    assert Grounds({}).lacks("in thousands") == ("thousand",)


@pytest.mark.parametrize(
    ("literal", "is_free"),
    [*((free_one, True) for free_one in ("10", "10.0", "1e9", "365", "-1", "1000", "1e6", "0"))]
    + [(bound, False) for bound in ("11", "-6", "0.5", "nan", "1.5", "10000", "1e-3")],
)
def test_7_1_which_literals_are_free(literal: str, is_free: bool) -> None:
    assert free(literal) is is_free


NUMBERS = st.decimals(min_value=0, max_value=10**12, places=3, allow_nan=False) | st.integers(0, 10**9)
NEGATIVE = ("({:,})", "(${:,})", "$({:,})", "-{:,}", "−{:,}", "-${:,}", "–{}", "$-{}", "a decrease of {:,}")
POSITIVE = ("{}", "{:,}", "${:,}", "$ {:,}", "{:,} r", "r{:,}", "p{}", "{:,}*", "{} 2/", "| {} |", "....{:,}")


@given(NUMBERS, st.sampled_from(POSITIVE + NEGATIVE), st.booleans())
def test_7_1_any_number_in_any_style_is_found_by_value(
    number: Decimal | int, style: str, statement: bool
) -> None:
    literal = f"-{number}" if style in NEGATIVE else str(number)
    text = f"Total 1 ..  {style.format(number)}  2"
    assert stands(literal, text)
    if statement and "r{" not in style and "p{" not in style:
        assert says(f"It was {style.format(number)}", text)


@given(NUMBERS, st.sampled_from([("percent", -2), ("thousand", 3), ("million", 6), ("billion", 9)]))
def test_7_1_any_number_is_found_as_its_unit_scales_it(number: Decimal | int, unit: tuple[str, int]) -> None:
    word, power = unit
    scaled = f"{Decimal(number).scaleb(power):f}"
    assert stands(scaled, f"It was {number:,} {word}.")
    assert stands(scaled, f"(In {word}{'' if power < 0 else 's'} of dollars)\n\n| May | {number:,} |")
    assert says(f"It was {number:,} {word}.", f"It was {scaled}.")


@given(st.integers(11, 10**9), st.integers(11, 10**9), st.sampled_from(POSITIVE + NEGATIVE))
def test_7_1_a_number_of_other_digits_is_not_found(asked: int, there: int, style: str) -> None:
    if str(asked).strip("0") not in str(there) and str(asked).strip("0") != "2":
        assert not stands(str(asked), f"Total  {style.format(there)}")
