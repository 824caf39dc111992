"""Names, fields and types, and the schema that says the same: contract 2.2 and 8."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from pipeline.errors import InvalidOperation
from pipeline.harness.conclusions import read_update
from pipeline.harness.config import SwitchesConfig
from pipeline.harness.evidence import EvidenceBank
from pipeline.harness.forms import Sent, read_response, validate
from pipeline.harness.operations import ConclusionUpdate, EstablishedClaim, Statement, Upsert
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


def accepted(response: Any, switches: SwitchesConfig) -> bool:
    """Whether the parser takes a response, its update and every item of it as well formed."""
    try:
        sent = read_response(response, switches)
        if isinstance(sent.operation, Upsert):
            for item in sent.operation.upsert:
                validate(Statement, item, "item")
    except InvalidOperation:
        return False
    return _references_given(response["operation"]) and _update_fits(sent)


def _references_given(operation: Any) -> bool:
    """The schema asks for one reference at least: an empty list is refused at a later stage."""
    if isinstance(operation, list):
        return all(_references_given(each) for each in operation)
    if not isinstance(operation, dict):
        return True
    cited = [operation[key] for key in ("evidence", "sources") if key in operation]
    return [] not in cited and all(_references_given(each) for each in operation.values())


def _update_fits(sent: Sent) -> bool:
    if sent.notes is not None and not isinstance(sent.notes, str):
        return False
    if sent.conclusion is None:
        return True
    update = read_update(sent.conclusion, EvidenceBank())
    return isinstance(update, ConclusionUpdate) and all(
        isinstance(claim, EstablishedClaim) and claim.evidence for claim in update.established or ()
    )


WORDS = st.sampled_from(["May 1942", "x", "", "e1", "s1"])
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 60)
    | st.floats(allow_nan=False, allow_infinity=False).filter(lambda f: f != int(f))
    | WORDS,
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(
                [
                    "statement",
                    "sources",
                    "passage",
                    "document",
                    "start",
                    "end",
                    "claim",
                    "evidence",
                    "id",
                    "replacement",
                    "value",
                    "why",
                    "established",
                    "hypotheses",
                    "unresolved",
                ]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=6,
)
IDS = st.lists(WORDS, max_size=2)
STATEMENTS = st.fixed_dictionaries({"statement": WORDS, "sources": IDS})
CLAIMS = st.lists(
    st.fixed_dictionaries({"claim": WORDS}, optional={"evidence": IDS | st.none()}) | WORDS, max_size=2
)
UPDATES = st.fixed_dictionaries(
    {}, optional={"established": CLAIMS, "hypotheses": CLAIMS | st.none(), "unresolved": IDS}
)
LOCATIONS = st.fixed_dictionaries({"passage": WORDS}) | st.fixed_dictionaries(
    {"document": WORDS}, optional={"start": st.integers(-1, 9) | st.none(), "end": st.integers(0, 9)}
)
OPERATIONS = st.one_of(
    st.fixed_dictionaries(
        {"name": st.just("search"), "query": WORDS},
        optional={
            "documents": IDS,
            "top_k": st.integers(-1, 55) | st.none(),
            "order": st.sampled_from(["score", "document", "x"]),
        },
    ),
    st.fixed_dictionaries({"name": st.just("read"), "locations": st.lists(LOCATIONS, max_size=2)}),
    st.fixed_dictionaries({"name": st.just("evidence"), "upsert": st.lists(STATEMENTS, max_size=2)}),
    st.fixed_dictionaries(
        {
            "name": st.just("evidence"),
            "revise": st.fixed_dictionaries({"id": WORDS, "replacement": STATEMENTS | st.none()}),
        }
    ),
    st.fixed_dictionaries(
        {"name": st.just("compute"), "expression": WORDS},
        optional={
            "evidence": IDS,
            "sources": IDS,
            "constants": st.lists(
                st.fixed_dictionaries({"value": st.integers(0, 9) | st.just(1.5), "why": WORDS}), max_size=1
            ),
        },
    ),
    st.fixed_dictionaries(
        {"name": st.just("final"), "answer": WORDS | st.integers(0, 9) | st.just(2.5)},
        optional={"evidence": IDS, "sources": IDS, "computes": IDS | st.none()},
    ),
)


@st.composite
def responses(draw: st.DrawFn) -> Any:
    """Mostly well-formed responses; in some, one field is replaced, added or taken away."""
    response = draw(
        st.fixed_dictionaries(
            {"operation": OPERATIONS},
            optional={
                "thought": WORDS | st.none(),
                "conclusion": UPDATES | st.none(),
                "notes": WORDS | st.none(),
            },
        )
    )
    if draw(st.booleans()):
        where = draw(
            st.sampled_from([response, response["operation"], response.get("conclusion") or response])
        )
        where[draw(st.sampled_from([*where, "extra", "evidence", "upsert", "established"]))] = draw(VALUES)
    return response


SCHEMAS = {name: response_schema(switches) for name, switches in VARIANTS.items()}
VALIDATORS = {name: Draft202012Validator(schema) for name, schema in SCHEMAS.items()}
NARROWED = {name: Draft202012Validator(narrowed(schema)) for name, schema in SCHEMAS.items()}


@pytest.mark.parametrize("name", VARIANTS)
@settings(max_examples=150, deadline=None)
@given(response=responses())
def test_8_schema_and_parser_accept_the_same_language(name: str, response: Any) -> None:
    if not isinstance(response.get("operation"), dict):
        return  # the parser's part, which takes no such thing for an operation
    if response["operation"].get("upsert", 0) is None or response["operation"].get("revise", 0) is None:
        return  # null for the one of the two that is absent: tolerated, never asked for
    assert VALIDATORS[name].is_valid(response) == accepted(response, VARIANTS[name])


@pytest.mark.parametrize("name", VARIANTS)
@settings(max_examples=150, deadline=None)
@given(response=responses())
def test_8_a_model_is_asked_for_a_part_of_what_the_parser_takes(name: str, response: Any) -> None:
    if not NARROWED[name].is_valid(response):
        return
    assert VALIDATORS[name].is_valid(response)


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
    assert VALIDATORS["full"].is_valid(tolerated) and not NARROWED["full"].is_valid(tolerated)


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

    whole = response_schema(FULL)
    assert {found.get(bound) for found in nodes(narrowed(whole, *caps))} == {40}
    assert {found.get(bound) for found in nodes(narrowed(whole))} == {None}


@pytest.mark.parametrize(
    "response", [search(), read(), upsert("a"), revise("e1", "b"), compute("1+1"), final()]
)
def test_8_every_operation_of_the_wire_format_is_read(response: dict[str, Any]) -> None:
    assert read_response(response, FULL).operation.name == response["operation"]["name"]
