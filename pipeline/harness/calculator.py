"""The calculator: a small expression language that runs no code (contract 3.19).

An expression is cut into tokens, parsed into a flat program for a stack, and only then evaluated. It has its
own grammar, and not Python's, because `ast.parse` fails at a depth that depends on the caller's stack and on
the Python version: a replay in another process could then differ (contract 1.1). Here a chain of operands is
a loop, and nesting is bounded by a count.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from typing import NoReturn

from pipeline.errors import InvalidOperation
from pipeline.harness.calculator_functions import FUNCTIONS, Function, Number

MAX_CHARACTERS = 20_000
MAX_DEPTH = 64
MAX_EXPONENT = 1_000
MAX_COUNTS = 10
SIGNIFICANT_DIGITS = 15
_LARGEST = int(float.fromhex("0x1.fffffffffffffp+1023"))

_Item = Number | bool | list[Number]


@dataclass(frozen=True)
class Value:
    """A result: the number (or truth) rounded to 15 significant digits, and `text`, how it is shown.

    `operands` is how many numbers the list functions got, or how many the expression has if it calls none.
    `notes` are hints for the model, one a line.
    """

    value: float | int | bool
    text: str
    operands: int
    notes: tuple[str, ...] = ()


def evaluate(expression: str) -> Value:
    """Evaluate `expression`.

    Raises `InvalidOperation("expression_error", …)`, whose message says what to send instead.
    """
    if len(expression) > MAX_CHARACTERS:
        _refuse(f"the expression has {len(expression)} characters, more than {MAX_CHARACTERS:,}")
    tokens = _tokenize(expression)
    parser = _Parser(tokens)
    machine = _Machine()
    result = machine.run(parser.program())
    notes = (*machine.counts[:MAX_COUNTS], *_hints(expression, tokens))
    operands = machine.listed or sum(token.kind == "number" for token in tokens)
    return Value(_rounded(result), _shown(result, machine.rounding), operands, notes)


def _refuse(message: str) -> NoReturn:
    raise InvalidOperation("expression_error", message)


# --- Tokens


@dataclass(frozen=True)
class _Token:
    kind: str  # "number", "name", "end", or the operator itself
    text: str
    start: int


_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<operator>\*\*|//|<=|>=|==|!=|[-+*/%<>(),\[\]])|(?P<end>\Z)|(?P<other>.))",
    re.DOTALL,
)
_ADVICE = {
    "^": "write ** for a power",
    "$": "leave currency signs out",
    "€": "leave currency signs out",
    "£": "leave currency signs out",
    "¥": "leave currency signs out",
    "−": "write - for minus",
    "–": "write - for minus",
    "×": "write * for times",
    "÷": "write / for a division",
    "=": "write == to compare; there are no variables",
    '"': "there are no strings",
    "'": "there are no strings",
    ";": "write one expression",
}


def _tokenize(expression: str) -> list[_Token]:
    tokens: list[_Token] = []
    for match in _TOKEN.finditer(expression):
        kind, text = match.lastgroup or "other", match[match.lastgroup or "other"]
        start = match.start(kind)
        if kind == "other":
            _refuse(f"unexpected {text!r} at character {start}: {_ADVICE.get(text, _LANGUAGE)}")
        if kind == "name" and tokens and tokens[-1].kind == "number" and _end(tokens[-1]) == start:
            _refuse(f"{tokens[-1].text + text:.40} is not a number: write it without unit or suffix")
        tokens.append(_Token(text if kind == "operator" else kind, text, start))
        if kind == "end":
            break
    return tokens


def _end(token: _Token) -> int:
    return token.start + len(token.text)


_LANGUAGE = "an expression has numbers, + - * / // % **, comparisons, [lists] and functions"


# --- Grammar

_COMPARISONS: Mapping[str, Callable[[Number, Number], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_BINDING = {**dict.fromkeys(_COMPARISONS, 1), "+": 2, "-": 2, "*": 3, "/": 3, "//": 3, "%": 3, "**": 5}
_SIGN_BINDING = 4


@dataclass(frozen=True)
class _Step:
    """One instruction: push `number`, or take `count` items off the stack for `name` and push its result."""

    action: str  # "push", "negate", "operate", "compare", "list" or "call"
    name: str = ""
    count: int = 0
    number: Number = 0


class _Parser:
    """A precedence-climbing parser, with Python's precedences. Only nesting recurses."""

    def __init__(self, tokens: Sequence[_Token]) -> None:
        self.tokens = tokens
        self.position = 0
        self.depth = 0
        self.steps: list[_Step] = []

    @property
    def token(self) -> _Token:
        return self.tokens[self.position]

    def take(self) -> _Token:
        token = self.token
        self.position += 1
        return token

    def program(self) -> list[_Step]:
        """Return the steps of the whole expression."""
        if self.token.kind == "end":
            _refuse(f"the expression is empty: {_LANGUAGE}")
        self.expression(0)
        if self.token.kind == ",":
            _refuse("a comma stands between operands: write 1234 for 1,234, one expression a compute")
        if self.token.kind != "end":
            _refuse(f"{self._here()}: an operator is missing before it")
        return self.steps

    def expression(self, floor: int) -> None:
        """Parse operands joined by operators that bind more tightly than `floor`."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            _refuse(f"nested more than {MAX_DEPTH} levels deep: compute the parts on their own first")
        self.operand()
        while (binding := _BINDING.get(self.token.kind, 0)) > floor:
            if self.token.kind in _COMPARISONS:
                self.comparison(binding)
                continue
            symbol = self.take().kind
            # Powers bind to the right: 2 ** 3 ** 2 is 2 ** 9.
            self.expression(binding - 1 if symbol == "**" else binding)
            self.steps.append(_Step("operate", symbol, 2))
        self.depth -= 1

    def comparison(self, binding: int) -> None:
        """Parse the rest of `a < b <= c`, which holds if each neighbouring pair does."""
        symbols = []
        while self.token.kind in _COMPARISONS:
            symbols.append(self.take().kind)
            self.expression(binding)
        self.steps.append(_Step("compare", " ".join(symbols), len(symbols) + 1))

    def operand(self) -> None:
        token = self.take()
        if token.kind == "number":
            self.steps.append(_Step("push", number=_literal(token.text)))
        elif token.kind == "name":
            self.call(token.text)
        elif token.kind in ("-", "+"):
            self.expression(_SIGN_BINDING)
            self.steps.append(_Step("negate" if token.kind == "-" else "keep", "a sign", 1))
        elif token.kind == "(":
            self.expression(0)
            self.close(")")
        elif token.kind == "[":
            self.steps.append(_Step("list", "a list", self.items("]")))
        else:
            self.position -= 1
            _refuse(f"{self._here()}: a number or function is missing before it{self._percent_advice()}")

    def call(self, name: str) -> None:
        if name not in FUNCTIONS:
            nearest = get_close_matches(name[:40].lower(), FUNCTIONS, n=1)
            hint = f"did you mean {nearest[0]}? " if nearest else ""
            _refuse(f"unknown name {name[:40]}: {hint}The functions are {', '.join(FUNCTIONS)}")
        if self.token.kind != "(":
            _refuse(f"{name} is a function: write {FUNCTIONS[name].signature}")
        self.take()
        self.steps.append(_Step("call", name, self.items(")")))

    def items(self, closing: str) -> int:
        """Parse expressions separated by commas up to `closing`; return how many there are."""
        count = 0
        while self.token.kind != closing:
            self.expression(0)
            count += 1
            if self.token.kind != ",":
                break
            self.take()
        self.close(closing)
        return count

    def close(self, closing: str) -> None:
        if self.token.kind != closing:
            _refuse(f"{self._here()}: {closing!r} is missing before it")
        self.take()

    def _here(self) -> str:
        token = self.token
        if token.kind == "end":
            return "the expression ends too early"
        return f"unexpected {token.text[:40]!r} at character {token.start}"

    def _percent_advice(self) -> str:
        before = self.tokens[self.position - 1].kind if self.position else ""
        return "; % is the remainder of a division: write 5/100 for 5%" if before == "%" else ""


def _literal(text: str) -> Number:
    if text.isdigit():
        # A longer one is beyond any float; int() of it would be quadratic.
        digits = text.lstrip("0") or "0"
        return _checked(int(digits) if len(digits) <= 310 else math.inf)
    return _checked(float(text))


# --- Evaluation


def _power(base: Number, exponent: Number) -> Number:
    if abs(exponent) > MAX_EXPONENT:
        _refuse(f"the exponent {_digits(exponent)} is outside ±{MAX_EXPONENT:,}")
    if isinstance(base, int) and isinstance(exponent, int) and (base.bit_length() - 1) * exponent > 1024:
        raise OverflowError
    if base < 0 and exponent != int(exponent):
        _refuse(f"{_digits(base)} ** {_digits(exponent)} is a complex number")
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

    def run(self, program: Sequence[_Step]) -> Number | bool:
        """Return the program's result, a finite number or a truth."""
        for step in program:
            self.rounding = None
            if step.action == "push":
                self.stack.append(step.number)
                continue
            first = len(self.stack) - step.count
            items = self.stack[first:]
            del self.stack[first:]
            self.stack.append(self._apply(step, items))
        (result,) = self.stack
        if isinstance(result, list):
            _refuse("the result is a list: apply a function to it, such as sum or mean")
        return result

    def _apply(self, step: _Step, items: Sequence[_Item]) -> _Item:
        if step.action == "call":
            return self._call(step.name, FUNCTIONS[step.name], items)
        numbers = [_number(item, step.name) for item in items]
        if step.action == "list":
            return numbers
        if step.action == "negate":
            return -numbers[0]
        if step.action == "operate":
            return _guarded(_OPERATIONS[step.name], numbers, f" {step.name} ".join(map(_digits, numbers)))
        if step.action == "compare":
            symbols = step.name.split()
            return all(
                _COMPARISONS[symbol](left, right)
                for symbol, left, right in zip(symbols, numbers[:-1], numbers[1:], strict=True)
            )
        return numbers[0]

    def _call(self, name: str, function: Function, items: Sequence[_Item]) -> Number:
        if function.lists == (0,):
            items = _gathered(function, items)
        least, most = function.parameters - function.optional, function.parameters
        if not least <= len(items) <= most:
            _refuse(f"{function.signature} got {len(items)} argument{'s' * (len(items) != 1)}")
        arguments = [
            _listed(item, function) if place in function.lists else _number(item, function.signature)
            for place, item in enumerate(items)
        ]
        result = _guarded(function.call, arguments, name)
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
        _refuse(f"{function.signature} takes a list there: write [1, 2, 3]")
    return item


