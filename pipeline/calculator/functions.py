"""The calculator's functions (contract 3.19).

The standard library's `statistics` computes means and spreads exactly and rounds once. Its regression rounds
on the way (a forecast over years is off in the 11th digit), so fits are computed here, from exact moments.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from functools import reduce
from operator import mul

Number = int | float

MAX_DECIMALS = 30


@dataclass(frozen=True)
class Function:
    """A function of the language, called with its arguments in the signature's order.

    The parameters at `lists` are lists of one length, which is at least `least`; the others are numbers, the
    last `optional` of which may be left out. With `positive`, every number must lie above 0. With `setting`,
    the last parameter says how to compute, and is no figure of a document (contract 7.1).
    """

    signature: str
    compute: Callable[..., Number | Fraction]
    lists: tuple[int, ...] = ()
    least: int = 1
    optional: int = 0
    positive: bool = False
    setting: bool = False

    @property
    def name(self) -> str:
        """The name in the signature."""
        return self.signature.partition("(")[0]

    @property
    def parameters(self) -> int:
        """How many parameters the signature names."""
        return self.signature.count(",") + 1

    def __call__(self, *arguments: Number | list[Number]) -> Number:
        """Compute the result. Raises `ValueError` with a message for the model, or `OverflowError`."""
        lists = [argument for argument in arguments if isinstance(argument, list)]
        sizes = [len(values) for values in lists]
        if len(set(sizes)) > 1:
            raise ValueError(f"{self.name} needs two lists of one length, got {sizes[0]} and {sizes[1]}")
        if sizes and sizes[0] < self.least:
            raise ValueError(f"{self.name} needs at least {counted(self.least, 'number')}, got {sizes[0]}")
        if self.positive:
            for value in lists[0] if lists else arguments:
                if not isinstance(value, list) and value <= 0:
                    raise ValueError(f"{self.name} needs numbers above 0, got {value:.15g}")
        result = self.compute(*arguments)
        return float(result) if isinstance(result, Fraction) else result


def counted(count: int, noun: str) -> str:
    """Return "1 number", "2 numbers"."""
    return f"{count} {noun}{'s' * (count != 1)}"


def _integers(values: Sequence[Number]) -> tuple[list[int], int]:
    """Return `values` as exact integers over one common denominator, a power of two."""
    ratios = [value.as_integer_ratio() for value in values]
    scale = max(denominator for _, denominator in ratios)
    return [numerator * (scale // denominator) for numerator, denominator in ratios], scale


def _total(values: Sequence[Number]) -> Fraction:
    integers, scale = _integers(values)
    return Fraction(sum(integers), scale)


def _sum(values: Sequence[Number]) -> Number | Fraction:
    return sum(values) if all(isinstance(value, int) for value in values) else _total(values)


def _wide() -> Context:
    """Return a context in which no rounding shows and nothing on the way overflows."""
    return Context(prec=40, Emax=MAX_EMAX, Emin=MIN_EMIN)


def _harmonic_mean(values: Sequence[Number]) -> float:
    wide = _wide()
    total = reduce(wide.add, (wide.divide(1, Decimal(value)) for value in values))
    return float(wide.divide(len(values), total))


def _product(values: Sequence[Number]) -> Number:
    result = reduce(_wide().multiply, map(Decimal, values))
    whole = abs(result) < 10**30 and all(isinstance(value, int) for value in values)
    return int(result) if whole else float(result)


def _percentile(values: Sequence[Number], p: Number) -> Fraction:
    if not 0 <= p <= 100:
        raise ValueError(f"percentile's p must lie in 0 to 100, got {p:.15g}")
    ordered = sorted(values)
    place = Fraction(p) * (len(ordered) - 1) / 100
    below = math.floor(place)
    low, high = Fraction(ordered[below]), Fraction(ordered[math.ceil(place)])
    return low + (high - low) * (place - below)


def _weighted_mean(values: Sequence[Number], weights: Sequence[Number]) -> Fraction:
    (shares, _), (figures, scale) = _integers(weights), _integers(values)
    if sum(shares) == 0:
        raise ValueError("weighted_mean's weights sum to 0")
    return Fraction(sum(map(mul, shares, figures)), sum(shares) * scale)


def _moment(xs: Sequence[Number], ys: Sequence[Number]) -> Fraction:
    """Return n² times the covariance of `xs` and `ys`, exactly."""
    (a, a_scale), (b, b_scale) = _integers(xs), _integers(ys)
    return Fraction(len(xs) * sum(map(mul, a, b)) - sum(a) * sum(b), a_scale * b_scale)


def _slope(xs: Sequence[Number], ys: Sequence[Number]) -> Fraction:
    spread = _moment(xs, xs)
    if spread == 0:
        raise ValueError("a least-squares line needs xs that are not all equal")
    return _moment(xs, ys) / spread


def _forecast(x: Number, xs: Sequence[Number], ys: Sequence[Number]) -> Fraction:
    return (_total(ys) + _slope(xs, ys) * (len(xs) * Fraction(x) - _total(xs))) / len(xs)


def _correlation(xs: Sequence[Number], ys: Sequence[Number]) -> float:
    both, spread = _moment(xs, ys), _moment(xs, xs) * _moment(ys, ys)
    if spread == 0:
        raise ValueError("correlation needs lists that are not constant")
    size = math.sqrt(both * both / spread)
    return size if both > 0 else -size


def _round(x: Number, decimals: Number | None = None) -> Number:
    if decimals is None:
        return round(x)
    if decimals != int(decimals) or abs(decimals) > MAX_DECIMALS:
        raise ValueError(
            f"round takes a whole number of decimals within ±{MAX_DECIMALS}, got {decimals:.15g}"
        )
    return round(x, int(decimals))


def _sqrt(x: Number) -> float:
    if x < 0:
        raise ValueError(f"sqrt of a negative number ({x:.15g})")
    return math.sqrt(x)


def _log(x: Number, base: Number) -> float:
    if base == 1:
        raise ValueError("log needs a base other than 1")
    return math.log(x, base)


def _percent_change(old: Number, new: Number) -> Fraction:
    if old == 0:
        raise ValueError("percent_change from 0 is a division by zero")
    return (Fraction(new) / Fraction(old) - 1) * 100


def _cagr(begin: Number, end: Number, years: Number) -> float:
    if begin <= 0 or end < 0 or years <= 0:
        raise ValueError(
            "cagr needs begin and years above 0 and end not below, "
            f"got {begin:.15g}, {end:.15g}, {years:.15g}"
        )
    growth = Fraction(end) / Fraction(begin)
    if float(growth) == 0:
        return -100.0
    # Each keeps the digits that the other loses: those of a small growth, those of a deep fall.
    logarithm = math.log1p(growth - 1) if growth > 0.5 else math.log(growth)
    return math.expm1(logarithm / years) * 100


_LIST = (0,)
_TWO_LISTS = (0, 1)
_FUNCTIONS = (
    Function("sum(list)", _sum, _LIST),
    Function("mean(list)", statistics.mean, _LIST),
    Function("median(list)", statistics.median, _LIST),
    Function("geomean(list)", statistics.geometric_mean, _LIST, positive=True),
    Function("harmonic_mean(list)", _harmonic_mean, _LIST, positive=True),
    Function("product(list)", _product, _LIST),
    Function("min(list)", min, _LIST),
    Function("max(list)", max, _LIST),
    Function("abs(x)", abs),
    Function("round(x, decimals)", _round, optional=1, setting=True),
    Function("floor(x)", math.floor),
    Function("ceil(x)", math.ceil),
    Function("sqrt(x)", _sqrt),
    Function("exp(x)", math.exp),
    Function("ln(x)", math.log, positive=True),
    Function("log10(x)", math.log10, positive=True),
    Function("log(x, base)", _log, positive=True, setting=True),
    Function("variance(list)", statistics.variance, _LIST, least=2),
    Function("stdev(list)", statistics.stdev, _LIST, least=2),
    Function("pvariance(list)", statistics.pvariance, _LIST),
    Function("pstdev(list)", statistics.pstdev, _LIST),
    Function("percentile(list, p)", _percentile, _LIST, setting=True),
    Function("percent_change(old, new)", _percent_change),
    Function("cagr(begin, end, years)", _cagr),
    Function("slope(xs, ys)", _slope, _TWO_LISTS, least=2),
    Function("intercept(xs, ys)", lambda xs, ys: _forecast(0, xs, ys), _TWO_LISTS, least=2),
    Function("forecast(x, xs, ys)", _forecast, (1, 2), least=2),
    Function("correlation(xs, ys)", _correlation, _TWO_LISTS, least=2),
    Function("weighted_mean(values, weights)", _weighted_mean, _TWO_LISTS),
)
_ALIASES = {"average": "mean", "geometric_mean": "geomean"}
_NAMED = {function.name: function for function in _FUNCTIONS}

FUNCTIONS: Mapping[str, Function] = _NAMED | {alias: _NAMED[name] for alias, name in _ALIASES.items()}
