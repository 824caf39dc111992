"""Contract 3.19: hostile input neither hangs, nor allocates, nor escapes; nor does any other text.

`hostile.json` names each expression by what it tries. An expression is a text, or a list of parts, each
of which is a text or [text, times].
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.calculator import FUNCTIONS, evaluate
from pipeline.errors import InvalidOperation
from tests.calculator.expressions import message, value

ROOT = Path(__file__).resolve().parents[2]
CASES = json.loads((Path(__file__).parent / "hostile.json").read_text("utf-8"))
Outcomes = dict[str, str]


def written(parts: Any) -> str:
    if isinstance(parts, str):
        return parts
    return "".join(part if isinstance(part, str) else part[0] * part[1] for part in parts)


@pytest.fixture(scope="module")
def outcomes() -> Outcomes:
    """What became of each expression in a process that has a second of CPU time and 100 MB of memory."""
    named = {**CASES["refused"], **CASES["evaluated"]}
    ran = subprocess.run(
        [sys.executable, "-m", "tests.calculator.confined"],
        input=json.dumps([written(parts) for parts in named.values()]),
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert ran.returncode == 0, ran.stderr
    return dict(zip(named, json.loads(ran.stdout), strict=True))


@pytest.mark.parametrize("name", CASES["refused"])
def test_3_19_hostile_input_is_refused_within_a_second_and_100_mb(outcomes: Outcomes, name: str) -> None:
    assert outcomes[name].startswith("refused: ")
    assert len(outcomes[name]) < 1_000


@pytest.mark.parametrize("name", CASES["evaluated"])
def test_3_19_heavy_input_has_a_finite_value_within_a_second_and_100_mb(
    outcomes: Outcomes, name: str
) -> None:
    assert outcomes[name] in ("true", "false") or math.isfinite(
        float(outcomes[name].split(" (unrounded ")[0])
    )


@pytest.mark.parametrize(
    ("does", "outcome"),
    [
        ("[0] * 10**9", "raised MemoryError"),
        ("while True: pass", "killed by SIGXCPU"),
        ("import colorsys", "did import"),
        ("eval('1')", "did compile"),
        ("open('/dev/null')", "did open"),
        ("1 / 0", "raised ZeroDivisionError"),
    ],
)
def test_the_confinement_itself_notices(does: str, outcome: str) -> None:
    """A calculator that ran Python would be caught at each of these."""
    script = f"from tests.calculator import confined\ndef evaluate(expression):\n    {does}\n"
    caught = subprocess.run(
        [sys.executable, "-c", f"{script}\nconfined.evaluate = evaluate\nprint(confined.outcome(''))"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    assert caught.stdout.startswith(outcome)


@pytest.mark.parametrize("operands", [1_000, 10_000])
def test_3_19_a_flat_chain_is_no_depth(operands: int) -> None:
    result = evaluate("+".join("1" * operands))
    assert (result.value, result.operands) == (operands, operands)


@pytest.mark.parametrize("opening", ["(", "sum("])
def test_1_1_nesting_is_bounded_by_a_count_and_not_by_the_callers_stack(opening: str) -> None:
    def nested(levels: int) -> str:
        return opening * levels + "1" + ")" * levels

    def deep(frames: int) -> float:
        return deep(frames - 1) if frames else value(nested(63))

    assert deep(sys.getrecursionlimit() // 2) == 1
    assert "64 levels" in message(nested(64))


@given(st.text(alphabet="0123456789+-*/%<>=!.,()[] eE" + "sumroundabs", max_size=60) | st.text(max_size=60))
def test_3_19_any_text_gives_a_finite_value_or_an_expression_error(text: str) -> None:
    _has_a_value_or_is_refused(text)


OPERATORS = ("+", "-", "*", "/", "//", "%", "**", "<", "==", "!=")
_NUMBERS = (
    st.floats(0, allow_infinity=False).map(repr)
    | st.integers(0, 10**320).map(str)
    | st.integers(0, 9).map(str)
)
_EXPRESSIONS = st.recursive(
    _NUMBERS,
    lambda part: (
        st.builds("({} {} {})".format, part, st.sampled_from(OPERATORS), part)
        | st.builds("-{}".format, part)
        | st.lists(part, max_size=5).map(lambda items: f"[{', '.join(items)}]")
        | st.builds(
            "{}({})".format, st.sampled_from(sorted(FUNCTIONS)), st.lists(part, max_size=4).map(", ".join)
        )
    ),
    max_leaves=20,
)


@given(_EXPRESSIONS)
def test_3_19_any_expression_gives_a_finite_value_or_an_expression_error(expression: str) -> None:
    _has_a_value_or_is_refused(expression)


def _has_a_value_or_is_refused(text: str) -> None:
    try:
        result = evaluate(text)
    except InvalidOperation as refused:
        assert refused.code == "expression_error"
        assert "math domain" not in refused.message
    else:
        assert math.isfinite(result.value)
        assert json.loads(json.dumps(result.value)) == result.value
        assert all(literal in text.replace("- ", "-") for literal in result.literals)
