"""From text to one operation: contract 2.1, 2.6 and 8."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import InvalidOperation
from pipeline.harness.parse import MAX_DEPTH, parse, without_thinking

MAY = '{"operation": {"name": "search", "query": "May"}}'
JUNE = '{"operation": {"name": "search", "query": "June"}}'


def code(text: str) -> str:
    with pytest.raises(InvalidOperation) as refused:
        parse(text)
    return refused.value.code


def query(text: str) -> str:
    found: str = parse(text)["operation"]["query"]
    return found


@pytest.mark.parametrize(
    "text",
    [
        MAY,
        f"Let me see.\n```json\n{MAY}\n```\nDone.",
        f'{{not json}} and {{}} and {{"a": 1}} {MAY}',
        f"[{MAY}]",
        f"{MAY}\n\nso: {MAY.replace(': ', ':')}",
        f'He said "{{" and {{"broken: {MAY}',
        '\\{"x" ' + MAY,
        f"<think>draft {JUNE}</think>{MAY}",
        f"<think>{JUNE}</think>\n<think>{{</think> {MAY}",
        f"lead-in {JUNE} </think> {MAY}",
        f"<think>a <think>b</think> {JUNE} </think>{MAY}",
    ],
)
def test_2_6_text_around_the_operation_is_tolerated(text: str) -> None:
    assert query(text) == "May"


def test_2_6_an_operation_inside_a_string_or_another_object_does_not_count() -> None:
    quoted = json.dumps({"operation": {"name": "search", "query": JUNE}})
    assert query(quoted) == JUNE
    assert code(json.dumps({"plan": json.loads(MAY)})) == "malformed_response"


@pytest.mark.parametrize("text", [f"{MAY}\n{JUNE}", f"[{MAY}, {JUNE}]", f"```\n{MAY}\n```\n```\n{JUNE}\n```"])
def test_2_1_several_operations_are_refused(text: str) -> None:
    assert code(text) == "multiple_operations"


def test_2_6_operations_that_differ_only_in_a_type_are_not_identical() -> None:
    assert code('{"operation": {"top_k": 1}} {"operation": {"top_k": true}}') == "multiple_operations"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no JSON object"),
        ("I am not sure.", "no JSON object"),
        ("[1, 2", "no JSON object"),
        ('{"name": "search", "query": "May"}', "wrap the operation"),
        ('{"operation": "search"}', "operation must be an object"),
        ('{"operation": [1]}', "operation must be an object"),
        ('{"operation": null}', "operation must be an object"),
        ('{"operation": {"name": "search" "query": "x"}}', "Expecting ',' delimiter"),
        ('{"operation": {"name": "search", "query": "x"}', "ends too early"),
        ('{"operation": {"name": "search", "query": "a\nb"}}', "Invalid control character"),
        ('{"operation": {"name": "search", "query": "x"]}', "closes nothing"),
        ('{"operation": {"value": NaN}}', "unexpected character 24"),
        ('{"operation": {"value": ' + "1" * 400 + "}}", "more than 300 digits"),
        ('{"operation": {"query": "\\ud800"}}', "surrogate"),
        ('{"operation": ' * (MAX_DEPTH + 1) + "1" + "}" * (MAX_DEPTH + 1), "deep"),
    ],
)
def test_2_6_a_reply_without_an_operation_is_malformed_and_told_why(text: str, said: str) -> None:
    with pytest.raises(InvalidOperation, match=said) as refused:
        parse(text)
    assert refused.value.code == "malformed_response"


@pytest.mark.parametrize(
    "unit",
    [
        '{"a":',
        '{"',
        '"\\',
        "<think>",
        "</think>",
        '{"operation":{',
        "[{}]",
        '{"a":[1,',
        '{"b":1},',
        "{" + " " * 50,
        "\\",
    ],
)
def test_2_6_a_megabyte_of_anything_is_read_in_linear_time(unit: str) -> None:
    started = time.process_time()
    with pytest.raises(InvalidOperation):
        parse(unit * (1_000_000 // len(unit)))
    assert time.process_time() - started < 10


@given(st.text(alphabet='{}[]"\\:, aoperatinth1<>/k\n', max_size=200) | st.text(max_size=200))
def test_2_6_no_text_raises_anything_but_a_refusal(text: str) -> None:
    try:
        assert isinstance(parse(text)["operation"], dict)
    except InvalidOperation as refused:
        assert refused.code in ("malformed_response", "multiple_operations")
    assert "</think>" not in without_thinking(text)


@given(st.text(alphabet='{}"\\ab:,[', max_size=60), st.text(alphabet='}"\\ab:,]', max_size=60))
def test_2_6_an_operation_on_its_own_line_is_found_among_unquoted_noise(before: str, after: str) -> None:
    noise = before.replace('"', "'")
    assert query(f"{noise}\n{MAY}\n{after}") == "May"
