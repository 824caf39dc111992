"""The scorer `answer`, of people's own questions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.benchmarks.scorers import INTERNAL_ERROR, NO_ANSWER
from pipeline.benchmarks.scorers.answer import score, score_answer
from pipeline.benchmarks.tasks import Gold


@pytest.mark.parametrize(
    ("gold", "answer", "tolerance", "expected"),
    [
        ("Nebraska", "  nebraska ", 0, 1),
        ("Nebraska", "Nebraska.", 0, 0),
        ("New  York", "new york", 0, 1),
        ("Straße", "STRASSE", 0, 1),
        ("Alice\nBob", "alice bob", 0, 1),
        ("Alice\nBob", "Alice\n\n  Bob\n", 0, 1),
        ("Alice\nBob", "Bob\nAlice", 0, 0),
        ("Alice\nBob", "Alice", 0, 0),
        ("word " * 100, "WORD " * 100, 0, 1),  # of any length
        ("No", "<FINAL_ANSWER>no</FINAL_ANSWER>", 0, 1),
        ("6,241", "6241", 0, 1),
        ("6241", "$6,241 million", 0, 1),
        ("6241", "6,300", 0, 0),
        ("6241", "6,300", 0.01, 1),
        ("2.6 million", "2.6B", 0, 0),
        ("March 1948", "in March 1948", 0, 1),
        ("March 1948", "April 1948", 0.05, 0),
        ("10\n20", "10, 20", 0, 1),
        ("10\n20", "10\n20", 0, 1),
        ("10\n20", "10", 0, 0),
        ("7", "7 or 8", 0, 0),
    ],
)
def test_an_answer_is_compared(gold: str, answer: str, tolerance: float, expected: float) -> None:
    assert score_answer(gold, answer, tolerance) == expected
    (metric,) = score(Gold(gold, tolerance=tolerance), answer)
    assert (metric.metric, metric.value, bool(metric.reason)) == ("correct", expected, not expected)


def test_a_gold_without_a_tolerance_has_none() -> None:
    assert score(Gold("100"), "101")[0].value == 0
    assert score(Gold("100", tolerance=0.01), "101")[0].value == 1


def test_no_answer_scores_zero_and_says_so() -> None:
    (metric,) = score(Gold("7"), None)
    assert (metric.value, metric.reason) == (0, NO_ANSWER)


def test_an_empty_gold_is_an_error_that_is_counted() -> None:
    (metric,) = score(Gold(" "), "7")
    assert metric.value == 0 and metric.reason.startswith(INTERNAL_ERROR)


@given(st.text(min_size=1).filter(str.strip).filter(lambda text: "<" not in text))
def test_every_gold_matches_itself_with_and_without_tags(gold: str) -> None:
    assert score_answer(gold, gold, 0) == 1
    assert score_answer(gold, f"So:\n<FINAL_ANSWER>{gold}</FINAL_ANSWER>", 0) == 1


@given(st.text(max_size=30), st.text(max_size=30), st.floats(0, 1), st.floats(0, 1))
def test_a_wider_tolerance_never_loses_a_match(gold: str, answer: str, first: float, second: float) -> None:
    narrow, wide = sorted((first, second))
    assert score_answer(gold, answer, narrow) <= score_answer(gold, answer, wide)
