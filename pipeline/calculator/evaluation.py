"""An expression is evaluated as it is read, with Python's precedences (contract 3.19)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches

from pipeline.calculator import arithmetic
from pipeline.calculator.arithmetic import Item
from pipeline.calculator.functions import FUNCTIONS, Function, Number, counted
from pipeline.calculator.tokens import LANGUAGE, Token, refuse, tokenize
from pipeline.calculator.values import Value, rounded, shown, with_decimals

MAX_CHARACTERS = 20_000
MAX_DEPTH = 64
MAX_NOTES = 10

_COMPARISON, _SIGN, _POWER = 1, 4, 5
_BINDING = {
    **dict.fromkeys(("<", "<=", ">", ">=", "==", "!="), _COMPARISON),
    **dict.fromkeys(("+", "-"), 2),
    **dict.fromkeys(("*", "/", "//", "%"), 3),
    "**": _POWER,
}


def evaluate(expression: str) -> Value:
    """Evaluate `expression`.

    Raises `InvalidOperation("expression_error", …)`, whose message says what to send instead.
    """
    if len(expression) > MAX_CHARACTERS:
        refuse(f"the expression has {len(expression)} characters, more than {MAX_CHARACTERS:,}")
    tokens = tokenize(expression)
    reader = _Reader(tokens)
    result = reader.whole()
    return Value(
        rounded(result),
        with_decimals(result, *reader.rounding) if reader.rounding else shown(result),
        reader.listed or sum(token.kind == "number" for token in tokens),
        (*reader.counts[:MAX_NOTES], *_hints(expression, tokens)),
        tuple(reader.literals),
    )


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


class _Reader:
    """Reads the tokens of an expression, once. A chain of operands is a loop; only nesting recurses.

    By precedence climbing. `literals` are as in `Value`. `counts` and `listed` say how many numbers the list
    functions got; `rounding` has the decimals and the unrounded value if a `round` was the last thing done.
    """

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.tokens = tokens
        self.position = 0
        self.depth = 0
        self.literals: list[str] = []
        self.counts: list[str] = []
        self.listed = 0
        self.rounding: tuple[int, Number] | None = None

    def whole(self) -> Number | bool:
        """Return the value of the whole expression."""
        if self.next == "end":
            refuse(f"the expression is empty: {LANGUAGE}")
        result = self.expression(0)
        if self.next == ",":
            refuse("a comma stands between operands: write 1234 for 1,234, one expression a compute")
        if self.next != "end":
            refuse(f"{self.here()}: an operator is missing before it")
        if isinstance(result, list):
            refuse("the result is a list: apply a function to it, such as sum or mean")
        return result

    def expression(self, floor: int) -> Item:
        """Read operands joined by operators that bind more tightly than `floor`."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            refuse(f"nested more than {MAX_DEPTH} levels deep: compute the parts on their own first")
        item = self.operand()
        while (binding := _BINDING.get(self.next, 0)) > floor:
            item = self.comparison(item) if binding == _COMPARISON else self.operation(item, binding)
        self.depth -= 1
        return item

    def operation(self, left: Item, binding: int) -> Number:
        symbol = self.take().kind
        if symbol != "**":
            right = self.expression(binding)
        else:
            before = len(self.literals)
            right = self.expression(binding - 1)  # to the right: 2 ** 3 ** 2 is 2 ** 9
            del self.literals[before:]
        self.rounding = None
        return arithmetic.operate(symbol, left, right)

    def comparison(self, left: Item) -> bool:
        """Read the rest of `a < b <= c`, which holds if each neighbouring pair does."""
        holds = True
        while _BINDING.get(self.next) == _COMPARISON:
            symbol = self.take().kind
            right = self.expression(_COMPARISON)
            holds &= arithmetic.compare(symbol, left, right)
            left = right
        self.rounding = None
        return holds

    def operand(self) -> Item:
        token = self.take()
        if token.kind == "number":
            self.literals.append(token.text)
            return arithmetic.literal(token.text)
        if token.kind == "name":
            return self.call(token.text)
        if token.kind in ("-", "+"):
            return self.signed(token.kind)
        if token.kind == "(":
            item = self.expression(0)
            self.close(")")
            return item
        if token.kind == "[":
            return [arithmetic.number(item, "a list") for item in self.items("]")]
        self.position -= 1
        percent = self.position and self.tokens[self.position - 1].kind == "%"
        advice = "; % is the remainder of a division: write 5/100 for 5%" if percent else ""
        refuse(f"{self.here()}: a number or function is missing before it{advice}")

    def signed(self, sign: str) -> Number:
        first = self.position
        item = self.expression(_SIGN)
        if sign == "-" and self.position == first + 1:
            self.literals[-1] = f"-{self.literals[-1]}"
        self.rounding = None
        return arithmetic.operate(sign, 0, item)

    def call(self, name: str) -> Number:
        function = _function(name)
        if self.next != "(":
            refuse(f"{name} is a function: write {function.signature}")
        self.take()
        arguments = arithmetic.arranged(function, self.items(")", function))
        result = arithmetic.call(function, arguments)
        if function.lists:
            sizes = [len(argument) for argument in arguments if isinstance(argument, list)]
            self.listed += sum(sizes)
            self.counts.append(f"{name} got {counted(sizes[0], 'pair' if len(sizes) == 2 else 'number')}")
        self.rounding = None
        if name == "round" and len(arguments) == 2:
            x, decimals = (arithmetic.number(argument, name) for argument in arguments)
            self.rounding = (int(decimals), x)
        return result

    def items(self, closing: str, function: Function | None = None) -> list[Item]:
        """Read expressions separated by commas up to `closing`: a list, or the arguments of `function`."""
        items: list[Item] = []
        before = 0
        while self.next != closing:
            before = len(self.literals)
            items.append(self.expression(0))
            if self.next != ",":
                break
            self.take()
        self.close(closing)
        if function and function.setting and len(items) >= function.parameters:
            del self.literals[before:]
        return items

    def close(self, closing: str) -> None:
        if self.next != closing:
            refuse(f"{self.here()}: {closing!r} is missing before it")
        self.take()

    @property
    def next(self) -> str:
        return self.tokens[self.position].kind

    def take(self) -> Token:
        self.position += 1
        return self.tokens[self.position - 1]

    def here(self) -> str:
        token = self.tokens[self.position]
        if token.kind == "end":
            return "the expression ends too early"
        return f"unexpected {token.text[:40]!r} at character {token.start}"


def _function(name: str) -> Function:
    if name not in FUNCTIONS:
        nearest = get_close_matches(name[:40].lower(), FUNCTIONS, n=1)
        hint = f"did you mean {nearest[0]}? " if nearest else ""
        refuse(f"unknown name {name[:40]}: {hint}The functions are {', '.join(FUNCTIONS)}")
    return FUNCTIONS[name]
