"""Contract 3.19: the calculator's language, its figures, its messages and its bounds."""

from __future__ import annotations

import contextlib
import json
import math
import statistics
import sys
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.calculator import Value, evaluate
from pipeline.errors import InvalidOperation


def value(expression: str) -> float | int | bool:
    return evaluate(expression).value


def message(expression: str) -> str:
    with pytest.raises(InvalidOperation) as refused:
        evaluate(expression)
    assert refused.value.code == "expression_error"
    return refused.value.message


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
def test_an_expression_has_its_value(expression: str, expected: float) -> None:
    assert value(expression) == pytest.approx(expected, rel=1e-14, abs=1e-15)


def test_a_value_has_fifteen_significant_digits() -> None:
    assert evaluate("4400 / 12") == Value(366.666666666667, "366.666666666667", 2, (), ("4400", "12"))
    assert evaluate("2 / 3 * 1e-9").text == "6.66666666666667e-10"
    assert evaluate("1234567890123456789").text == "1234567890123460000"
    assert evaluate("-0.0").text == "0"


def test_a_comparison_is_shown_as_true_or_false() -> None:
    assert evaluate("3 > 2") == Value(True, "true", 2, (), ("3", "2"))
    assert evaluate("3 < 2").text == "false"


def test_rounding_shows_its_decimals_beside_the_unrounded_value() -> None:
    assert evaluate("round(2/3, 4)").text == "0.6667 (unrounded 0.666666666666667)"
    assert evaluate("round(1.999, 2)").text == "2.00 (unrounded 1.999)"
    assert evaluate("round(1250, -2)").text == "1200 (unrounded 1250)"
    assert evaluate("round(2/3, 2) * 100").text == "67"


def test_list_functions_say_how_many_numbers_they_got() -> None:
    result = evaluate("sum(1,234, 5)")
    assert (result.value, result.operands) == (240, 3)
    assert result.notes == ("sum got 3 numbers", "1,234 is 2 numbers; write 1234 if it is one")
    assert evaluate("slope([1, 2], [3, 4])").notes == ("slope got 2 pairs",)
    assert evaluate("mean(4)").notes == ("mean got 1 number",)
    assert evaluate("sum(1, 2) / 2").operands == 2
    assert evaluate("1 + 2 + 3").operands == 3


def test_no_hint_where_no_thousands_comma_is_meant() -> None:
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
def test_literals_are_the_figures_but_for_exponents_decimals_bases_and_percentages(
    expression: str, literals: list[str]
) -> None:
    assert list(evaluate(expression).literals) == literals


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
def test_a_message_says_what_to_send_instead(expression: str, parts: list[str]) -> None:
    told = message(expression)
    assert all(part in told for part in parts), told


HOSTILE = [
    "__import__('os').getcwd()",
    "open('/etc/passwd')",
    "(1).__class__",
    "().__class__.__bases__[0]",
    "[x for x in range(10)]",
    "lambda: 1",
    "exec('1')",
    "sum.__globals__",
    "f'{1}'",
    "1 if 1 else 2",
    "1; 2",
    "{1: 2}",
    "{1, 2}",
    "1j",
    "True + 1",
    "None",
    "nan",
    "inf - inf",
    "1e999 - 1e999",
    "sum(*[1])",
    "sum(x=1)",
    "1 @ 2",
    "~1",
    "1 << 1000",
    "1 and 2",
    "not 1",
    "x := 1",
    "...",
    "#",
    "1 # comment",
    "\\",
    "\x00",
    "\ud800",
    "١ + ٢",
    "(" * 10_000,
    "(" * 9_999 + "1" + ")" * 9_999,
    "[" * 10_000 + "1" + "]" * 10_000,
    "-" * 19_999 + "1",
    "2 ** " * 3_999 + "2",
    "sum(" * 4_999 + "1",
    "round(" * 2_000 + "1" + ")" * 2_000,
    "9" * 20_000,
    "1" + "0" * 310,
    "9 ** 999 ** 9",
    "999999999999 ** 1000",
    "product(" + "1e300," * 3_000 + "1)",
    "product(" + "99999999999999999999," * 900 + "1)",
    "1" + " * 1e300" * 2_000,
    "a" * 20_000,
    "1" + "a" * 19_999,
    "1" * 21_000,
    "(1,)",
    "()",
    "1..real",
]


@pytest.mark.parametrize("expression", HOSTILE, ids=lambda text: ascii(text[:24]))
def test_hostile_input_is_refused_in_a_moment(expression: str) -> None:
    started = time.process_time()
    told = message(expression)
    assert time.process_time() - started < 1
    assert 0 < len(told) < 1_000


@contextlib.contextmanager
def untraced() -> Iterator[None]:
    """Without the tracer that measures coverage, which multiplies what a line costs."""
    tracer = sys.gettrace()
    sys.settrace(None)
    try:
        yield
    finally:
        sys.settrace(tracer)


