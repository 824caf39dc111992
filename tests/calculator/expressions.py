"""What an expression gives: its value, or the message of its refusal."""

from __future__ import annotations

import pytest

from pipeline.calculator import evaluate
from pipeline.errors import InvalidOperation


def value(expression: str) -> float | int | bool:
    return evaluate(expression).value


def message(expression: str) -> str:
    with pytest.raises(InvalidOperation) as refused:
        evaluate(expression)
    assert refused.value.code == "expression_error"
    return refused.value.message
