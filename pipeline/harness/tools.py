"""Native tool calls: the operations as tools, and a call as the text that the runtime reads (contract 8).

The runtime reads text alone. A completion with tool calls is written in the wire format before it is taken as
a reply and recorded, so that replay needs nothing else; in the prompt's history, such a reply is a tool call
again. A reply without a call is parsed, and repeated, as the text that it is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pipeline.errors import InvalidOperation
from pipeline.harness.config import HarnessConfig, ToolChoice
from pipeline.harness.operations import NAMES
from pipeline.harness.parse import parse
from pipeline.harness.schema import Schema, asked_schema
from pipeline.protocols import Completion, Message, ToolCall

_BESIDE = ("conclusion", "notes")  # arguments that stand beside the operation in the wire format


def tools(config: HarnessConfig) -> tuple[Schema, ...]:
    """Return one tool an operation, in the form of the chat completions API.

    Evidence has the fields of all its forms, as optional ones: the runtime checks that there is exactly one.
    Every tool takes a conclusion, so the tools only outline it; the system message has its form in full.
    """
    fields = asked_schema(config)["properties"]
    forms: dict[str, list[Schema]] = {}
    for form in fields["operation"]["anyOf"]:
        forms.setdefault(form["properties"]["name"]["const"], []).append(form)
    beside = {name: _outline(fields[name]) for name in _BESIDE if name in fields}
    # Asks the server to hold the arguments to the schema. Not with `auto`, which is for any server: some take
    # `strict` only where all fields are required.
    strict: Schema = {"strict": True} if config.action.tool_choice is ToolChoice.required else {}
    return tuple(_tool(name, forms[name], beside, strict) for name in NAMES if name in forms)


def _tool(name: str, forms: list[Schema], beside: Schema, strict: Schema) -> Schema:
    properties: Schema = {}
    for form in forms:
        for field, schema in form["properties"].items():
            properties[field] = {"anyOf": [properties[field], schema]} if field in properties else schema
    del properties["name"]
    parameters = {
        "type": "object",
        "properties": properties | beside,
        "required": [field for field in properties if all(field in form["required"] for form in forms)],
        "additionalProperties": False,
    }
    described = f"The operation {name}."  # what it does is said in the system message
    function = {"name": name, "description": described, **strict, "parameters": parameters}
    return {"type": "function", "function": function}


def _outline(schema: Schema, depth: int = 2) -> Schema:
    """The schema down to the types of what lies `depth` levels below."""
    if not depth:
        return {"type": schema["type"]}
    outline = {key: value for key, value in schema.items() if key != "additionalProperties"}
    if "properties" in schema:
        fields = schema["properties"].items()
        outline["properties"] = {name: _outline(each, depth - 1) for name, each in fields}
    if "items" in schema:
        outline["items"] = _outline(schema["items"], 0)
    return outline


def wire_text(completion: Completion) -> str:
    """Return a completion's text; that of tool calls in the wire format, with what was said as its `thought`.

    Of several calls, each becomes a response of its own, which the parser judges as it does those of a text:
    identical ones count once. Arguments that are no JSON object stay as they are, for the parser to say what
    is wrong with them. Thinking stays in front, where it is told from the rest.
    """
    if not completion.tool_calls:
        return completion.text
    thinking, closed, said = completion.text.rpartition("</think>")
    return thinking + closed + "\n".join(_response(call, said.strip()) for call in completion.tool_calls)


def _response(call: ToolCall, thought: str) -> str:
    raw = call.arguments.strip() or "{}"
    try:
        arguments = parse(f'{{"operation": {_no_end_of_thinking(raw)}}}')["operation"]
        json.loads(raw, strict=False)  # all of it, and no deeper than the parser has found it
        if arguments.get("name", call.name) != call.name:
            raise ValueError("the arguments name another operation")
    except (InvalidOperation, ValueError):
        name = json.dumps(call.name)
        return _no_end_of_thinking(f'{{"operation": {{"name": {name}, "arguments": {raw}}}}}')
    operation: dict[str, Any] = {"name": call.name}
    response: dict[str, Any] = {"thought": thought} if thought else {}
    response["operation"] = operation
    for field, value in arguments.items():
        to = response if field in _BESIDE else operation
        to.setdefault(
            field, getattr(value, "literal", value) if field == "answer" else value
        )  # digit for digit
    return _no_end_of_thinking(json.dumps(response, ensure_ascii=False))


def _no_end_of_thinking(text: str) -> str:
    """The same JSON, with nothing in its strings that the parser would take for the end of thinking."""
    return text.replace("</think>", r"<\/think>")


def call_message(turn: int, content: str, response: Mapping[str, Any]) -> Message:
    """Return the assistant's message for a parsed response: what was said, and the call.

    The call's id is the turn's, in nine letters and digits: some chat templates take no others.
    """
    operation = response["operation"]
    arguments = {field: value for field, value in operation.items() if field != "name"}
    arguments |= {field: response[field] for field in _BESIDE if field in response}
    call = ToolCall(f"call{turn:05}", operation["name"], json.dumps(arguments, ensure_ascii=False))
    return Message("assistant", content, tool_calls=(call,))
