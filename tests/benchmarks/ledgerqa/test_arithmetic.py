"""Figures, answers and formats, each against an independent way to get them."""

from __future__ import annotations

import statistics
from decimal import Decimal
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.benchmarks.ledgerqa import answer_format
from pipeline.benchmarks.ledgerqa.answers import Asked, Operand, Operation, answer, expression
from pipeline.benchmarks.ledgerqa.families import EXACT_MILLIONS, MILLIONS, THOUSANDS, Unit, printed
from pipeline.benchmarks.ledgerqa.phrasing import Phrasings
from pipeline.benchmarks.ledgerqa.phrasings_apart import APART
from pipeline.benchmarks.ledgerqa.phrasings_built import BUILT
from pipeline.benchmarks.ledgerqa.streams import Stream, derive, derive_words, mix
from tests.benchmarks.ledgerqa.oracle import evaluate

words = st.integers(0, 2**64 - 1)


def test_mix_is_splitmix64() -> None:
    """The first numbers of SplitMix64 from state 1234567, as its reference implementation gives them."""
    stream = Stream(1234567)
    assert [stream.word() for _ in range(3)] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
    ]


@given(words, st.lists(st.integers(0, 2**62), min_size=1, max_size=5))
def test_keys_of_arrays_are_the_keys_of_their_elements(key: int, parts: list[int]) -> None:
    assert derive_words(key, np.array(parts, np.int64)).tolist() == [derive(key, part) for part in parts]


@given(words, words)
def test_mix_is_one_to_one(one: int, two: int) -> None:
    assert (mix(one) == mix(two)) == (one == two)


@given(words, st.integers(1, 9))
def test_a_sample_holds_distinct_items(key: int, count: int) -> None:
    sample = Stream(key).sample(range(9), count)
    assert len(set(sample)) == count
    assert set(sample) <= set(range(9))


@given(st.integers(-(10**12), 10**12), st.sampled_from([THOUSANDS, MILLIONS, EXACT_MILLIONS]), st.booleans())
def test_a_printed_figure_is_the_stored_one_to_the_last_digit(value: int, unit: Unit, commas: bool) -> None:
    text = printed(value, unit, commas)
    assert Decimal(text.replace(",", "")).scaleb(unit.places) == value
    assert len(text.partition(".")[2]) == unit.places
    assert not commas or f"{abs(value) // 10**unit.places:,}" in text


@given(
    st.sampled_from([operation for operation in Operation if operation is not Operation.ranking]),
    st.lists(st.integers(1, 10**7), min_size=2, max_size=40),
    st.sampled_from([THOUSANDS, EXACT_MILLIONS]),
    st.integers(2, 4),
)
def test_answers_agree_with_pythons_statistics(
    operation: Operation, values: list[int], unit: Unit, decimals: int
) -> None:
    operands = [Operand(printed(value, unit), unit) for value in values]
    money = operation not in (Operation.percent_change, Operation.share, Operation.ratio)
    asked = Asked(THOUSANDS if money else None, decimals)
    given_answer = answer(operation, operands, asked)
    if given_answer is None:
        return
    for value, item in zip(
        evaluate(expression(operation, operands, asked)), given_answer.strip("[]").split(", "), strict=True
    ):
        assert abs(value - float(item)) <= 0.5 * 10**-decimals + 1e-6 * max(map(float, values))
        assert len(item.partition(".")[2]) == decimals


def test_percents_and_ratios_compare_amounts_not_digits() -> None:
    operands = [Operand("10000", THOUSANDS), Operand("11.000", EXACT_MILLIONS)]
    assert answer(Operation.percent_change, operands, Asked(None, 2)) == "10.00"
    assert evaluate(expression(Operation.percent_change, operands, Asked(None, 2))) == [pytest.approx(10)]
    assert answer(Operation.ratio, operands, Asked(None, 4)) == "0.9091"


def test_a_rounding_tie_is_no_clear_answer() -> None:
    operands = [Operand("1", THOUSANDS), Operand("2", THOUSANDS)]
    assert answer(Operation.mean, operands, Asked(THOUSANDS, 0)) is None
    assert answer(Operation.mean, operands, Asked(THOUSANDS, 1)) == "1.5"


