"""The calculator: a small expression language that runs no code (contract 3.19).

An expression becomes a flat program for a stack (`grammar`), and only then is it evaluated. Every
intermediate value is a finite number of bounded size.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from pipeline.calculator.functions import FUNCTIONS, Function, Number
from pipeline.calculator.grammar import COMPARISONS, Step, Token, parse, refuse, tokenize

MAX_CHARACTERS = 20_000
MAX_EXPONENT = 1_000
MAX_COUNTS = 10
SIGNIFICANT_DIGITS = 15
_LARGEST = int(float.fromhex("0x1.fffffffffffffp+1023"))

_Item = Number | bool | list[Number]


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


def evaluate(expression: str) -> Value:
    """Evaluate `expression`.

    Raises `InvalidOperation("expression_error", …)`, whose message says what to send instead.
    """
    if len(expression) > MAX_CHARACTERS:
        refuse(f"the expression has {len(expression)} characters, more than {MAX_CHARACTERS:,}")
    tokens = tokenize(expression)
    machine = _Machine()
    program, literals = parse(tokens)
    result = machine.run(program)
    notes = (*machine.counts[:MAX_COUNTS], *_hints(expression, tokens))
    operands = machine.listed or sum(token.kind == "number" for token in tokens)
    return Value(_rounded(result), _shown(result, machine.rounding), operands, notes, tuple(literals))


def _literal(text: str) -> Number:
    if text.isdigit():
        # A longer one is beyond any float; int() of it would be quadratic.
        digits = text.lstrip("0") or "0"
        return _checked(int(digits) if len(digits) <= 310 else math.inf)
    return _checked(float(text))


def _power(base: Number, exponent: Number) -> Number:
    if abs(exponent) > MAX_EXPONENT:
        refuse(f"the exponent {_digits(exponent)} is outside ±{MAX_EXPONENT:,}")
    if isinstance(base, int) and isinstance(exponent, int) and (base.bit_length() - 1) * exponent > 1024:
        raise OverflowError
    if base < 0 and exponent != int(exponent):
        refuse(f"{_digits(base)} ** {_digits(exponent)} is a complex number")
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


class _Machine:
    """Runs a program on a stack.

    `counts` and `listed` say how many numbers the list functions got, `rounding` what the last step rounded.
    """

    def __init__(self) -> None:
        self.stack: list[_Item] = []
        self.counts: list[str] = []
        self.listed = 0
        self.rounding: tuple[Number, int] | None = None

    def run(self, program: Sequence[Step]) -> Number | bool:
        """Return the program's result, a finite number or a truth."""
        for step in program:
            self.rounding = None
            if step.action == "push":
                self.stack.append(_literal(step.name))
                continue
            first = len(self.stack) - step.taken
            items = self.stack[first:]
            del self.stack[first:]
            self.stack.append(self._apply(step, items))
        (result,) = self.stack
        if isinstance(result, list):
            refuse("the result is a list: apply a function to it, such as sum or mean")
        return result

    def _apply(self, step: Step, items: Sequence[_Item]) -> _Item:
        if step.action == "call":
            return self._call(step.name, FUNCTIONS[step.name], items)
        numbers = [_number(item, step.name) for item in items]
        if step.action == "list":
            return numbers
        if step.action == "negate":
            return -numbers[0]
        if step.action == "operate":
            return _guarded(step.name, _OPERATIONS[step.name], numbers)
        if step.action == "compare":
            symbols = step.name.split()
            return all(
                COMPARISONS[symbol](left, right)
                for symbol, left, right in zip(symbols, numbers[:-1], numbers[1:], strict=True)
            )
        return numbers[0]

    def _call(self, name: str, function: Function, items: Sequence[_Item]) -> Number:
        if function.lists == (0,):
            items = _gathered(function, items)
        least, most = function.parameters - function.optional, function.parameters
        if not least <= len(items) <= most:
            refuse(f"{function.signature} got {len(items)} argument{'s' * (len(items) != 1)}")
        arguments = [
            _listed(item, function) if place in function.lists else _number(item, function.signature)
            for place, item in enumerate(items)
        ]
        result = _guarded(name, function.call, arguments)
        if function.lists:
            self._count(name, [item for item in arguments if isinstance(item, list)])
        if name == "round" and len(arguments) == 2:
            self.rounding = (_number(arguments[0], name), int(_number(arguments[1], name)))
        return result

    def _count(self, name: str, lists: Sequence[list[Number]]) -> None:
        size = sum(map(len, lists))
        self.listed += size
        if len(lists) == 2:
            self.counts.append(f"{name} got {len(lists[0])} pairs")
        else:
            self.counts.append(f"{name} got {size} number{'s' * (size != 1)}")


