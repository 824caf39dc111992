"""The calculator's functions (contract 3.19).

Sums, means, variances and regressions are computed in exact integer arithmetic and rounded once, so that
they neither cancel nor depend on the order of their operands.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction

Number = int | float

MAX_DECIMALS = 30


@dataclass(frozen=True)
class Function:
    """A function of the language, called with its arguments in the signature's order.

    The parameters at `lists` are lists, the others numbers; the last `optional` ones may be left out. With
    `setting`, the last one says how to compute, and is no figure of a document (contract 7.1). `call` raises
    `ValueError` with a message for the model, or `OverflowError`.
    """

    signature: str
    call: Callable[..., Number]
    lists: tuple[int, ...] = ()
    optional: int = 0
    setting: bool = False

    @property
    def parameters(self) -> int:
        """How many parameters the signature names."""
        return self.signature.count(",") + 1


def _integers(values: Sequence[Number]) -> tuple[list[int], int]:
    """Return `values` as exact integers over one common denominator, a power of two."""
    ratios = [value.as_integer_ratio() for value in values]
    scale = max((denominator for _, denominator in ratios), default=1)
    return [numerator * (scale // denominator) for numerator, denominator in ratios], scale


def _need(values: Sequence[Number], count: int, name: str) -> None:
    if len(values) < count:
        raise ValueError(f"{name} needs at least {count} number{'s' * (count > 1)}, got {len(values)}")


def _need_positive(values: Sequence[Number], name: str) -> None:
    _need(values, 1, name)
    for value in values:
        if value <= 0:
            raise ValueError(f"{name} needs numbers above 0, got {value}")


def _sum(values: list[Number]) -> Number:
    _need(values, 1, "sum")
    if all(isinstance(value, int) for value in values):
        return sum(values)
    integers, scale = _integers(values)
    return sum(integers) / scale


def _mean(values: list[Number]) -> float:
    _need(values, 1, "mean")
    integers, scale = _integers(values)
    return sum(integers) / (scale * len(values))


def _median(values: list[Number]) -> Number:
    _need(values, 1, "median")
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else _mean(ordered[middle - 1 : middle + 1])


def _geomean(values: list[Number]) -> float:
    _need_positive(values, "geomean")
    return math.exp(math.fsum(map(math.log, values)) / len(values))


def _harmonic_mean(values: list[Number]) -> float:
    _need_positive(values, "harmonic_mean")
    return len(values) / math.fsum(1 / value for value in values)


def _product(values: list[Number]) -> Number:
    _need(values, 1, "product")
    # 40 digits and an unbounded exponent: no rounding that shows, no overflow on the way.
    context = Context(prec=40, Emax=MAX_EMAX, Emin=MIN_EMIN)
    result = Decimal(1)
    for value in values:
        result = context.multiply(result, Decimal(value))
    if abs(result) < 10**30 and all(isinstance(value, int) for value in values):
        return int(result)
    return float(result)


def _extreme(name: str, choose: Callable[[list[Number]], Number]) -> Callable[[list[Number]], Number]:
    def call(values: list[Number]) -> Number:
        _need(values, 1, name)
        return choose(values)

    return call


def _root(square: Fraction) -> float:
    """Return the square root, also where the square itself is too large or too small for a float."""
    half = (square.numerator.bit_length() - square.denominator.bit_length()) // 2
    return math.ldexp(math.sqrt(square / Fraction(4) ** half), half)


def _squares(values: list[Number], name: str, sample: bool) -> Fraction:
    """Return the variance as an exact fraction."""
    _need(values, 2 if sample else 1, name)
    integers, scale = _integers(values)
    count, total = len(values), sum(integers)
    squares = count * sum(value * value for value in integers) - total * total
    return Fraction(squares, count * (count - sample) * scale * scale)


def _spread(name: str, sample: bool, root: bool) -> Callable[[list[Number]], float]:
    def call(values: list[Number]) -> float:
        variance = _squares(values, name, sample)
        return _root(variance) if root else float(variance)

    return call


def _percentile(values: list[Number], p: Number) -> Number:
    _need(values, 1, "percentile")
    if not 0 <= p <= 100:
        raise ValueError(f"percentile's p must lie in 0 to 100, got {p}")
    ordered = sorted(values)
    place = Fraction(p) * (len(ordered) - 1) / 100
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    low, high = Fraction(ordered[below]), Fraction(ordered[above])
    return float(low + (high - low) * (place - below))


def _weighted_mean(values: list[Number], weights: list[Number]) -> float:
    _pairs(values, weights, "weighted_mean", 1)
    integers, scale = _integers(values)
    shares, _ = _integers(weights)
    if sum(shares) == 0:
        raise ValueError("weighted_mean's weights sum to 0")
    return float(Fraction(sum(v * w for v, w in zip(integers, shares, strict=True)), sum(shares) * scale))


def _pairs(xs: list[Number], ys: list[Number], name: str, count: int) -> None:
    if len(xs) != len(ys):
        raise ValueError(f"{name} needs two lists of one length, got {len(xs)} and {len(ys)}")
    _need(xs, count, name)


def _moments(xs: list[Number], ys: list[Number], name: str) -> tuple[Fraction, Fraction, Fraction]:
    """Return n² times the variance of xs, that of ys, and their covariance, exactly."""
    _pairs(xs, ys, name, 2)
    (a, a_scale), (b, b_scale), n = _integers(xs), _integers(ys), len(xs)
    total_a, total_b = sum(a), sum(b)
    xx = Fraction(n * sum(x * x for x in a) - total_a * total_a, a_scale * a_scale)
    yy = Fraction(n * sum(y * y for y in b) - total_b * total_b, b_scale * b_scale)
    xy = Fraction(n * sum(x * y for x, y in zip(a, b, strict=True)) - total_a * total_b, a_scale * b_scale)
    return xx, yy, xy


def _line(xs: list[Number], ys: list[Number], name: str) -> tuple[Fraction, Fraction]:
    """Return slope and intercept of the least-squares line, exactly."""
    xx, _, xy = _moments(xs, ys, name)
    if xx == 0:
        raise ValueError(f"{name} needs xs that are not all equal")
    (a, a_scale), (b, b_scale), n = _integers(xs), _integers(ys), len(xs)
    slope = xy / xx
    return slope, Fraction(sum(b), b_scale * n) - slope * Fraction(sum(a), a_scale * n)


def _slope(xs: list[Number], ys: list[Number]) -> float:
    return float(_line(xs, ys, "slope")[0])


def _intercept(xs: list[Number], ys: list[Number]) -> float:
    return float(_line(xs, ys, "intercept")[1])


def _forecast(x: Number, xs: list[Number], ys: list[Number]) -> float:
    slope, intercept = _line(xs, ys, "forecast")
    return float(intercept + slope * Fraction(x))


def _correlation(xs: list[Number], ys: list[Number]) -> float:
    xx, yy, xy = _moments(xs, ys, "correlation")
    if xx == 0 or yy == 0:
        raise ValueError("correlation needs lists that are not constant")
    size = _root(xy * xy / (xx * yy))
    return size if xy > 0 else -size


def _round(x: Number, decimals: Number | None = None) -> Number:
    if decimals is None:
        return round(x)
    if decimals != int(decimals) or abs(decimals) > MAX_DECIMALS:
        raise ValueError(f"round takes a whole number of decimals within ±{MAX_DECIMALS}, got {decimals}")
    return round(x, int(decimals))


def _sqrt(x: Number) -> float:
    if x < 0:
        raise ValueError(f"sqrt of a negative number ({x})")
    return math.sqrt(x)


def _logarithm(name: str, log: Callable[[Number], float]) -> Callable[[Number], float]:
    def call(x: Number) -> float:
        if x <= 0:
            raise ValueError(f"{name} needs a number above 0, got {x}")
        return log(x)

    return call


def _log(x: Number, base: Number) -> float:
    if x <= 0 or base <= 0 or base == 1:
        raise ValueError(f"log needs x and base above 0, and a base other than 1, got {x} and {base}")
    return math.log(x) / math.log(base)


def _percent_change(old: Number, new: Number) -> float:
    if old == 0:
        raise ValueError("percent_change from 0 is a division by zero")
    return float((Fraction(new) - Fraction(old)) / Fraction(old) * 100)


def _cagr(begin: Number, end: Number, years: Number) -> float:
    if begin <= 0 or end < 0 or years <= 0:
        raise ValueError(f"cagr needs begin and years above 0 and end not below, got {begin}, {end}, {years}")
    return math.expm1(math.log(end / begin) / years) * 100 if end else -100.0


_LIST = (0,)
_TWO_LISTS = (0, 1)
_MEAN = Function("mean(list)", _mean, _LIST)
_GEOMEAN = Function("geomean(list)", _geomean, _LIST)

FUNCTIONS: Mapping[str, Function] = {
    "sum": Function("sum(list)", _sum, _LIST),
    "mean": _MEAN,
    "average": _MEAN,
    "median": Function("median(list)", _median, _LIST),
    "geomean": _GEOMEAN,
    "geometric_mean": _GEOMEAN,
    "harmonic_mean": Function("harmonic_mean(list)", _harmonic_mean, _LIST),
    "product": Function("product(list)", _product, _LIST),
    "min": Function("min(list)", _extreme("min", min), _LIST),
    "max": Function("max(list)", _extreme("max", max), _LIST),
    "abs": Function("abs(x)", abs),
    "round": Function("round(x, decimals)", _round, optional=1, setting=True),
    "floor": Function("floor(x)", math.floor),
    "ceil": Function("ceil(x)", math.ceil),
    "sqrt": Function("sqrt(x)", _sqrt),
    "exp": Function("exp(x)", math.exp),
    "ln": Function("ln(x)", _logarithm("ln", math.log)),
    "log10": Function("log10(x)", _logarithm("log10", math.log10)),
    "log": Function("log(x, base)", _log, setting=True),
    "variance": Function("variance(list)", _spread("variance", sample=True, root=False), _LIST),
    "stdev": Function("stdev(list)", _spread("stdev", sample=True, root=True), _LIST),
    "pvariance": Function("pvariance(list)", _spread("pvariance", sample=False, root=False), _LIST),
    "pstdev": Function("pstdev(list)", _spread("pstdev", sample=False, root=True), _LIST),
    "percentile": Function("percentile(list, p)", _percentile, _LIST, setting=True),
    "percent_change": Function("percent_change(old, new)", _percent_change),
    "cagr": Function("cagr(begin, end, years)", _cagr),
    "slope": Function("slope(xs, ys)", _slope, _TWO_LISTS),
    "intercept": Function("intercept(xs, ys)", _intercept, _TWO_LISTS),
    "forecast": Function("forecast(x, xs, ys)", _forecast, (1, 2)),
    "correlation": Function("correlation(xs, ys)", _correlation, _TWO_LISTS),
    "weighted_mean": Function("weighted_mean(values, weights)", _weighted_mean, _TWO_LISTS),
}
