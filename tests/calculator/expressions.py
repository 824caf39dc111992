"""What an expression gives: its value, or the message of its refusal; and how its properties are tested."""

from __future__ import annotations

import pytest
from hypothesis import settings

from pipeline.calculator import evaluate
from pipeline.errors import InvalidOperation

# The same examples in every run, and no clock: a failure is no chance.
steady = settings(derandomize=True, deadline=None)


def value(expression: str) -> float | int | bool:
    return evaluate(expression).value


def message(expression: str) -> str:
    with pytest.raises(InvalidOperation) as refused:
        evaluate(expression)
    assert refused.value.code == "expression_error"
    return refused.value.message
