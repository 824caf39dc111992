"""Schema and parser accept the same language (contract, section 8), as text, in both directions.

Responses are generated from the schema itself, and must be read; then they are spoilt, and whether the parser
still reads one must be what the schema says. `tolerated` is all that the two may disagree in: see the
harness's README.
"""

from __future__ import annotations

import json
from copy import deepcopy
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from jsonschema.validators import extend

from pipeline.errors import InvalidOperation
from pipeline.harness.conclusions import read_update
from pipeline.harness.config import HarnessConfig, Profile, extensions
from pipeline.harness.evidence import EvidenceBank
from pipeline.harness.forms import read_response, validate
from pipeline.harness.operations import BatchRevise, ConclusionUpdate, Revision, Statement, Upsert
from pipeline.harness.parse import parse
from tests.conftest import examples
from tests.harness.conftest import op, search
from tests.harness.instances import asked_for, configuration, instances, whole_schema
from tests.variants import VARIANTS

# The extended profile adds a form, that of a batch of revisions.
CONFIGURATIONS = [*((name, Profile.paper) for name in VARIANTS), ("full", Profile.extended)]

JUNK: st.SearchStrategy[Any] = st.recursive(
    st.sampled_from([None, True, 0, 1, 51, -1, 2.5, "", " ", "x", "search", "score"]),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["id", "x"]), inner, max_size=2)
    ),
    max_leaves=4,
)


# --- The schema's side

# A grammar's integer has no fraction, 5.0 is none; to JSON Schema it is one.
Validator = extend(
    Draft202012Validator,
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine(
        "integer", lambda _, value: isinstance(value, int) and not isinstance(value, bool)
    ),
)


@cache
def validator(name: str, profile: Profile) -> Any:
    return Validator(whole_schema(configuration(name, profile)))


# --- The parser's side


def reads(text: str, config: HarnessConfig) -> bool:
    """Whether the parser reads a reply, with its update and every item of it, as well formed."""
    try:
        response = parse(text)
        sent = read_response(response, config.switches, extensions(config).batch_revise)
        operation = sent.operation
        if isinstance(operation, Upsert | BatchRevise):
            form = Statement if isinstance(operation, Upsert) else Revision
            for item in operation.upsert if isinstance(operation, Upsert) else operation.revise:
                validate(form, item, "the item")
    except InvalidOperation:
        return False
    if sent.notes is not None and not isinstance(sent.notes, str):
        return False
    update = None if sent.conclusion is None else read_update(sent.conclusion, EvidenceBank())
    well_formed = update is None or isinstance(update, ConclusionUpdate)
    return well_formed and _references_given(response["operation"]) and _established_cite(update)


def _references_given(operation: Any) -> bool:
    """An empty list of references has a code of its own, `missing_evidence`, that comes after the form's."""
    if isinstance(operation, list):
        return all(map(_references_given, operation))
    if not isinstance(operation, dict):
        return True
    cited = [operation[key] for key in ("evidence", "sources") if key in operation]
    return [] not in cited and all(map(_references_given, operation.values()))


def _established_cite(update: Any) -> bool:
    """A bare string is a claim in shape, but as an established one it lacks its evidence (contract 2.5)."""
    return update is None or all(claim.evidence for claim in update.established or ())


def tolerated(response: Any) -> Any:
    """A response as the schema would have to see it to agree with the parser: the documented differences.

    `null` for the absent one of `upsert` and `revise` is absence to the parser, and a string of blanks is
    empty to it, which no schema says.
    """
    seen = _without_blanks(deepcopy(response))
    operation = seen.get("operation") if isinstance(seen, dict) else None
    if isinstance(operation, dict) and operation.get("name") == "evidence":
        for field in ("upsert", "revise"):
            if field in operation and operation[field] is None:
                del operation[field]
    return seen


def _without_blanks(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_blanks(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_without_blanks(each) for each in value]
    return "" if isinstance(value, str) and not value.strip() else value


# --- Spoiling


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every container of a response with each of its keys or indices."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, each in inner for place in [(value, key), *places(each)]]


NAMES = [
    "name", "query", "documents", "top_k", "order", "locations", "passage", "document", "start", "end",
    "upsert", "statement", "sources", "revise", "id", "replacement", "expression", "constants", "value",
    "why", "evidence", "answer", "computes", "claim", "established", "hypotheses", "unresolved", "thought",
    "conclusion", "notes", "x",
]  # fmt: skip


@st.composite
def spoilt(draw: st.DrawFn, name: str, profile: Profile) -> Any:
    """A response of the schema with one or two things in it replaced, taken away, added, or doubled."""
    response = deepcopy(draw(instances(name, profile)))
    for _ in range(draw(st.integers(1, 2))):
        if not (found := places(response)):
            break
        container, key = draw(st.sampled_from(found))
        change = draw(st.sampled_from(["replace", "remove", "rename", "add", "double", "list", "unlist"]))
        value = container[key]
        if change == "replace":
            container[key] = draw(JUNK)
        elif change == "remove":
            del container[key]
        elif change == "rename" and isinstance(container, dict):
            container[draw(st.sampled_from(NAMES))] = container.pop(key)
        elif change == "add" and isinstance(container, dict):
            container.setdefault(draw(st.sampled_from(NAMES)), draw(JUNK))
        elif change == "double" and isinstance(container, list):
            container.append(value)
        elif change == "list":
            container[key] = [value]
        elif isinstance(value, list) and value:
            container[key] = value[0]
    return response


@pytest.mark.parametrize(("name", "profile"), CONFIGURATIONS)
def test_8_what_the_schema_admits_the_parser_reads(name: str, profile: Profile) -> None:
    config = configuration(name, profile)

    @examples(30)
    @given(response=instances(name, profile) | asked_for(name, profile), ascii=st.booleans())
    def holds(response: Any, ascii: bool) -> None:
        assert validator(name, profile).is_valid(response)
        assert reads(json.dumps(response, ensure_ascii=ascii), config)

    holds()


@pytest.mark.parametrize(("name", "profile"), CONFIGURATIONS)
def test_8_of_a_spoilt_response_the_parser_says_what_the_schema_says(name: str, profile: Profile) -> None:
    config, schema = configuration(name, profile), validator(name, profile)

    @examples(80)
    @given(response=spoilt(name, profile))
    def holds(response: Any) -> None:
        assert reads(json.dumps(response), config) == schema.is_valid(tolerated(response))

    holds()


def test_8_the_differences_between_schema_and_parser_are_the_documented_ones() -> None:
    config, schema = configuration("full", Profile.paper), validator("full", Profile.paper)

    def both(response: Any) -> tuple[bool, bool]:
        return schema.is_valid(response), reads(json.dumps(response), config)

    item = {"statement": "a", "sources": ["s1"]}
    assert both(op("evidence", upsert=[item])) == (True, True)
    assert both(op("evidence", upsert=[item], revise=None)) == (False, True)
    assert both(search(top_k=None, conclusion=None)) == (True, True)
    assert both(search(" ")) == (True, False)
    assert both(search(conclusion={"hypotheses": ["so"]})) == (True, True)
    assert both(search(conclusion={"established": ["so"]})) == (False, False)  # and the operation runs
    assert both(op("evidence", upsert=[item, {"statement": 1}])) == (
        False,
        False,
    )  # and the first is admitted
