"""Names, fields and types, and the schema that says the same: contract 2.2 and 8."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from pipeline.errors import InvalidOperation
from pipeline.harness.config import SwitchesConfig
from pipeline.harness.forms import read_response
from pipeline.harness.schema import narrowed, response_schema
from tests.harness.conftest import compute, final, op, read, revise, search, upsert
from tests.variants import VARIANTS

FULL = VARIANTS["full"]


def refusal(response: dict[str, Any], switches: SwitchesConfig = FULL) -> InvalidOperation:
    with pytest.raises(InvalidOperation) as refused:
        read_response(response, switches)
    return refused.value


@pytest.mark.parametrize(
    ("operation", "code", "said"),
    [
        ({"query": "x"}, "invalid_arguments", "has no name"),
        ({"name": 7}, "invalid_arguments", "mistyped name, 7"),
        ({"name": None}, "invalid_arguments", "mistyped name"),
        ({"name": "serch", "query": "x"}, "unknown_operation", "did you mean search?"),
        ({"name": "browse"}, "unknown_operation", "there are search, read, evidence, compute, final"),
        ({"name": "search"}, "invalid_arguments", "query is missing"),
        (
            {"name": "search", "query": "x", "depth": 3},
            "invalid_arguments",
            "the allowed fields are name, query, documents, top_k, order",
        ),
        ({"name": "search", "query": 7}, "invalid_arguments", "query should be a valid string, and is 7"),
        ({"name": "search", "query": ""}, "invalid_arguments", "query"),
        ({"name": "search", "query": " \n"}, "invalid_arguments", "must not be blank"),
        (
            {"name": "search", "query": "x", "top_k": 0},
            "invalid_arguments",
            "greater than or equal to 1, and is 0",
        ),
        ({"name": "search", "query": "x", "top_k": 51}, "invalid_arguments", "less than or equal to 50"),
        ({"name": "search", "query": "x", "top_k": True}, "invalid_arguments", "top_k"),
        ({"name": "search", "query": "x", "top_k": 2.5}, "invalid_arguments", "top_k"),
        (
            {"name": "search", "query": "x", "documents": "a.txt"},
            "invalid_arguments",
            "should be a valid list",
        ),
        ({"name": "search", "query": "x", "order": "date"}, "invalid_arguments", "'score' or 'document'"),
        ({"name": "read", "locations": []}, "invalid_arguments", "at least 1 item"),
        ({"name": "read", "locations": [{}]}, "invalid_arguments", "locations[0].document is missing"),
        (
            {"name": "read", "locations": [{"passage": "a#1", "start": 3}]},
            "invalid_arguments",
            "locations[0].start is an unknown field (3); the allowed fields are passage;",
        ),
        (
            {"name": "read", "locations": [{"document": "a", "stop": 3}]},
            "invalid_arguments",
            "the allowed fields are document, start, end",
        ),
        (
            {"name": "read", "locations": [{"document": "a", "start": "0"}]},
            "invalid_arguments",
            "locations[0].start",
        ),
        ({"name": "read", "locations": ["a#1"]}, "invalid_arguments", "locations[0]"),
        ({"name": "evidence"}, "invalid_arguments", "exactly one of upsert and revise, and got neither"),
        ({"name": "evidence", "upsert": None, "revise": None}, "invalid_arguments", "neither"),
        ({"name": "evidence", "upsert": [], "revise": {}}, "invalid_arguments", "got upsert and revise"),
        ({"name": "evidence", "upsert": []}, "invalid_arguments", "at least 1 item"),
        ({"name": "evidence", "upsert": {}}, "invalid_arguments", "should be a valid list"),
        ({"name": "evidence", "revise": {"id": "e1"}}, "invalid_arguments", "revise.replacement is missing"),
        ({"name": "evidence", "revise": [{"id": "e1", "replacement": None}]}, "invalid_arguments", "revise"),
        (
            {
                "name": "evidence",
                "revise": {"id": "e1", "replacement": {"statement": " ", "sources": ["s1"]}},
            },
            "invalid_arguments",
            "must not be blank",
        ),
        ({"name": "compute", "expression": "1"}, "invalid_arguments", "evidence is missing"),
        ({"name": "compute", "expression": "1", "evidence": "e1"}, "invalid_arguments", "valid list"),
        (
            {
                "name": "compute",
                "expression": "1",
                "evidence": ["e1"],
                "constants": [{"value": "1", "why": "x"}],
            },
            "invalid_arguments",
            "constants[0].value",
        ),
        ({"name": "final", "answer": True, "evidence": ["e1"]}, "invalid_arguments", "answer"),
        ({"name": "final", "answer": None, "evidence": ["e1"]}, "invalid_arguments", "answer"),
        (
            {"name": "final", "answer": "x", "evidence": ["e1"], "sources": ["s1"]},
            "invalid_arguments",
            "the allowed fields are name, answer, evidence, computes",
        ),
    ],
)
def test_2_2_a_fault_in_the_form_names_rule_value_and_remedy(
    operation: dict[str, Any], code: str, said: str
) -> None:
    refused = refusal({"operation": operation})
    assert refused.code == code
    assert said in refused.message
    assert "send" in refused.message or "there are" in refused.message or "give one of" in refused.message


def test_2_2_an_error_repeats_no_more_than_the_start_of_what_was_sent() -> None:
    endless = "z" * 1_000_000
    for sent in ({**search(), endless: 1}, search(**{endless: 1}), search(top_k=endless), op(endless)):
        assert len(refusal(sent).message) < 500


@pytest.mark.parametrize("beside", [{"reason": "x"}, {"thought": 7}, {"notes": "x"}, {"Thought": "x"}])
def test_8_an_unknown_or_mistyped_field_beside_the_operation_is_an_error(beside: dict[str, Any]) -> None:
    assert refusal({**search(), **beside}).code == "invalid_arguments"


def test_2_2_checks_run_in_the_contracts_order() -> None:
    no_state = VARIANTS["no_state"]
    assert refusal({"operation": {"name": "browse"}, "reason": "x"}).code == "unknown_operation"
    assert refusal(upsert("a", conclusion={}), no_state).code == "invalid_arguments"  # before availability
    assert refusal(op("evidence", upsert=[]), no_state).code == "invalid_arguments"
    assert refusal(upsert("a"), no_state).code == "operation_not_available"


def test_8_null_in_an_optional_field_means_absent() -> None:
    sent = read_response(
        {**search(documents=None, top_k=None, order=None), "thought": None, "conclusion": None}, FULL
    )
    assert sent == read_response(search(), FULL)
    assert read_response(op("evidence", upsert=None, revise={"id": "e1", "replacement": None}), FULL) == (
        read_response(revise("e1"), FULL)
    )


@pytest.mark.parametrize(
    ("literal", "answer"), [("42", "42"), ("10.50", "10.50"), ("-0.0", "-0.0"), ("1e3", "1e3"), ('"x"', "x")]
)
def test_3_21_a_number_as_answer_is_taken_as_text_digit_for_digit(literal: str, answer: str) -> None:
    from pipeline.harness.parse import parse

    text = f'{{"operation": {{"name": "final", "answer": {literal}, "evidence": ["e1"]}}}}'
    assert read_response(parse(text), FULL).operation.answer == answer  # type: ignore[union-attr]


# --- The schema


SCHEMA = response_schema(FULL)


@pytest.mark.parametrize(
    "tolerated",
    [
        final(42),
        search(order=None),
        search(conclusion=None),
        search(conclusion={"hypotheses": ["bare"]}),
        read({"document": "a", "start": -1}),
        read({"document": "a", "end": 10**9}),
    ],
)
def test_8_a_model_is_not_asked_for_what_is_only_tolerated(tolerated: dict[str, Any]) -> None:
    assert Draft202012Validator(SCHEMA).is_valid(tolerated)
    assert not Draft202012Validator(narrowed(SCHEMA)).is_valid(tolerated)


@pytest.mark.parametrize("caps", [(None, None), (40, 8)])
@pytest.mark.parametrize("name", VARIANTS)
def test_8_the_schema_keeps_to_constructs_that_decoders_take(
    name: str, caps: tuple[int | None, int | None]
) -> None:
    schema = narrowed(response_schema(VARIANTS[name]), *caps)
    text = json.dumps(schema)
    for construct in ("$ref", "oneOf", "allOf", "pattern", "title", "default", "examples"):
        assert f'"{construct}"' not in text
    assert text.count('"type": "object"') == text.count('"additionalProperties": false')
    assert next(iter(schema["properties"])) == "thought"
    assert pytest.importorskip("xllamacpp").json_schema_to_grammar(text)


@pytest.mark.parametrize(
    ("kind", "bound", "caps"), [("string", "maxLength", (40, None)), ("array", "maxItems", (None, 40))]
)
def test_8_caps_hold_for_every_free_string_and_every_list(
    kind: str, bound: str, caps: tuple[int | None, int | None]
) -> None:
    def nodes(node: Any) -> list[dict[str, Any]]:
        if isinstance(node, list):
            return [found for each in node for found in nodes(each)]
        if not isinstance(node, dict):
            return []
        here = [node] if node.get("type") == kind and "enum" not in node else []
        return here + [found for each in node.values() for found in nodes(each)]

    assert {found.get(bound) for found in nodes(narrowed(SCHEMA, *caps))} == {40}
    assert {found.get(bound) for found in nodes(narrowed(SCHEMA))} == {None}


@pytest.mark.parametrize(
    "response", [search(), read(), upsert("a"), revise("e1", "b"), compute("1+1"), final()]
)
def test_8_every_operation_of_the_wire_format_is_read(response: dict[str, Any]) -> None:
    assert read_response(response, FULL).operation.name == response["operation"]["name"]
