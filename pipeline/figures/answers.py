"""Whether a number of an answer is a computed value (contract 7.7)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal

from pipeline.figures.reading import Figure

_MAX_DECIMALS = 40  # no float tells more
_CONTEXT = Context(prec=400, traps=[])
_TOLERANCE = Decimal("1e-14")  # relative: computed values have 15 significant digits


def rounds_to(answer: Figure, value: float | int) -> bool:
    """Say whether `answer` is `value` at the answer's own rounding, half up or half even.

    5.2% is 5.2134 as well as 0.052134, and "4.1 million" is 4,137,000 as well as 4.137: a unit may scale.
    The sign counts, unless the answer formats or words it ("8.63% decrease" is -8.63).
    """
    exact = _exact(value)
    return exact is not None and any(_is(*reading, exact) for reading in _readings(answer))


def nearest(answer: Figure, values: Mapping[str, float | int]) -> str | None:
    """Return which of the computed values, by id, is nearest to the answer; None if there are none."""
    distances = {
        name: min(abs(_CONTEXT.subtract(written, exact)) for written, _ in _readings(answer))
        for name, value in values.items()
        if (exact := _exact(value)) is not None
    }
    return min(distances, key=distances.__getitem__, default=None)


def _exact(value: float | int) -> Decimal | None:
    """Return a computed value as it is shown; None for true, false and what isn't finite."""
    if isinstance(value, bool) or (isinstance(value, float) and not math.isfinite(value)):
        return None
    return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)


def _readings(answer: Figure) -> Iterator[tuple[Decimal, int]]:
    """Yield each value that the answer may mean, with its decimals (-1: rounded to tens)."""
    for shift in {0, answer.scale}:
        value = _CONTEXT.scaleb(answer.value, shift)
        yield value, answer.decimals - shift
        if answer.either_sign:
            yield value.copy_negate(), answer.decimals - shift


def _is(written: Decimal, decimals: int, exact: Decimal) -> bool:
    if abs(_CONTEXT.subtract(written, exact)) <= _CONTEXT.multiply(_TOLERANCE, abs(exact)):
        return True
    if decimals > _MAX_DECIMALS:
        return False
    unit = Decimal(1).scaleb(-decimals)
    roundings = (ROUND_HALF_UP, ROUND_HALF_EVEN)
    return any(written == exact.quantize(unit, rounding, _CONTEXT) for rounding in roundings)