def _gathered(function: Function, items: Sequence[_Item]) -> Sequence[_Item]:
    """Return the arguments of a one-list function with those that make up its list gathered into one."""
    split = max(len(items) - function.parameters + 1, 0)
    values: list[Number] = []
    for item in items[:split]:
        values.extend(item if isinstance(item, list) else [_number(item, function.signature)])
    return [values, *items[split:]]


def _listed(item: _Item, function: Function) -> list[Number]:
    if not isinstance(item, list):
        refuse(f"{function.signature} takes a list there: write [1, 2, 3]")
    return item


def _number(item: _Item, what: str) -> Number:
    if isinstance(item, list):
        refuse(f"{what} takes numbers, not a list")
    if isinstance(item, bool):
        refuse(f"{what} takes numbers; a comparison gives true or false")
    return item


def _guarded(name: str, call: Callable[..., Number], arguments: Sequence[Number | list[Number]]) -> Number:
    try:
        return _checked(call(*arguments))
    except ZeroDivisionError:
        refuse(f"division by zero in {_told(name, arguments)}")
    except OverflowError:
        refuse(f"{_told(name, arguments)} overflows: a value must stay within ±1.8e308")
    except ValueError as error:
        refuse(str(error))


def _told(name: str, arguments: Sequence[Number | list[Number]]) -> str:
    operands = [_digits(argument) for argument in arguments if not isinstance(argument, list)]
    return f" {name} ".join(operands) if name in _OPERATIONS else name


def _checked(value: Number) -> Number:
    if not -_LARGEST <= value <= _LARGEST:  # false for NaN as well
        refuse("the value overflows: it must stay within ±1.8e308")
    return value


# --- Showing the result


def _rounded(value: Number | bool) -> Number | bool:
    if isinstance(value, bool) or (isinstance(value, int) and abs(value) < 10**SIGNIFICANT_DIGITS):
        return value
    return _checked(float(f"{value:.{SIGNIFICANT_DIGITS}g}")) + 0.0  # + 0.0 makes -0.0 plain


def _digits(value: Number | bool) -> str:
    """Return `value` with 15 significant digits, written out unless it is very large or small."""
    rounded = _rounded(value)
    if isinstance(rounded, bool):
        return str(rounded).lower()
    digits = f"{rounded:.{SIGNIFICANT_DIGITS}g}"
    return f"{Decimal(digits):f}" if 1 <= abs(rounded) < 1e21 else digits


def _shown(value: Number | bool, rounding: tuple[Number, int] | None) -> str:
    if rounding is None:
        return _digits(value)
    unrounded, decimals = rounding
    # Through the 15 digits, so that none beyond them is shown.
    shown = Decimal(_digits(value))
    return f"{shown:.{max(decimals, 0)}f} (unrounded {_digits(unrounded)})"


def _hints(expression: str, tokens: Sequence[Token]) -> list[str]:
    hints = []
    thousands = re.search(r"(?<![0-9.])[0-9]{1,3}(?:,[0-9]{3})+(?![0-9.eE])", expression)
    if thousands:
        plain = thousands[0].replace(",", "")
        count = thousands[0].count(",") + 1
        hints.append(f"{thousands[0][:40]} is {count} numbers; write {plain[:40]} if it is one")
    if any(token.kind == "%" for token in tokens):
        hints.append("% is the remainder of a division, not percent")
    return hints
