"""The JSON schema of a response, for constrained decoding, and the notation that the prompt shows of it.

Only plain constructs, which xgrammar and llama.cpp both take: objects with `required` and without additional
properties, `anyOf`, `const` and `enum`, arrays and strings with bounds. No references, no `oneOf`. The order
of properties is the order in which a constrained model writes them: `thought` first, then `operation`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from pydantic import BaseModel

from pipeline.harness.config import HarnessConfig, SwitchesConfig, extensions
from pipeline.harness.operations import operation_forms, response_form

_KEPT = (
    "type", "const", "enum", "minimum", "maximum", "minLength", "minItems", "required",
    "additionalProperties", "examples",
)  # fmt: skip
_OFFSETS = {"minimum": 0, "maximum": 999_999_999}  # no document is longer; of digits there must be an end

Schema = dict[str, Any]


@lru_cache(maxsize=64)
def form_schema(form: type[BaseModel]) -> Mapping[str, Any]:
    """Return the schema of one form, without references; examples stay in, for the notation."""
    whole = form.model_json_schema()
    return _plain(whole, whole.get("$defs", {}))


def response_schema(switches: SwitchesConfig, batch_revise: bool = False) -> Schema:
    """Return the schema of all that the parser takes for a response in a variant (contract, section 8)."""
    schema = form_schema(response_form(switches))
    operations = [form_schema(form) for form in operation_forms(switches, batch_revise)]
    properties = {**schema["properties"], "operation": {"anyOf": operations}}
    wire: Schema = _without_examples({**schema, "properties": properties})
    return wire


def asked_schema(config: HarnessConfig) -> Schema:
    """Return the schema of the responses that a model is asked for: a part of what the parser takes."""
    whole = response_schema(config.switches, extensions(config).batch_revise)
    return narrowed(whole, config.action.max_string, config.action.max_items)


def narrowed(
    schema: Schema, max_string: int | None = None, max_items: int | None = None, *, null: bool = False
) -> Schema:
    """Return the schema of what a model is asked for: a part of what `schema` allows.

    A field that may be left out offers no null (`null` says whether this one must), and of alternatives of
    several types the first is left: an answer is text, a hypothesis an object. Offsets are natural numbers of
    nine digits at most. `max_string` caps every free string, in characters, and `max_items` every list.
    """
    if "anyOf" in schema:
        kinds = {schema["anyOf"][0].get("type"), "null" if null else None}
        kept = [choice for choice in schema["anyOf"] if choice.get("type") in kinds]
        left = [narrowed(choice, max_string, max_items) for choice in kept]
        return left[0] if len(left) == 1 else {"anyOf": left}
    narrow = dict(schema)
    if "items" in schema:
        narrow["items"] = narrowed(schema["items"], max_string, max_items)
    if "properties" in schema:
        narrow["properties"] = {
            name: narrowed(each, max_string, max_items, null=name in schema.get("required", ()))
            for name, each in schema["properties"].items()
        }
    kind = schema.get("type")
    if kind == "string" and "enum" not in schema and max_string is not None:
        narrow["maxLength"] = max_string
    if kind == "array" and max_items is not None:
        narrow["maxItems"] = max_items
    return {**_OFFSETS, **narrow} if kind == "integer" else narrow


@lru_cache(maxsize=64)
def signature(form: type[BaseModel]) -> str:
    """Return a form in the contract's notation: `{"name": "search", "query": "…", "top_k": 1–50?, …}`."""
    return _notation(form_schema(form))


def fields_at(form: type[BaseModel], path: Sequence[str | int]) -> tuple[str, ...]:
    """Return the names of the fields of the object that `path`, of a validation error, leads to."""
    nodes = [form_schema(form)]
    for step in path:
        objects = [node for node in _choices(nodes) if "properties" in node]
        if isinstance(step, int):
            nodes = [node["items"] for node in _choices(nodes) if "items" in node]
        elif len(objects) > 1:  # a union: the step is not a field but the tag of one of its forms
            nodes = [node for node in objects if step in node["properties"]]
        else:
            nodes = [node["properties"][step] for node in objects]
    return tuple(name for node in _choices(nodes) for name in node.get("properties", ()))


def _choices(nodes: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [choice for node in nodes for choice in node.get("anyOf", [node])]


def _plain(node: Mapping[str, Any], definitions: Mapping[str, Any]) -> Schema:
    """Resolve references; keep the plain constructs and drop titles, defaults and descriptions."""
    if "$ref" in node:
        return _plain(definitions[node["$ref"].rpartition("/")[2]], definitions)
    plain: Schema = {key: node[key] for key in _KEPT if key in node}
    if "const" in plain:
        del plain["type"]
    if choices := node.get("anyOf") or node.get("oneOf"):
        plain["anyOf"] = [_plain(choice, definitions) for choice in choices]
    if "items" in node:
        plain["items"] = _plain(node["items"], definitions)
    if "properties" in node:
        plain["properties"] = {name: _plain(each, definitions) for name, each in node["properties"].items()}
    return plain


def _without_examples(node: Any) -> Any:
    if isinstance(node, list):
        return [_without_examples(each) for each in node]
    if not isinstance(node, dict):
        return node
    return {key: _without_examples(each) for key, each in node.items() if key != "examples"}


def _notation(node: Mapping[str, Any]) -> str:
    if "anyOf" in node:
        choices = [choice for choice in node["anyOf"] if choice.get("type") != "null"]
        objects = [choice for choice in choices if choice.get("type") == "object"]
        return " | ".join(_notation(choice) for choice in objects or choices[:1])
    if "const" in node or "enum" in node:
        return " | ".join(json.dumps(value) for value in node.get("enum", [node.get("const")]))
    if node["type"] == "object":
        return "{" + (", ".join(_field(node, name) for name in node.get("properties", ())) or "…") + "}"
    if node["type"] == "array":
        return f"[{_notation(node['items'])}, …]"
    if node["type"] == "string":
        return json.dumps(node.get("examples", ["…"])[0], ensure_ascii=False)
    return f"{node['minimum']}–{node['maximum']}" if "maximum" in node else "0"


def _field(node: Mapping[str, Any], name: str) -> str:
    field = node["properties"][name]
    nullable = any(choice.get("type") == "null" for choice in field.get("anyOf", ()))
    optional = name not in node.get("required", ())
    null = " | null" if nullable and not optional else ""
    return f'"{name}": {_notation(field)}{null}{"?" if optional else ""}'
