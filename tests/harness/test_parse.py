"""From text to one operation: contract 2.1, 2.6 and 8. `responses/` holds what models really send."""

from __future__ import annotations

import json
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import pipeline.harness.parse
from pipeline.errors import InvalidOperation
from pipeline.harness.parse import MAX_DEPTH, parse, without_thinking
from tests.counting import lines

MAY = '{"operation": {"name": "search", "query": "May"}}'
JUNE = '{"operation": {"name": "search", "query": "June"}}'
RESPONSES = Path(__file__).parent / "responses"
CASES = [
    pytest.param(case, id=f"{path.stem}: {case['name']}")
    for path in sorted(RESPONSES.glob("*.yaml"))
    for case in yaml.safe_load(path.read_text("utf-8"))
]
HOSTILE = [
    *("{", "}", "[", "]", "{}", "[]", "[{}]", "{[", '"', '"{', '"{}', "\\", '\\"', '"\\', "{ ", "{1}"),
    *('{"', '{"a":', '{"a":{', '{"a":[1,', '{"a":1}', '{"a":x}', '{"":"', '":{', '{"b":1},'),
    *(
        '{"operation":',
        '{"operation":{',
        '{"operation":x}',
        '{"operation":{}}',
        "{'operation':",
        "{operation",
    ),
    *("<think>", "</think>", "<think></think>", '{"a":"</think>"}', f"{MAY}</think>", f"<think>{MAY}"),
    *(
        "prose of some words ",
        "é😀",
        "\0",
        "\n",
        "0",
        "1,",
        "{" + " " * 50,
        '{"a" ' + " " * 50,
        MAY,
        "\\u00e9",
    ),
]

MEGABYTES = [
    *("{", '"', "\\", "prose of some words ", '{"', '{"a":', '{"a":{"', '{"operation":x}', "{operation", MAY),
    *("<think>", "</think>", "<think></think>", '{"a":"</think>"}', "{" + " " * 50, '{"a" ' + " " * 50),
]


def code(text: str) -> str:
    with pytest.raises(InvalidOperation) as refused:
        parse(text)
    return refused.value.code


def query(text: str) -> str:
    found: str = parse(text)["operation"]["query"]
    return found


@pytest.mark.parametrize("case", CASES)
def test_2_6_a_reply_is_read_as_specified_or_refused_with_a_reason(case: dict[str, Any]) -> None:
    repeat = case.get("repeat")
    reply = case.get("reply") or ""
    if repeat:
        reply = repeat["before"] + repeat["unit"] * repeat["size"] + repeat["after"]
    if "operation" in case:
        assert parse(reply)["operation"] == case["operation"]
        return
    with pytest.raises(InvalidOperation) as refused:
        parse(reply)
    assert refused.value.code == case["error"]
    assert case["says"] in refused.value.message
    assert len(refused.value.message) < 400


@pytest.mark.parametrize(
    "text",
    [
        f'{{not json}} and {{}} and {{"a": 1}} {MAY}',
        f'He said "{{" and {{"broken: {MAY}',
        '\\{"x" ' + MAY,
        f"<think>{JUNE}</think>\n<think>{{</think> {MAY}",
        f"<think>a <think>b</think> {JUNE} </think>{MAY}",
    ],
)
def test_2_6_text_around_the_operation_is_tolerated(text: str) -> None:
    assert query(text) == "May"


@pytest.mark.parametrize("text", [f"{MAY}\n{JUNE}", f"[{MAY}, {JUNE}]", f"```\n{MAY}\n```\n```\n{JUNE}\n```"])
def test_2_1_several_operations_are_refused(text: str) -> None:
    assert code(text) == "multiple_operations"


def test_2_6_operations_that_differ_only_in_a_type_are_not_identical() -> None:
    assert code('{"operation": {"top_k": 1}} {"operation": {"top_k": true}}') == "multiple_operations"


@pytest.mark.parametrize(
    "whole", [MAY, json.dumps({"thought": 'a "b" \\', **json.loads(JUNE), "n": [1.5, None]})]
)
def test_2_6_a_reply_cut_off_anywhere_is_malformed(whole: str) -> None:
    for end in range(len(whole)):
        assert code(whole[:end]) == "malformed_response", whole[:end]