def _number(item: _Item, what: str) -> Number:
    if isinstance(item, list):
        _refuse(f"{what} takes numbers, not a list")
    if isinstance(item, bool):
        _refuse(f"{what} takes numbers; a comparison gives true or false")
    return item


def _guarded(call: Callable[..., Number], arguments: Sequence[_Item], what: str) -> Number:
    try:
        return _checked(call(*arguments))
    except ZeroDivisionError:
        _refuse(f"division by zero in {what}")
    except OverflowError:
        _refuse(f"{what} overflows: a value must stay within ±1.8e308")
    except ValueError as error:
        _refuse(str(error))


def _checked(value: Number) -> Number:
    if not -_LARGEST <= value <= _LARGEST:  # false for NaN as well
        _refuse("the value overflows: it must stay within ±1.8e308")
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


def _hints(expression: str, tokens: Sequence[_Token]) -> list[str]:
    hints = []
    thousands = re.search(r"(?<![0-9.])[0-9]{1,3}(?:,[0-9]{3})+(?![0-9.eE])", expression)
    if thousands:
        plain = thousands[0].replace(",", "")
        count = thousands[0].count(",") + 1
        hints.append(f"{thousands[0][:40]} is {count} numbers; write {plain[:40]} if it is one")
    if any(token.kind == "%" for token in tokens):
        hints.append("% is the remainder of a division, not percent")
    return hints
