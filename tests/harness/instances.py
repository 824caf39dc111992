"""Responses drawn from the schemas themselves: all that a schema admits, as Hypothesis strategies."""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import strategies as st

from pipeline.harness.config import HarnessConfig, Profile, extensions
from pipeline.harness.schema import Schema, asked_schema, response_schema
from tests.variants import variant

WORDS = st.sampled_from(
    ["May 1942", "e1", "s1", "1942/*", "4,100", 'a "quoted" {word}', "two\nlines", "é😀", "\x00"]
)
BLANKS = st.sampled_from(["", " ", "\n\t"])


def configuration(name: str, profile: Profile) -> HarnessConfig:
    config = variant(name)
    config.profile = profile
    return config


def whole_schema(config: HarnessConfig) -> Schema:
    """The schema of all that is read, of which a model is asked for a part."""
    return response_schema(config.switches, extensions(config).batch_revise)


@cache
def instances(name: str, profile: Profile) -> st.SearchStrategy[Any]:
    """All that the schema of the language admits."""
    return _instances(whole_schema(configuration(name, profile)))


@cache
def asked_for(name: str, profile: Profile) -> st.SearchStrategy[Any]:
    """What a model is held to, which is a part of the language; here with a cap on strings and lists."""
    config = configuration(name, profile)
    config.action.max_string, config.action.max_items = 8, 2
    return _instances(asked_schema(config))


def _instances(node: dict[str, Any]) -> st.SearchStrategy[Any]:
    """All that a node of the schema admits; numbers within bounds that JSON readers agree on."""
    if "anyOf" in node:
        return st.one_of([_instances(choice) for choice in node["anyOf"]])
    if "const" in node:
        return st.just(node["const"])
    if "enum" in node:
        return st.sampled_from(node["enum"])
    match node["type"]:
        case "object":
            inner = {key: _instances(each) for key, each in node.get("properties", {}).items()}
            required = {key: inner.pop(key) for key in node.get("required", ())}
            return st.fixed_dictionaries(required, optional=inner)
        case "array":
            least, most = node.get("minItems", 0), node.get("maxItems", 3)
            return st.lists(_instances(node["items"]), min_size=least, max_size=min(most, 3))
        case "string":
            most = node.get("maxLength", 40)
            free = (WORDS | st.text(max_size=8)).map(lambda text: text[:most])
            return free.filter(str.strip) if node.get("minLength") else free | BLANKS
        case "integer":
            return st.integers(node.get("minimum", -(2**53)), node.get("maximum", 2**53))
        case "number":
            return st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
        case "null":
            return st.none()
        case other:
            raise AssertionError(f"the schema has a construct that is not known here: {other}")