@pytest.mark.parametrize("levels", [MAX_DEPTH, MAX_DEPTH + 1])
def test_2_6_nesting_is_read_to_a_fixed_depth_whatever_the_stack(levels: int) -> None:
    text = '{"operation": {"x": ' + "[" * (levels - 2) + "]" * (levels - 2) + "}}"
    if levels == MAX_DEPTH:
        assert "x" in parse(text)["operation"]
    else:
        assert code(text) == "malformed_response"


@pytest.mark.parametrize("closed", [0, 1, 50_000, 100_000])
def test_2_6_the_deepest_nesting_is_refused_like_any(closed: int) -> None:
    assert code('{"operation":' * 100_000 + "1" + "}" * closed) == "malformed_response"


def test_8_a_number_keeps_its_digits() -> None:
    assert parse('{"operation": {"answer": 10.50}}')["operation"]["answer"].literal == "10.50"


@pytest.mark.parametrize("unit", HOSTILE)
def test_2_6_the_work_on_a_reply_is_linear_in_its_length(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work: lines run in the parser, and characters handed to the JSON decoder."""
    decoder, decoded = pipeline.harness.parse._DECODER, 0

    class Counting:
        def decode(self, text: str) -> Any:
            nonlocal decoded
            decoded += len(text)
            return decoder.decode(text)

    def read(text: str) -> None:
        with suppress(InvalidOperation):
            parse(text)

    monkeypatch.setattr(pipeline.harness.parse, "_DECODER", Counting())
    amounts = []
    for length in (1_500, 6_000):
        decoded = 0
        ran = lines(partial(read, unit * (length // len(unit))), pipeline.harness.parse)
        amounts.append(ran + decoded)
    assert amounts[1] <= 4.2 * amounts[0] + 500
    assert amounts[1] <= 25 * 6_000


@pytest.mark.parametrize("unit", MEGABYTES)
def test_2_6_a_megabyte_of_anything_is_read_or_refused(unit: str) -> None:
    """And soon: a quadratic step, in a regular expression say, would take longer than a test may."""
    with suppress(InvalidOperation):
        assert query(unit * (1_000_000 // len(unit))) == "May"


@pytest.mark.parametrize(
    "content", ["x", "é", "{", "}", "\\n", '\\"', "\\\\", "\\u00e9", "\n", "</think>", "[{"]
)
def test_2_6_a_megabyte_in_one_string_is_read(content: str) -> None:
    text = content * (1_000_000 // len(content))
    assert query(f'{{"operation": {{"query": "{text}"}}}}') == json.loads(f'"{text}"', strict=False)


PIECES = [
    MAY,
    JUNE,
    "<think>",
    "</think>",
    "{",
    "}",
    "[",
    "]",
    '"',
    "\\",
    ":",
    ",",
    "operation",
    "a",
    " ",
    "\0",
    "\ud800",
]


@given(
    st.lists(st.sampled_from(PIECES), max_size=20).map("".join)
    | st.text(alphabet='{}[]"\\:, aoperatinth1<>/k\n', max_size=200)
    | st.text(st.characters(), max_size=200)
)
def test_2_6_no_text_raises_anything_but_a_refusal(text: str) -> None:
    try:
        assert isinstance(parse(text)["operation"], dict)
    except InvalidOperation as refused:
        assert refused.code in ("malformed_response", "multiple_operations")
        assert refused.message


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text('abo\\"{ ', max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)
PROSE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="{}<"), max_size=60)


@given(PROSE, st.dictionaries(st.text('ab<>/{"', max_size=9), JSON, max_size=4), st.booleans(), PROSE)
def test_2_6_an_operation_is_found_in_any_prose_without_braces(
    before: str, operation: dict[str, Any], ascii: bool, after: str
) -> None:
    sent = {"thought": "</think> or <think>", "operation": operation}
    assert parse(before + json.dumps(sent, ensure_ascii=ascii) + after) == sent


@given(PROSE, JSON, PROSE)
def test_2_6_thinking_is_removed_and_what_quotes_it_is_kept(thinking: str, quoted: Any, after: str) -> None:
    kept = json.dumps({"a": [quoted, "</think>"]}) + after
    assert without_thinking(f"<think>{thinking}</think>{kept}") == kept
    assert without_thinking(f"{thinking}</think>{kept}") == kept


@given(st.text(alphabet='{}"\\ab:,[', max_size=60), st.text(alphabet='}"\\ab:,]', max_size=60))
def test_2_6_an_operation_on_its_own_line_is_found_among_unquoted_noise(before: str, after: str) -> None:
    noise = before.replace('"', "'")
    assert query(f"{noise}\n{MAY}\n{after}") == "May"