@pytest.mark.parametrize(
    "expression",
    [
        "variance(" + "1e300," * 1_600 + "1e-300," * 1_400 + "1)",
        "correlation([" + "1e300,1e-300," * 700 + "], [" + "1e-300,1e300," * 700 + "])",
        "product(" + "1e300,1e-300," * 1_400 + "1)",
        "harmonic_mean(" + ",".join(str(n) for n in range(1, 4_000)) + ")",
        "sum(" + "2**1000," * 2_000 + "1)",
        "9" * 308 + "*1" * 9_000,
        "[" + "1," * 9_990 + "1]",
        "1,234" * 4_000,
        "1" + "+sum(1)" * 2_800,
    ],
    ids=lambda text: text[:24],
)
def test_heavy_input_is_bounded_in_time_and_memory(expression: str) -> None:
    assert len(expression) <= 20_000
    with untraced(), contextlib.suppress(InvalidOperation):
        started = time.process_time()
        evaluate(expression)
    assert time.process_time() - started < 1
    tracemalloc.start()
    try:
        with contextlib.suppress(InvalidOperation):
            evaluate(expression)
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 100e6


@pytest.mark.parametrize("operands", [1_000, 10_000])
def test_a_flat_chain_is_no_depth(operands: int) -> None:
    result = evaluate("+".join("1" * operands))
    assert (result.value, result.operands) == (operands, operands)


def test_nesting_is_bounded_by_a_count_and_not_by_the_callers_stack() -> None:
    def deep(frames: int) -> float:
        return deep(frames - 1) if frames else value("(" * 63 + "1" + ")" * 63)

    assert deep(sys.getrecursionlimit() // 2) == 1
    assert "64 levels" in message("(" * 64 + "1" + ")" * 64)


figures = st.lists(
    st.floats(min_value=-1e9, max_value=1e9).map(lambda x: float(f"{x:.12g}")) | st.integers(-(10**9), 10**9),
    min_size=2,
    max_size=60,
)


@given(figures)
def test_statistics_agree_with_the_standard_library(values: list[float]) -> None:
    exact = {
        "sum": math.fsum,
        "mean": statistics.mean,
        "median": statistics.median,
        "variance": statistics.variance,
        "pvariance": statistics.pvariance,
        "stdev": statistics.stdev,
        "pstdev": statistics.pstdev,
        "min": min,
        "max": max,
    }
    for name, call in exact.items():
        expected = call([float(v) for v in values])
        assert value(f"{name}({values})") == pytest.approx(expected, rel=1e-12, abs=1e-300), name


@given(st.lists(st.floats(min_value=1e-3, max_value=1e9), min_size=1, max_size=60))
def test_means_of_positive_numbers_agree_with_the_standard_library(values: list[float]) -> None:
    assert value(f"geomean({values})") == pytest.approx(statistics.geometric_mean(values), rel=1e-12)
    assert value(f"harmonic_mean({values})") == pytest.approx(statistics.harmonic_mean(values), rel=1e-12)


def test_fits_and_percentiles_agree_with_numpy() -> None:
    random = np.random.default_rng(7)
    for size in (2, 3, 24, 100):
        xs, ys = (random.normal(10, 5, size).round(6) for _ in range(2))
        weights = random.uniform(1, 5, size).round(6)
        x, y, w = xs.tolist(), ys.tolist(), weights.tolist()
        slope = np.cov(xs, ys)[0, 1] / np.var(xs, ddof=1)
        assert value(f"slope({x}, {y})") == pytest.approx(slope, rel=1e-12)
        assert value(f"intercept({x}, {y})") == pytest.approx(ys.mean() - slope * xs.mean(), rel=1e-12)
        assert value(f"correlation({x}, {y})") == pytest.approx(np.corrcoef(xs, ys)[0, 1], rel=1e-12)
        assert value(f"weighted_mean({x}, {w})") == pytest.approx(np.average(xs, weights=weights), rel=1e-12)
        assert value(f"product({y})") == pytest.approx(np.prod(ys), rel=1e-12)
        for p in (0, 12.5, 50, 90, 100):
            assert value(f"percentile({x}, {p})") == pytest.approx(np.percentile(xs, p), rel=1e-12)


def test_a_fit_over_years_does_not_cancel() -> None:
    assert value("slope([2006, 2007, 2008], [2406675.1, 2567671.1, 2523641.1])") == pytest.approx(
        58483, rel=1e-12
    )
    assert value("variance(1000000000.1, 1000000000.2, 1000000000.3)") == pytest.approx(0.01, rel=1e-5)


@given(st.text(alphabet="0123456789+-*/%<>=!.,()[] eE" + "sumroundabs", max_size=60) | st.text(max_size=60))
def test_any_text_gives_a_finite_value_or_an_expression_error(text: str) -> None:
    try:
        result = evaluate(text)
    except InvalidOperation as refused:
        assert refused.code == "expression_error"
    else:
        assert math.isfinite(result.value)
        assert json.loads(json.dumps(result.value)) == result.value


@given(
    st.recursive(
        st.integers(0, 99).map(str),
        lambda part: st.builds(
            "({}{}{})".format, part, st.sampled_from(["+", "-", "*", "//", "%", "<"]), part
        ),
        max_leaves=12,
    )
)
def test_arithmetic_is_pythons(expression: str) -> None:
    try:
        expected = eval(expression)
    except ZeroDivisionError:
        message(expression)
        return
    try:
        assert value(expression) == pytest.approx(expected, rel=1e-14)
    except InvalidOperation as refused:
        assert "true or false" in refused.message


def test_the_contract_cases_expressions_have_their_values(shared: Path) -> None:
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
