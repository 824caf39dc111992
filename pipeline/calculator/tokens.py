"""The calculator's tokens: an expression cut into numbers, names and operators (contract 3.19)."""

from __future__ import annotations

import re
from typing import NamedTuple, NoReturn

from pipeline.errors import InvalidOperation

LANGUAGE = "an expression has numbers, + - * / // % **, comparisons, [lists] and functions"
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<operator>\*\*|//|<=|>=|==|!=|[-+*/%<>(),\[\]])|(?P<end>\Z)|(?P<other>.))",
    re.DOTALL,
)
_CURRENCY = "leave currency signs out"
_MINUS = "write - for minus"
_STRINGS = "there are no strings"
_ADVICE = {
    "^": "write ** for a power",
    "$": _CURRENCY,
    "€": _CURRENCY,
    "£": _CURRENCY,
    "¥": _CURRENCY,
    "−": _MINUS,
    "–": _MINUS,
    "×": "write * for times",
    "÷": "write / for a division",
    "=": "write == to compare; there are no variables",
    '"': _STRINGS,
    "'": _STRINGS,
    ";": "write one expression",
}


class Token(NamedTuple):
    """A piece of the expression, from character `start`."""

    kind: str  # "number", "name", "end", or the operator itself
    text: str
    start: int


def refuse(message: str) -> NoReturn:
    """Raise `InvalidOperation("expression_error", message)`."""
    raise InvalidOperation("expression_error", message)


def tokenize(expression: str) -> list[Token]:
    """Cut `expression` into tokens, the last of which is the end. Raises `InvalidOperation`."""
    tokens: list[Token] = []
    for match in _TOKEN.finditer(expression):
        kind = match.lastgroup or "other"
        text, start = match[kind], match.start(kind)
        if kind == "other":
            refuse(f"unexpected {text!r} at character {start}: {_ADVICE.get(text, LANGUAGE)}")
        if kind == "name" and tokens and tokens[-1].kind == "number" and match.start() == start:
            refuse(f"{tokens[-1].text + text:.40} is not a number: write it without unit or suffix")
        tokens.append(Token(text if kind == "operator" else kind, text, start))
        if kind == "end":
            break
    return tokens
