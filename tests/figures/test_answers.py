"""An answer's numbers against computed values (contract 7.7)."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import InvalidOperation
from pipeline.figures import Figure, figures, nearest, rounds_to
from pipeline.harness.answers import check
from pipeline.protocols import AnswerFormat


def only(text: str) -> Figure:
    (figure,) = figures(text)
    return figure


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ("146.54", 146.5363),
        ("147", 146.5363),
        ("7.32%", 7.317073170731707),
        ("7.32%", 0.07317073170731707),
        ("7.32", 7.317073170731707),
        ("$4.1 million", 4_137_000),
        ("4.1 million", 4.137),
        ("-95224.8", -95224.8),
        ("8.63% decrease", -8.63),
        ("(8.63)", -8.63),
        ("(8.63)", 8.63),
        ("0.3", 0.1 + 0.2),
        ("2.68", 2.675),
        ("2", 2.5),
        ("3", 2.5),
        ("366.6666666666667", 366.666666666667),
        ("1,070,096", 1070096),
        ("0.00", -0.001),
        ("1.23e-05", 0.0000123),
        ("1e+22", 1e22),
    ],
)
def test_7_7_an_answer_is_a_value_at_its_own_rounding(answer: str, value: float) -> None:
    assert rounds_to(only(answer), value)


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ("146.53", 146.5363),
        ("147", 147.5),
        ("7.31%", 7.317073170731707),
        ("8.63", -8.63),
        ("-8.63", 8.63),
        ("4.1 million", 4100),
        ("1,200", 1234),
        ("7.32", 0.0732),
        ("1", True),
        ("1", float("inf")),
        ("1", float("nan")),
    ],
)
def test_7_7_an_answer_is_no_other_value(answer: str, value: float) -> None:
    assert not rounds_to(only(answer), value)


@given(st.floats(-1e7, 1e7), st.integers(0, 6), st.sampled_from([ROUND_HALF_UP, ROUND_HALF_EVEN]))
def test_7_7_any_value_is_its_own_rounding(value: float, decimals: int, rounding: str) -> None:
    rounded = Decimal(repr(value)).quantize(Decimal(1).scaleb(-decimals), rounding)
    assert rounds_to(only(f"Answer: {rounded:,f}"), value)
    assert not rounds_to(only(f"Answer: {rounded + Decimal(1).scaleb(-decimals) * 2:,f}"), value)


@given(st.floats() | st.integers(), st.from_regex(r"-?[0-9]{1,60}(\.[0-9]{1,60})?%?", fullmatch=True))
def test_any_answer_is_compared_with_any_value(value: float, answer: str) -> None:
    rounds_to(only(answer), value)
    nearest(only(answer), {"c1": value})


def test_7_7_the_nearest_value_is_named() -> None:
    values = {"c1": 146.5363, "c2": 12, "c3": -146.53}
    assert nearest(only("146.53"), values) == "c1"
    assert nearest(only("12.4%"), {"c1": 0.125, "c2": 99}) == "c1"
    assert nearest(only("8% decrease"), {"c1": 9, "c2": -8.01}) == "c2"
    assert nearest(only("1"), {}) is None
    assert nearest(only("1"), {"c1": True}) is None


@pytest.mark.parametrize("answer", ["９,９９９", "9,９９９", "٩٩", "9.٩", "9 ９９９"])
def test_3_21_an_answer_that_is_a_number_has_ascii_digits(answer: str) -> None:
    check(AnswerFormat("number"), "9,999.9 USD")
    with pytest.raises(InvalidOperation):
        check(AnswerFormat("number"), answer)