def test_answers_that_do_not_exist_are_none() -> None:
    zero = [Operand("5", THOUSANDS), Operand("0", THOUSANDS)]
    negative = [Operand("-5", THOUSANDS), Operand("4", THOUSANDS)]
    assert answer(Operation.ratio, zero, Asked(None, 2)) is None
    assert answer(Operation.geometric_mean, negative, Asked(THOUSANDS, 2)) is None


def test_a_geometric_mean_keeps_its_digits() -> None:
    operands = [Operand(str(value), THOUSANDS) for value in (1_234_567, 2_345_678, 3_456_789)]
    expected = round(statistics.geometric_mean([1_234_567, 2_345_678, 3_456_789]), 4)
    assert answer(Operation.geometric_mean, operands, Asked(THOUSANDS, 4)) == f"{expected:.4f}"


def test_minus_zero_is_zero() -> None:
    operands = [Operand("-1", THOUSANDS)]
    assert answer(Operation.value, operands, Asked(MILLIONS, 2)) == "0.00"


def test_a_ranking_names_the_largest_first_whatever_the_unit() -> None:
    operands = [Operand("900", THOUSANDS), Operand("1.000", EXACT_MILLIONS), Operand("-5", THOUSANDS)]
    assert answer(Operation.ranking, operands, Asked(None, 0), ["a", "b", "c"]) == "[b, a, c]"
    assert expression(Operation.ranking, operands, Asked(None, 0)) == "[1.000 * 1000, 900, -5]"
    alike = [Operand("1000", THOUSANDS), Operand("1.000", EXACT_MILLIONS)]
    assert answer(Operation.ranking, alike, Asked(None, 0), ["a", "b"]) is None
    assert answer(Operation.descending, alike, Asked(THOUSANDS, 0)) is None
    assert answer(Operation.list, alike, Asked(THOUSANDS, 0)) == "[1000, 1000]"


def test_a_trend_is_the_step_of_a_line() -> None:
    operands = [Operand(str(1_000 - 7 * at), THOUSANDS) for at in range(120)]
    assert answer(Operation.trend, operands, Asked(THOUSANDS, 2)) == "-7.00"


NAMES = {
    "thousand": "thousands of dollars",
    "million": "millions of dollars",
    "percent": "percent",
    "ratio": None,
}
FORMS = [
    (phrasings, word, template)
    for phrasings in (BUILT, APART)
    for word in NAMES
    for template in (*(phrasings.whole if word in ("thousand", "million") else ()), *phrasings.rounded)
]


@pytest.mark.parametrize(("phrasings", "word", "template"), FORMS)
def test_formats_are_read_from_every_wording(phrasings: Phrasings, word: str, template: str) -> None:
    frames = [frame for frames in phrasings.frames.values() for frame in frames]
    for (decimals, numeral), frame in product(phrasings.numerals.items(), frames):
        form = template.format(unit=phrasings.units[word], decimals=numeral)
        slots = dict.fromkeys(("table", "where", "what", "column", "first", "last", "count"), "x")
        found = answer_format(frame.format(form=form, **slots))
        assert (found.form, found.length) == ("number", None)
        assert found.unit == NAMES[word]
        assert found.decimals == (0 if template in phrasings.whole else decimals)


LISTS = [
    (phrasings, word, template)
    for phrasings in (BUILT, APART)
    for word in ("thousand", "million")
    for template in (*phrasings.list_whole, *phrasings.list_rounded, *phrasings.list_names)
]


@pytest.mark.parametrize(("phrasings", "word", "template"), LISTS)
def test_formats_of_lists_are_read_from_every_wording(phrasings: Phrasings, word: str, template: str) -> None:
    for (length, count), frame in product(phrasings.numerals.items(), phrasings.frames["list"]):
        form = template.format(unit=phrasings.units[word], decimals=phrasings.numerals[3], count=count)
        found = answer_format(frame.format(form=form, **dict.fromkeys(("table", "where", "what"), "x")))
        assert (found.form, found.length) == ("list", length)
        if template in phrasings.list_names:
            assert (found.unit, found.decimals) == (None, None)
        else:
            assert (found.unit, found.decimals) == (NAMES[word], 0 if template in phrasings.list_whole else 3)


def test_a_question_without_a_form_asks_for_any_number() -> None:
    form = answer_format("How many tenders were opened in May 1970?")
    assert (form.form, form.decimals, form.unit) == ("number", None, None)
