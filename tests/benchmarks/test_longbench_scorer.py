"""The scorer `longbench_v2`: which letter an answer gives."""

from __future__ import annotations

import pytest

from pipeline.benchmarks.scorers import INTERNAL_ERROR, NO_ANSWER
from pipeline.benchmarks.scorers.longbench_v2 import UNANSWERED, letter, score, score_answer
from pipeline.benchmarks.tasks import Gold


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("The correct answer is (B)", "B"),
        ("The correct answer is B", "B"),
        ("**The correct answer is (B)**", "B"),
        ("The correct answer is **(C)** because (A) is wrong", "C"),
        ("Reasoning.\nThe correct answer is (D).\n", "D"),
        (
            "The correct answer is A. No: The correct answer is (B)",
            "B",
        ),  # the form with parentheses goes first
        ("The correct answer is (A). The correct answer is (B)", "A"),
        ("B", "B"),
        ("(B)", "B"),
        ("B.", "B"),
        ("(B).", "B"),
        (" **B**\n", "B"),
        ("", None),
        ("b", None),
        ("E", None),
        ("AB", None),
        ("(B", None),
        ("the correct answer is (B)", None),
        ("The correct answer is (E)", None),
        ("The correct answer is (insert answer here)", None),
        ("The answer is B", None),
        ("B or C", None),
        ("A dog", None),
    ],
)
def test_the_letter_of_an_answer(answer: str, expected: str | None) -> None:
    assert letter(answer) == expected


def test_the_gold_letter_scores_one_and_all_else_zero_with_the_reason() -> None:
    def scored(answer: str | None) -> tuple[str, float | None, str]:
        (metric,) = score(Gold("B"), answer)
        return metric.metric, metric.value, metric.reason

    assert scored("The correct answer is (B)") == ("correct", 1, "")
    assert scored("C") == ("correct", 0, "C, not B")
    assert scored("Hard to say") == ("correct", 0, UNANSWERED)
    assert scored(None) == ("correct", 0, NO_ANSWER)


def test_a_gold_that_is_no_letter_is_an_error_that_is_counted() -> None:
    (metric,) = score(Gold("7"), "7")
    assert metric.value == 0 and metric.reason.startswith(INTERNAL_ERROR)


def test_bare_strings_are_scored() -> None:
    assert [score_answer("A", answer, 0) for answer in ("A", "B")] == [1, 0]
