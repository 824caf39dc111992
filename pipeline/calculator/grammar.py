"""The calculator's grammar: text to tokens, tokens to a flat program for a stack (contract 3.19).

It is not Python's, because `ast.parse` fails at a depth that depends on the caller's stack and on the Python
version: a replay in another process could then differ (contract 1.1). Here a chain of operands is a loop, and
nesting is bounded by a count.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import NamedTuple, NoReturn

from pipeline.calculator.functions import FUNCTIONS, Function
from pipeline.errors import InvalidOperation

MAX_DEPTH = 64


def refuse(message: str) -> NoReturn:
    """Raise `InvalidOperation("expression_error", message)`."""
    raise InvalidOperation("expression_error", message)


class Token(NamedTuple):
    """A piece of the expression, from character `start`."""

    kind: str  # "number", "name", "end", or the operator itself
    text: str
    start: int


_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<operator>\*\*|//|<=|>=|==|!=|[-+*/%<>(),\[\]])|(?P<end>\Z)|(?P<other>.))",
    re.DOTALL,
)
_LANGUAGE = "an expression has numbers, + - * / // % **, comparisons, [lists] and functions"
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


def tokenize(expression: str) -> list[Token]:
    """Cut `expression` into tokens, the last of which is the end. Raises `InvalidOperation`."""
    tokens: list[Token] = []
    for match in _TOKEN.finditer(expression):
        kind, text = match.lastgroup or "other", match[match.lastgroup or "other"]
        start = match.start(kind)
        if kind == "other":
            refuse(f"unexpected {text!r} at character {start}: {_ADVICE.get(text, _LANGUAGE)}")
        if kind == "name" and tokens and tokens[-1].kind == "number" and _end(tokens[-1]) == start:
            refuse(f"{tokens[-1].text + text:.40} is not a number: write it without unit or suffix")
        tokens.append(Token(text if kind == "operator" else kind, text, start))
        if kind == "end":
            break
    return tokens


def _end(token: Token) -> int:
    return token.start + len(token.text)


COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_BINDING = {**dict.fromkeys(COMPARISONS, 1), "+": 2, "-": 2, "*": 3, "/": 3, "//": 3, "%": 3, "**": 5}
_SIGN_BINDING = 4


class Step(NamedTuple):
    """One instruction: push the number `name`, or take `taken` items off the stack and push what it gives."""

    action: str  # "push", "negate", "keep", "operate", "compare", "list" or "call"
    name: str
    taken: int = 0


def parse(tokens: Sequence[Token]) -> tuple[list[Step], list[str]]:
    """Return the program of a whole expression, and its literals as `Value.literals` has them.

    Raises `InvalidOperation`.
    """
    parser = _Parser(tokens)
    return parser.program(), parser.literals


class _Parser:
    """A precedence-climbing parser, with Python's precedences. Only nesting recurses."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.tokens = tokens
        self.position = 0
        self.depth = 0
        self.steps: list[Step] = []
        self.literals: list[str] = []

    @property
    def token(self) -> Token:
        return self.tokens[self.position]

    def take(self) -> Token:
        token = self.token
        self.position += 1
        return token

    def program(self) -> list[Step]:
        if self.token.kind == "end":
            refuse(f"the expression is empty: {_LANGUAGE}")
        self.expression(0)
        if self.token.kind == ",":
            refuse("a comma stands between operands: write 1234 for 1,234, one expression a compute")
        if self.token.kind != "end":
            refuse(f"{self._here()}: an operator is missing before it")
        return self.steps

    def expression(self, floor: int) -> None:
        """Parse operands joined by operators that bind more tightly than `floor`."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            refuse(f"nested more than {MAX_DEPTH} levels deep: compute the parts on their own first")
        self.operand()
        while (binding := _BINDING.get(self.token.kind, 0)) > floor:
            if self.token.kind in COMPARISONS:
                self.comparison(binding)
                continue
            symbol = self.take().kind
            known = len(self.literals)
            # Powers bind to the right: 2 ** 3 ** 2 is 2 ** 9.
            self.expression(binding - 1 if symbol == "**" else binding)
            if symbol == "**":
                del self.literals[known:]
            self.steps.append(Step("operate", symbol, 2))
        self.depth -= 1

    def comparison(self, binding: int) -> None:
        """Parse the rest of `a < b <= c`, which holds if each neighbouring pair does."""
        symbols = []
        while self.token.kind in COMPARISONS:
            symbols.append(self.take().kind)
            self.expression(binding)
        self.steps.append(Step("compare", " ".join(symbols), len(symbols) + 1))

    def operand(self) -> None:
        token = self.take()
        if token.kind == "number":
            self.steps.append(Step("push", token.text))
            self.literals.append(token.text)
        elif token.kind == "name":
            self.call(token.text)
        elif token.kind in ("-", "+"):
            first = self.position
            self.expression(_SIGN_BINDING)
            if token.kind == "-" and self.position == first + 1:
                self.literals[-1] = f"-{self.literals[-1]}"
            self.steps.append(Step("negate" if token.kind == "-" else "keep", "a sign", 1))
        elif token.kind == "(":
            self.expression(0)
            self.close(")")
        elif token.kind == "[":
            self.steps.append(Step("list", "a list", self.items("]")))
        else:
            self.position -= 1
            refuse(f"{self._here()}: a number or function is missing before it{self._percent_advice()}")

    def call(self, name: str) -> None:
        if name not in FUNCTIONS:
            nearest = get_close_matches(name[:40].lower(), FUNCTIONS, n=1)
            hint = f"did you mean {nearest[0]}? " if nearest else ""
            refuse(f"unknown name {name[:40]}: {hint}The functions are {', '.join(FUNCTIONS)}")
        if self.token.kind != "(":
            refuse(f"{name} is a function: write {FUNCTIONS[name].signature}")
        self.take()
        self.steps.append(Step("call", name, self.items(")", FUNCTIONS[name])))

    def items(self, closing: str, function: Function | None = None) -> int:
        """Parse expressions separated by commas up to `closing`; return how many there are."""
        count = known = 0
        while self.token.kind != closing:
            known = len(self.literals)
            self.expression(0)
            count += 1
            if self.token.kind != ",":
                break
            self.take()
        self.close(closing)
        if function and function.setting and count >= function.parameters:
            del self.literals[known:]
        return count

    def close(self, closing: str) -> None:
        if self.token.kind != closing:
            refuse(f"{self._here()}: {closing!r} is missing before it")
        self.take()

    def _here(self) -> str:
        token = self.token
        if token.kind == "end":
            return "the expression ends too early"
        return f"unexpected {token.text[:40]!r} at character {token.start}"

    def _percent_advice(self) -> str:
        before = self.tokens[self.position - 1].kind if self.position else ""
        return "; % is the remainder of a division: write 5/100 for 5%" if before == "%" else ""
