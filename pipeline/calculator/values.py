"""The calculator's results: rounded to 15 significant digits, and as text (contract 3.19)."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from pipeline.calculator.functions import Number
from pipeline.calculator.tokens import refuse

SIGNIFICANT_DIGITS = 15
_LARGEST = int(float.fromhex("0x1.fffffffffffffp+1023"))


@dataclass(frozen=True)
class Value:
    """A result: the number (or truth) rounded to 15 significant digits, and `text`, how it is shown.

    `operands` is how many numbers the list functions got, or how many the expression has if it calls none.
    `notes` are hints for the model, one a line. `literals` are the expression's numbers as written, with a
    minus that stands before them as a sign; those in an exponent or in the second argument of round, log and
    percentile are left out, since they are no figures of a document (contract 7.1).
    """

    value: float | int | bool
    text: str
    operands: int
    notes: tuple[str, ...] = ()
    literals: tuple[str, ...] = ()


def checked(value: Number) -> Number:
    """Return `value` if it is a finite number that a float can hold. Raises `InvalidOperation`."""
    if not -_LARGEST <= value <= _LARGEST:  # false for NaN as well
        refuse("the value overflows: it must stay within ±1.8e308")
    return value


def rounded(value: Number | bool) -> Number | bool:
    """Return `value` with 15 significant digits; a bool or an integer that has no more is kept as it is."""
    if isinstance(value, int) and abs(value) < 10**SIGNIFICANT_DIGITS:
        return value
    return checked(float(f"{value:.{SIGNIFICANT_DIGITS}g}")) + 0.0  # + 0.0 makes -0.0 plain


def shown(value: Number | bool) -> str:
    """Return `value` with 15 significant digits, written out unless it is very large or small."""
    value = rounded(value)
    if isinstance(value, bool):
        return str(value).lower()
    digits = f"{value:.{SIGNIFICANT_DIGITS}g}"
    return f"{Decimal(digits):f}" if 1 <= abs(value) < 1e21 else digits


def with_decimals(value: Number, decimals: int, unrounded: Number) -> str:
    """Return a value of `round` with its decimals, and what it was before."""
    # Through the 15 digits, so that none beyond them is shown.
    return f"{Decimal(shown(value)):.{max(decimals, 0)}f} (unrounded {shown(unrounded)})"
