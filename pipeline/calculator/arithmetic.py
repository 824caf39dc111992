"""What an expression computes with: each step gives a finite number or a clear refusal (contract 3.19)."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence

from pipeline.calculator.functions import Function, Number, counted
from pipeline.calculator.tokens import refuse
from pipeline.calculator.values import checked, shown

MAX_EXPONENT = 1_000

Item = Number | bool | list[Number]
Argument = Number | list[Number]


def literal(text: str) -> Number:
    """Return the value of a number as it is written."""
    if not text.isdigit():
        return checked(float(text))
    # A longer one is beyond any float; int() of it would be quadratic.
    digits = text.lstrip("0") or "0"
    return checked(int(digits) if len(digits) <= 310 else math.inf)


def number(item: Item, what: str) -> Number:
    """Return `item` if it is the number that `what` takes."""
    if isinstance(item, list):
        refuse(f"{what} takes numbers, not a list")
    if isinstance(item, bool):
        refuse(f"{what} takes numbers; a comparison gives true or false")
    return item


def operate(symbol: str, left: Item, right: Item) -> Number:
    """Return `left symbol right`."""
    return _guarded(symbol, _OPERATIONS[symbol], (number(left, symbol), number(right, symbol)))


def compare(symbol: str, left: Item, right: Item) -> bool:
    """Return whether `left symbol right` holds."""
    return _COMPARISONS[symbol](number(left, symbol), number(right, symbol))


def call(function: Function, arguments: Sequence[Argument]) -> Number:
    """Return the function's value at `arguments`, as `arranged` gives them."""
    return _guarded(function.name, function, arguments)


def arranged(function: Function, items: list[Item]) -> list[Argument]:
    """Return a function's arguments; those that make up its only list are gathered into one."""
    what = function.signature
    if function.lists == (0,):
        split = max(len(items) - function.parameters + 1, 0)
        gathered: list[Number] = []
        for item in items[:split]:
            gathered += item if isinstance(item, list) else [number(item, what)]
        items = [gathered, *items[split:]]
    if not function.parameters - function.optional <= len(items) <= function.parameters:
        refuse(f"{what} got {counted(len(items), 'argument')}; a comma separates arguments, 1,234 is two")
    return [
        _listed(item, what) if place in function.lists else number(item, what)
        for place, item in enumerate(items)
    ]


def _listed(item: Item, what: str) -> list[Number]:
    if not isinstance(item, list):
        refuse(f"{what} takes a list there: write [1, 2, 3]")
    return item


def _guarded(name: str, compute: Callable[..., Number], arguments: Sequence[Argument]) -> Number:
    try:
        return checked(compute(*arguments))
    except ZeroDivisionError:
        refuse(f"division by zero in {_told(name, arguments)}")
    except OverflowError:
        refuse(f"{_told(name, arguments)} overflows: a value must stay within ±1.8e308")
    except ValueError as error:
        refuse(str(error))


def _told(name: str, arguments: Sequence[Argument]) -> str:
    operands = [shown(argument) for argument in arguments if not isinstance(argument, list)]
    return f" {name} ".join(operands) if name in _OPERATIONS else name


def _power(base: Number, exponent: Number) -> Number:
    if abs(exponent) > MAX_EXPONENT:
        raise ValueError(f"the exponent {shown(exponent)} is outside ±{MAX_EXPONENT:,}")
    if isinstance(base, int) and isinstance(exponent, int) and (base.bit_length() - 1) * exponent > 1024:
        raise OverflowError
    if base < 0 and exponent != int(exponent):
        raise ValueError(f"{shown(base)} ** {shown(exponent)} is a complex number")
    result: Number = base**exponent
    return result


_OPERATIONS: Mapping[str, Callable[[Number, Number], Number]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": _power,
}
_COMPARISONS: Mapping[str, Callable[[Number, Number], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
