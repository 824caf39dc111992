"""Contract 3.19: statistics are exact on any input, and agree with NumPy and SciPy where those are.

A value has 15 significant digits, so that it lies within 5e-15 of the exact one (relative). NumPy and SciPy
round on the way: they are held to 1e-12, on figures of one magnitude that do not cancel. On years against
amounts, on far ends and on near equals they are less exact, and only exact arithmetic can tell who is right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from math import ceil, floor, prod

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from pipeline.calculator import FUNCTIONS, evaluate
from pipeline.errors import InvalidOperation
from tests.calculator.expressions import value

EXACT = 5.1e-15  # half a unit in the 15th digit, and a float's own rounding
LIBRARIES = 1e-12
DIGITS = 60

Numbers = Sequence[float]


# --- Exact references: fractions, and 60 decimal digits where a root or a logarithm is needed


def decimal(number: Fraction | float) -> Decimal:
    number = Fraction(number)
    return Decimal(number.numerator) / Decimal(number.denominator)


def mean(values: Sequence[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)


def moment(xs: Sequence[Fraction], ys: Sequence[Fraction]) -> Fraction:
    x_mean, y_mean = mean(xs), mean(ys)
    return sum(((x - x_mean) * (y - y_mean) for x, y in zip(xs, ys, strict=True)), Fraction(0))


def percentile(values: Sequence[Fraction], p: Fraction) -> Fraction:
    ordered, place = sorted(values), p / 100 * (len(values) - 1)
    low, high = ordered[floor(place)], ordered[ceil(place)]
    return low + (high - low) * (place % 1)


def slope(xs: Sequence[Fraction], ys: Sequence[Fraction]) -> Fraction:
    return moment(xs, ys) / moment(xs, xs)


def forecast(x: Fraction, xs: Sequence[Fraction], ys: Sequence[Fraction]) -> Fraction:
    return mean(ys) + slope(xs, ys) * (x - mean(xs))


def correlation(xs: Sequence[Fraction], ys: Sequence[Fraction]) -> Decimal:
    return decimal(moment(xs, ys)) / decimal(moment(xs, xs) * moment(ys, ys)).sqrt()


def weighted_mean(values: Sequence[Fraction], weights: Sequence[Fraction]) -> Fraction:
    return sum((v * w for v, w in zip(values, weights, strict=True)), Fraction(0)) / sum(weights)


OF_ONE_LIST: dict[str, Callable[[Sequence[Fraction]], Fraction | Decimal]] = {
    "sum": sum,
    "mean": mean,
    "median": lambda values: percentile(values, Fraction(50)),
    "product": prod,
    "min": min,
    "max": max,
    "variance": lambda values: moment(values, values) / (len(values) - 1),
    "stdev": lambda values: decimal(moment(values, values) / (len(values) - 1)).sqrt(),
    "pvariance": lambda values: moment(values, values) / len(values),
    "pstdev": lambda values: decimal(moment(values, values) / len(values)).sqrt(),
}
OF_POSITIVE_NUMBERS: dict[str, Callable[[Sequence[Fraction]], Fraction | Decimal]] = {
    "geomean": lambda values: (sum((decimal(v).ln() for v in values), Decimal(0)) / len(values)).exp(),
    "harmonic_mean": lambda values: 1 / mean([1 / v for v in values]),
}
OF_TWO_LISTS: dict[str, Callable[[Sequence[Fraction], Sequence[Fraction]], Fraction | Decimal]] = {
    "slope": slope,
    "intercept": lambda xs, ys: forecast(Fraction(0), xs, ys),
    "correlation": correlation,
    "weighted_mean": weighted_mean,
}


def agrees(expression: str, expected: Fraction | Decimal, tolerance: float = EXACT) -> bool:
    """Whether the calculator gives `expected`, or refuses it as beyond a float."""
    try:
        given_value = Fraction(value(expression))
    except InvalidOperation as refused:
        assert "overflow" in refused.message
        return abs(expected) > Decimal("1.797e308")
    exact = Fraction(expected)
    least = Fraction(2.0**-1022)  # below it, a float has fewer digits
    return abs(given_value - exact) <= tolerance * max(abs(exact), least / Fraction(EXACT))


figures = st.decimals(-(10**7), 10**7, places=2).map(float) | st.integers(-(10**9), 10**9)
anything = figures | st.floats(allow_nan=False, allow_infinity=False)


def pairs(numbers: st.SearchStrategy[float]) -> st.SearchStrategy[tuple[Numbers, Numbers]]:
    drawn = st.lists(st.tuples(numbers, numbers), min_size=2, max_size=30)
    return drawn.map(lambda two: ([x for x, _ in two], [y for _, y in two]))


@given(st.lists(anything, min_size=2, max_size=30))
@pytest.mark.parametrize("name", OF_ONE_LIST)
def test_3_19_a_statistic_is_exact_on_any_numbers(name: str, values: Numbers) -> None:
    with localcontext(prec=DIGITS):
        assert agrees(f"{name}({values})", OF_ONE_LIST[name]([Fraction(v) for v in values]))


@given(st.lists(anything.map(abs).filter(bool), min_size=1, max_size=30))
def test_3_19_a_harmonic_mean_is_exact_on_any_positive_numbers(values: Numbers) -> None:
    assert agrees(
        f"harmonic_mean({values})", OF_POSITIVE_NUMBERS["harmonic_mean"]([Fraction(v) for v in values])
    )


@given(st.lists(anything.map(abs).filter(bool), min_size=1, max_size=30))
def test_3_19_a_geometric_mean_is_as_exact_as_its_logarithms(values: Numbers) -> None:
    with localcontext(prec=DIGITS):
        expected = OF_POSITIVE_NUMBERS["geomean"]([Fraction(v) for v in values])
        assert agrees(f"geomean({values})", expected, LIBRARIES)


@given(pairs(anything))
@pytest.mark.parametrize("name", OF_TWO_LISTS)
def test_3_19_a_statistic_of_two_lists_is_exact_on_any_numbers(
    name: str, lists: tuple[Numbers, Numbers]
) -> None:
    xs, ys = ([Fraction(v) for v in values] for values in lists)
    assume(moment(xs, xs) and moment(ys, ys) and sum(ys))
    with localcontext(prec=DIGITS):
        expected = OF_TWO_LISTS[name](xs, ys)
        assume(name != "correlation" or abs(expected) > 1e-150)  # its square is no float
        assert agrees(f"{name}({lists[0]}, {lists[1]})", expected)


@given(pairs(anything), anything)
def test_3_19_a_forecast_is_exact_on_any_numbers(lists: tuple[Numbers, Numbers], at: float) -> None:
    xs, ys = ([Fraction(v) for v in values] for values in lists)
    assume(moment(xs, xs))
    assert agrees(f"forecast({at}, {lists[0]}, {lists[1]})", forecast(Fraction(at), xs, ys))


@given(st.lists(anything, min_size=1, max_size=30), st.floats(0, 100))
def test_3_19_a_percentile_is_exact_on_any_numbers(values: Numbers, p: float) -> None:
    assert agrees(f"percentile({values}, {p})", percentile([Fraction(v) for v in values], Fraction(p)))


# --- NumPy and SciPy, on random figures of one magnitude

Array = np.ndarray[tuple[int], np.dtype[np.float64]]
LIBRARY_OF_ONE_LIST: dict[str, Callable[[Array], float]] = {
    "sum": np.sum,
    "mean": np.mean,
    "median": np.median,
    "geomean": stats.gmean,
    "harmonic_mean": stats.hmean,
    "product": np.prod,
    "min": np.min,
    "max": np.max,
    "variance": lambda values: np.var(values, ddof=1),
    "stdev": lambda values: np.std(values, ddof=1),
    "pvariance": np.var,
    "pstdev": np.std,
}
LIBRARY_OF_TWO_LISTS: dict[str, Callable[[Array, Array], float]] = {
    "slope": lambda xs, ys: stats.linregress(xs, ys).slope,
    "intercept": lambda xs, ys: stats.linregress(xs, ys).intercept,
    "correlation": lambda xs, ys: stats.pearsonr(xs, ys).statistic,
    "weighted_mean": lambda values, weights: np.average(values, weights=weights),
}
OTHERS = {
    "abs", "average", "cagr", "ceil", "exp", "floor", "forecast", "geometric_mean", "ln", "log", "log10",
    "percent_change", "percentile", "round", "sqrt",
}  # fmt: skip


def sample(seed: int, size: int) -> tuple[Array, Array]:
    """Return `size` amounts of some hundreds, and twice as large ones that follow them loosely."""
    random = np.random.default_rng(seed)
    xs = random.uniform(100, 900, size).round(3)
    return xs, (50 + 2 * xs + random.normal(0, 40, size)).round(3)


SAMPLES = [(seed, size) for size in (3, 10, 24, 100, 400) for seed in range(5)]


def test_every_function_is_compared() -> None:
    assert set(FUNCTIONS) == {*LIBRARY_OF_ONE_LIST, *LIBRARY_OF_TWO_LISTS, *OTHERS}
    assert {*OF_ONE_LIST, *OF_POSITIVE_NUMBERS} == set(LIBRARY_OF_ONE_LIST)
    assert set(OF_TWO_LISTS) == set(LIBRARY_OF_TWO_LISTS)


@pytest.mark.parametrize("name", LIBRARY_OF_ONE_LIST)
def test_3_19_statistics_agree_with_numpy_and_scipy(name: str) -> None:
    for seed, size in SAMPLES:
        values, _ = sample(seed, size)
        if name == "product":
            values = values[:100]  # more overflow
        expected = float(LIBRARY_OF_ONE_LIST[name](values))
        assert value(f"{name}({values.tolist()})") == pytest.approx(expected, rel=LIBRARIES, abs=0)


@pytest.mark.parametrize("name", LIBRARY_OF_TWO_LISTS)
def test_3_19_statistics_of_two_lists_agree_with_numpy_and_scipy(name: str) -> None:
    for seed, size in SAMPLES:
        xs, ys = sample(seed, size)
        expected = LIBRARY_OF_TWO_LISTS[name](xs, ys)
        got = value(f"{name}({xs.tolist()}, {ys.tolist()})")
        assert got == pytest.approx(expected, rel=LIBRARIES, abs=0)


@pytest.mark.parametrize("p", [0, 2.5, 25, 33.3, 50, 90, 99.9, 100])
def test_3_19_percentiles_agree_with_numpy(p: float) -> None:
    for seed, size in SAMPLES:
        values, _ = sample(seed, size)
        expected = np.percentile(values, p)
        assert value(f"percentile({values.tolist()}, {p})") == pytest.approx(expected, rel=LIBRARIES, abs=0)


def test_3_19_a_forecast_agrees_with_numpy() -> None:
    for seed, size in SAMPLES:
        xs, ys = sample(seed, size)
        fit = stats.linregress(xs, ys)
        got = value(f"forecast(1000, {xs.tolist()}, {ys.tolist()})")
        assert got == pytest.approx(fit.intercept + 1000 * fit.slope, rel=LIBRARIES, abs=0)


OF_A_NUMBER: dict[str, Callable[[float], float]] = {
    "exp": np.exp, "ln": np.log, "log10": np.log10, "sqrt": np.sqrt, "floor": np.floor, "ceil": np.ceil,
}  # fmt: skip


@pytest.mark.parametrize("name", OF_A_NUMBER)
def test_3_19_functions_of_a_number_agree_with_numpy(name: str) -> None:
    for number in np.random.default_rng(3).uniform(1e-3, 700, 200).tolist():
        assert value(f"{name}({number})") == pytest.approx(OF_A_NUMBER[name](number), rel=LIBRARIES, abs=0)


@given(st.floats(1e-3, 1e9), st.floats(1e-3, 1e9), st.integers(1, 100))
def test_3_19_growth_is_exact(begin: float, end: float, years: int) -> None:
    with localcontext(prec=DIGITS):
        growth = decimal(end) / decimal(begin)
        assert agrees(f"cagr({begin}, {end}, {years})", ((growth.ln() / years).exp() - 1) * 100, 1e-13)
        assert agrees(f"percent_change({begin}, {end})", (growth - 1) * 100)


# --- Where the libraries are the less exact ones


def test_3_19_a_forecast_over_years_has_all_its_digits() -> None:
    """Here `numpy.polyfit` has lost 5 digits, `statistics.linear_regression` 4."""
    random = np.random.default_rng(11)
    for size in (3, 12, 30):
        years = list(range(1940, 1940 + size))
        amounts = random.uniform(1000, 5000, size).round(2).tolist()
        exact = forecast(Fraction(1980), list(map(Fraction, years)), list(map(Fraction, amounts)))
        assert agrees(f"forecast(1980, {years}, {amounts})", exact)


def test_3_19_a_variance_of_near_equals_has_all_its_digits() -> None:
    values = [1e9 + 0.1, 1e9 + 0.2, 1e9 + 0.3]
    assert agrees(f"variance({values})", OF_ONE_LIST["variance"]([Fraction(v) for v in values]))


def test_3_19_a_sum_does_not_depend_on_its_order() -> None:
    assert evaluate("sum(1e308, 1e308, -1e308, 1, -1e308)").text == "1"
    assert evaluate("mean(1e308, 1e308, -1e308, 4, -1e308, 0, 0, 0)").text == "0.5"
