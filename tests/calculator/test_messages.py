"""Contract 3.19: what is refused, and what the model is told to send instead."""

from __future__ import annotations

import pytest

from tests.calculator.expressions import message


@pytest.mark.parametrize(
    ("expression", "parts"),
    [
        ("avg(1, 2)", ["unknown name avg", "did you mean average?", "weighted_mean"]),
        ("SUM(1, 2)", ["did you mean sum?"]),
        ("pi * 2", ["unknown name pi", "functions are sum, mean"]),
        ("sum", ["sum(list)"]),
        ("2 ^ 3", ["'^' at character 2", "**"]),
        ("$5", ["currency"]),
        ("5%", ["5/100"]),
        ("(5%) * 2", ["5/100"]),
        ("1,234 + 5", ["1234 for 1,234"]),
        ("5 − 3", ["-"]),
        ("x = 3", ["no variables"]),
        ("3 = 3", ["=="]),
        ("5M", ["5M", "suffix"]),
        ("0x10", ["0x10"]),
        ("1_000", ["1_000"]),
        ("1 000", ["operator is missing"]),
        ("5 million", ["million"]),
        ("", ["empty"]),
        (" \n", ["empty"]),
        ("2 +", ["ends too early"]),
        ("(1 + 2", ["')' is missing"]),
        ("1 + 2)", ["unexpected ')'"]),
        ("sum(1, 2", ["')' is missing"]),
        ("sum(, 1)", ["unexpected ','"]),
        ("cagr(100, 121)", ["cagr(begin, end, years)", "2 arguments"]),
        ("sqrt([4])", ["sqrt(x)", "list"]),
        ("[1] + [2]", ["+", "list"]),
        ("[1, [2]]", ["list"]),
        ("[1, 2]", ["sum or mean"]),
        ("(3 > 2) + 1", ["true or false"]),
        ("slope(1, 2)", ["slope(xs, ys)", "[1, 2, 3]"]),
        ("slope([1, 2], [1])", ["2 and 1"]),
        ("slope([1, 1], [1, 2])", ["not all equal"]),
        ("correlation([1, 1], [1, 2])", ["constant"]),
        ("1 / 0", ["division by zero in 1 / 0"]),
        ("5 % 0", ["division by zero"]),
        ("0 ** -1", ["division by zero"]),
        ("percent_change(0, 5)", ["division by zero"]),
        ("weighted_mean([1], [0])", ["sum to 0"]),
        ("1e308 * 10", ["overflow"]),
        ("exp(1000)", ["overflow"]),
        ("sum(1e308, 1e308)", ["overflow"]),
        ("1e400", ["overflow"]),
        ("2 ** 1001", ["1001", "±1,000"]),
        ("2 ** -1001", ["-1001"]),
        ("9 ** 9 ** 9 ** 9", ["±1,000"]),
        ("sqrt(-1)", ["negative"]),
        ("(-8) ** (1 / 3)", ["complex"]),
        ("ln(0)", ["above 0"]),
        ("log(8, 1)", ["base"]),
        ("geomean(1, 0)", ["above 0"]),
        ("harmonic_mean(1, -1)", ["above 0"]),
        ("mean([])", ["at least 1 number, got 0"]),
        ("max()", ["at least 1 number"]),
        ("stdev(5)", ["at least 2 numbers, got 1"]),
        ("percentile([1, 2], 101)", ["0 to 100"]),
        ("round(1.5, 0.5)", ["whole number"]),
        ("cagr(-1, 2, 3)", ["above 0"]),
    ],
)
def test_3_19_a_message_says_what_to_send_instead(expression: str, parts: list[str]) -> None:
    told = message(expression)
    assert all(part in told for part in parts), told
