"""Contract 3.19: the calculator's language, its values, and how they are shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.calculator import Value, evaluate
from pipeline.errors import InvalidOperation
from tests.calculator.expressions import message, value


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("1 + 2 * 3", 7),
        ("-2 ** 2", -4),
        ("2 ** -1", 0.5),
        ("2 ** 3 ** 2", 512),
        ("(-2) ** 3", -8),
        ("--3", 3),
        ("7 // 2", 3),
        ("-7 % 3", 2),
        ("6 / 4", 1.5),
        ("10 - 4 - 3", 3),
        ("1e3 + .5 + 2.", 1002.5),
        ("007", 7),
        ("3 > 2", True),
        ("1 < 2 < 3", True),
        ("1 < 3 < 2", False),
        ("2 == 2.0", True),
        ("1 + 1 != 2", False),
        ("abs(-3)", 3),
        ("floor(-2.5)", -3),
        ("ceil(2.1)", 3),
        ("sqrt(2.25)", 1.5),
        ("ln(exp(2))", 2),
        ("log10(1000)", 3),
        ("log(1000, 10)", 3),
        ("log(8, 2)", 3),
        ("round(2.5)", 2),
        ("round(3.5)", 4),
        ("round(2.675, 2)", 2.67),
        ("round(1234.5, -2)", 1200),
        ("sum(1, 2, 3)", 6),
        ("sum([1, 2, 3],)", 6),
        ("mean([1, 2]) + average(1, 2)", 3),
        ("geomean(2, 8) - geometric_mean([2, 8])", 0),
        ("harmonic_mean([40, 60])", 48),
        ("product([2, 3, 4])", 24),
        ("max(1, 2, 3) - min([1, 2, 3])", 2),
        ("median(5, 3, 1, 4)", 3.5),
        ("percentile([1, 2, 3, 4], 50)", 2.5),
        ("percentile(1, 2, 3, 4, 50)", 2.5),
        ("percent_change(200, 150)", -25),
        ("cagr(100, 121, 2)", 10),
        ("cagr(100, 0, 2)", -100),
        ("slope([1, 2, 3], [2, 4, 6.3])", 2.15),
        ("intercept([1, 2, 3], [3, 5, 7])", 1),
        ("forecast(4, [1, 2, 3], [2, 4, 6])", 8),
        ("correlation([1, 2, 3], [-1, -2, -3])", -1),
        ("weighted_mean([10, 20], [1, 3])", 17.5),
        ("mean(sum(1, 2), sum([3, 4]))", 5),
        ("2 ** 1000 / 2 ** 999", 2),
        ("0.1 + 0.2", 0.3),
        ("1e308 * 1e-308", 1),
    ],
)
def test_3_19_an_expression_has_its_value(expression: str, expected: float) -> None:
    assert value(expression) == pytest.approx(expected, rel=1e-14, abs=1e-15)


def test_3_19_a_value_has_fifteen_significant_digits() -> None:
    assert evaluate("4400 / 12") == Value(366.666666666667, "366.666666666667", 2, (), ("4400", "12"))
    assert evaluate("2 / 3 * 1e-9").text == "6.66666666666667e-10"
    assert evaluate("1234567890123456789").text == "1234567890123460000"
    assert evaluate("-0.0").text == "0"


def test_3_19_a_comparison_is_shown_as_true_or_false() -> None:
    assert evaluate("3 > 2") == Value(True, "true", 2, (), ("3", "2"))
    assert evaluate("3 < 2").text == "false"


def test_3_19_rounding_shows_its_decimals_beside_the_unrounded_value() -> None:
    assert evaluate("round(2/3, 4)").text == "0.6667 (unrounded 0.666666666666667)"
    assert evaluate("round(1.999, 2)").text == "2.00 (unrounded 1.999)"
    assert evaluate("round(1250, -2)").text == "1200 (unrounded 1250)"
    assert evaluate("round(2/3, 2) * 100").text == "67"


def test_3_19_list_functions_say_how_many_numbers_they_got() -> None:
    result = evaluate("sum(1,234, 5)")
    assert (result.value, result.operands) == (240, 3)
    assert result.notes == ("sum got 3 numbers", "1,234 is 2 numbers; write 1234 if it is one")
    assert evaluate("slope([1, 2], [3, 4])").notes == ("slope got 2 pairs",)
    assert evaluate("mean(4)").notes == ("mean got 1 number",)
    assert evaluate("sum(1, 2) / 2").operands == 2
    assert evaluate("1 + 2 + 3").operands == 3


def test_3_19_no_hint_where_no_thousands_comma_is_meant() -> None:
    assert evaluate("sum(1234, 567)").notes == ("sum got 2 numbers",)
    assert evaluate("sum(1, 234)").notes == ("sum got 2 numbers",)


@pytest.mark.parametrize(
    ("expression", "literals"),
    [
        ("1 + 02.50 - .5 * 1e3", ["1", "02.50", ".5", "1e3"]),
        ("3-5", ["3", "5"]),
        ("-5", ["-5"]),
        ("3 - -5", ["3", "-5"]),
        ("3 * - 5", ["3", "-5"]),
        ("--5", ["-5"]),
        ("+5", ["5"]),
        ("-(5)", ["5"]),
        ("-5 ** 2", ["5"]),
        ("(-5) ** 2", ["-5"]),
        ("7 ** -2", ["7"]),
        ("7 ** (1 / 11) * 13", ["7", "13"]),
        ("2 ** 3 ** 2 + 8", ["2", "8"]),
        ("mean(11, 13) ** max(17, 19)", ["11", "13"]),
        ("round(11.5, 4)", ["11.5"]),
        ("round(11.5)", ["11.5"]),
        ("round(-11.5, -1) - 3", ["-11.5", "3"]),
        ("log(11, 13)", ["11"]),
        ("ln(11)", ["11"]),
        ("percentile([11, 13], 95)", ["11", "13"]),
        ("percentile(11, 13, 17, 95)", ["11", "13", "17"]),
        ("round(percentile([11, round(13, 1)], 90 + 5), 2 * 1)", ["11", "13"]),
        ("cagr(11, 13, 17)", ["11", "13", "17"]),
        ("sum(11, 13,)", ["11", "13"]),
        ("11 < 13 <= 17", ["11", "13", "17"]),
    ],
)
def test_7_1_literals_are_the_figures_but_for_exponents_decimals_bases_and_percentages(
    expression: str, literals: list[str]
) -> None:
    assert list(evaluate(expression).literals) == literals


@given(
    st.recursive(
        st.integers(0, 99).map(str),
        lambda part: st.builds(
            "({}{}{})".format, part, st.sampled_from(["+", "-", "*", "//", "%", "<"]), part
        ),
        max_leaves=12,
    )
)
def test_3_19_arithmetic_is_pythons(expression: str) -> None:
    try:
        expected = eval(expression)
    except ZeroDivisionError:
        message(expression)
        return
    try:
        assert value(expression) == pytest.approx(expected, rel=1e-14)
    except InvalidOperation as refused:
        assert "true or false" in refused.message


def test_3_19_the_contract_cases_expressions_have_their_values(shared: Path) -> None:
    cases = json.loads((shared / "cases/contract/cases.json").read_text(encoding="utf-8"))
    checked = 0
    for case in cases:
        for check in case["expect"]:
            if check.get("path") == "result.value":
                operation = case["responses"][check["turn"] - 1]["operation"]
                expected = check.get("approx", check.get("equals"))
                assert value(operation["expression"]) == pytest.approx(expected, rel=1e-9)
                checked += 1
    assert checked > 30
