"""The three APIs' bytes: what is read of a request, and a line of the script as each of them words it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from pipeline.backbone.scripted.script import Line

BYTES_PER_TOKEN = 4
_PROBE = 16  # tokens that one who only asks whether a server is up wants at most
_STEP = 24  # characters of a streamed piece

Json = dict[str, Any]
Events = Iterator[tuple[str | None, Json]]


@dataclass(frozen=True)
class Asked:
    """What matters of a request, whichever API it came by. `said` is what its messages hold, in order."""

    model: str
    first: str
    turn: int
    said: tuple[str, ...]
    seed: int
    stream: bool
    with_usage: bool
    probe: bool

    @property
    def conversation(self) -> str:
        """What tells this conversation from others: its first messages and its seed."""
        opening = "\0".join((self.first, str(self.seed)))
        return sha256(opening.encode("utf-8", "replace")).hexdigest()

    @property
    def tokens(self) -> int:
        """An estimate of the prompt's: UTF-8 bytes over four, rounded up."""
        return _tokens("".join(self.said))


@dataclass(frozen=True)
class Api:
    """One API: how a request is read, and how a reply, a stream of it and an error are written."""

    read: Callable[[Mapping[str, Any]], Asked]
    reply: Callable[[Asked, Line, int], Json]
    events: Callable[[Asked, Line, int], Events]
    error: Callable[[Line], Json]


def asked(body: Mapping[str, Any], messages: Sequence[tuple[str, str]], length: object) -> Asked:
    """Put together what was read; messages are (role, text). Raises `ValueError` if there are none."""
    if not messages:
        raise ValueError("the request holds no message")
    first = next((text for role, text in messages if role == "user"), "")
    replies = sum(
        role == "assistant" and (not number or messages[number - 1][0] != "assistant")
        for number, (role, _) in enumerate(messages)
    )
    formed = any(body.get(name) for name in ("tools", "response_format", "text"))
    options = body.get("stream_options")
    return Asked(
        model=str(body.get("model") or "scripted"),
        first=first,
        turn=replies,
        said=tuple(text for _, text in messages),
        seed=body["seed"] if isinstance(body.get("seed"), int) else 0,
        stream=bool(body.get("stream")),
        with_usage=isinstance(options, dict) and bool(options.get("include_usage")),
        probe=len(messages) == 1 and not formed and isinstance(length, int) and length <= _PROBE,
    )


def read_chat(body: Mapping[str, Any]) -> Asked:
    """Read a body of `/v1/chat/completions`. Raises `ValueError` for one that is none."""
    messages = [(str(m.get("role")), _text(m.get("content")) + _called(m)) for m in _listed(body, "messages")]
    return asked(body, messages, body.get("max_completion_tokens") or body.get("max_tokens"))


def read_responses(body: Mapping[str, Any]) -> Asked:
    """Read a body of `/v1/responses`. Raises `ValueError` for one that is none."""
    given = body.get("input")
    items = [{"role": "user", "content": given}] if isinstance(given, str) else _listed(body, "input")
    made = ("function_call", "reasoning", "custom_tool_call", "local_shell_call")
    messages = [("system", str(body["instructions"]))] if body.get("instructions") else []
    for item in items:
        kind = item.get("type", "message")
        role = "assistant" if kind in made else "tool" if kind.endswith("_output") else str(item.get("role"))
        messages.append(
            (role, _text(item.get("content")) + str(item.get("arguments") or item.get("output") or ""))
        )
    return asked(body, messages, body.get("max_output_tokens"))


def read_messages(body: Mapping[str, Any]) -> Asked:
    """Read a body of `/v1/messages`. Raises `ValueError` for one that is none."""
    system = [("system", _text(body["system"]))] if body.get("system") else []
    messages = [(str(m.get("role")), _text(m.get("content"))) for m in _listed(body, "messages")]
    return asked(body, [*system, *messages], body.get("max_tokens"))


def chat_reply(request: Asked, line: Line, cached: int) -> Json:
    """A `chat.completion`."""
    message: Json = {"role": "assistant", "content": line.text or None}
    if line.reasoning is not None:
        message["reasoning_content"] = line.reasoning
    if line.tool_calls:
        message["tool_calls"] = _chat_calls(request, line)
    choice = {"index": 0, "message": message, "finish_reason": line.ended}
    return _chat(request, "chat.completion") | {
        "choices": [choice],
        "usage": _chat_usage(request, line, cached),
    }


def chat_events(request: Asked, line: Line, cached: int) -> Events:
    """Chunks of a `chat.completion`."""

    def chunk(delta: Json, finish: str | None = None) -> tuple[None, Json]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return None, _chat(request, "chat.completion.chunk") | {"choices": [choice]}

    yield chunk({"role": "assistant", "content": ""})
    for piece in _pieces(line.reasoning or ""):
        yield chunk({"reasoning_content": piece})
    for piece in _pieces(line.text):
        yield chunk({"content": piece})
    for number, call in enumerate(_chat_calls(request, line)):
        arguments = call["function"].pop("arguments")
        call["function"]["arguments"] = ""
        yield chunk({"tool_calls": [{"index": number} | call]})
        for piece in _pieces(arguments):
            yield chunk({"tool_calls": [{"index": number, "function": {"arguments": piece}}]})
    yield chunk({}, line.ended)
    if request.with_usage:
        usage = _chat_usage(request, line, cached)
        yield None, _chat(request, "chat.completion.chunk") | {"choices": [], "usage": usage}


def responses_reply(request: Asked, line: Line, cached: int) -> Json:
    """A finished `response`."""
    cut = line.ended == "length"
    written = _written(line)
    return _response(request, "incomplete" if cut else "completed") | {
        "output": _items(request, line),
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
        "usage": {
            "input_tokens": request.tokens,
            "input_tokens_details": {"cached_tokens": cached},
            "output_tokens": written,
            "output_tokens_details": {"reasoning_tokens": _tokens(line.reasoning or "")},
            "total_tokens": request.tokens + written,
        },
    }


def responses_events(request: Asked, line: Line, cached: int) -> Events:
    """The events of a streamed `response`."""
    number = 0

    def event(kind: str, **fields: Any) -> tuple[str, Json]:
        nonlocal number
        number += 1
        return kind, {"type": kind, "sequence_number": number - 1} | fields

    begun = _response(request, "in_progress") | {"output": [], "usage": None}
    yield event("response.created", response=begun)
    yield event("response.in_progress", response=begun)
    for index, item in enumerate(_items(request, line)):
        at: Json = {"output_index": index, "item_id": item["id"]}
        if item["type"] == "message":
            part = item["content"][0]
            yield event("response.output_item.added", output_index=index, item=item | {"content": []})
            at |= {"content_index": 0}
            yield event("response.content_part.added", **at, part=part | {"text": ""})
            for piece in _pieces(part["text"]):
                yield event("response.output_text.delta", **at, delta=piece)
            yield event("response.output_text.done", **at, text=part["text"])
            yield event("response.content_part.done", **at, part=part)
        elif item["type"] == "function_call":
            yield event("response.output_item.added", output_index=index, item=item | {"arguments": ""})
            for piece in _pieces(item["arguments"]):
                yield event("response.function_call_arguments.delta", **at, delta=piece)
            yield event("response.function_call_arguments.done", **at, arguments=item["arguments"])
        else:
            yield event("response.output_item.added", output_index=index, item=item)
        yield event("response.output_item.done", output_index=index, item=item)
    ended = responses_reply(request, line, cached)
    yield event(f"response.{ended['status']}", response=ended)


def messages_reply(request: Asked, line: Line, cached: int) -> Json:
    """A `message`."""
    return _message(request, cached) | {
        "content": _blocks(request, line),
        "stop_reason": _stop_reason(line),
        "usage": _input_usage(request, cached) | {"output_tokens": _written(line)},
    }


def messages_events(request: Asked, line: Line, cached: int) -> Events:
    """The events of a streamed `message`."""
    yield "message_start", {"type": "message_start", "message": _message(request, cached)}
    for index, block in enumerate(_blocks(request, line)):
        emptied: dict[str, tuple[str, str, str | None, Json]] = {
            "text": ("text_delta", "text", block.get("text"), {"text": ""}),
            "thinking": ("thinking_delta", "thinking", block.get("thinking"), {"thinking": ""}),
            "tool_use": ("input_json_delta", "partial_json", json.dumps(block.get("input")), {"input": {}}),
        }
        kind, key, whole, empty = emptied[block["type"]]
        yield _at("content_block_start", index, content_block=block | empty)
        for piece in _pieces(whole or ""):
            yield _at("content_block_delta", index, delta={"type": kind, key: piece})
        yield _at("content_block_stop", index)
    delta = {"stop_reason": _stop_reason(line), "stop_sequence": None}
    usage = {"output_tokens": _written(line)}
    yield "message_delta", {"type": "message_delta", "delta": delta, "usage": usage}
    yield "message_stop", {"type": "message_stop"}


def openai_error(line: Line) -> Json:
    """An error as the first two APIs word it."""
    return {"error": {"message": line.message, "type": line.type, "param": None, "code": line.error}}


def anthropic_error(line: Line) -> Json:
    """An error as the third words it."""
    return {"type": "error", "error": {"type": line.type, "message": line.message}}


APIS: Mapping[str, Api] = {
    "/v1/chat/completions": Api(read_chat, chat_reply, chat_events, openai_error),
    "/v1/responses": Api(read_responses, responses_reply, responses_events, openai_error),
    "/v1/messages": Api(read_messages, messages_reply, messages_events, anthropic_error),
}


def _listed(body: Mapping[str, Any], name: str) -> list[Json]:
    listed = body.get(name)
    if not isinstance(listed, list) or not all(isinstance(item, dict) for item in listed):
        raise ValueError(f"`{name}` must be a list of objects")
    return listed


def _text(content: object) -> str:
    """The text of a message's content: a string, or a list of parts and blocks."""
    if not isinstance(content, list):
        return content if isinstance(content, str) else ""
    parts = (part if isinstance(part, dict) else {"text": str(part)} for part in content)
    return "".join(str(p.get("text") or p.get("thinking") or "") + _text(p.get("content")) for p in parts)


def _called(message: Mapping[str, Any]) -> str:
    return "".join(
        str(call.get("function", {}).get("arguments", "")) for call in message.get("tool_calls") or ()
    )


def _pieces(text: str) -> Iterator[str]:
    return (text[start : start + _STEP] for start in range(0, len(text), _STEP))


def _tokens(text: str) -> int:
    return -(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN)


def _written(line: Line) -> int:
    return _tokens((line.reasoning or "") + line.text + "".join(call.text for call in line.tool_calls))


def _id(request: Asked, prefix: str, number: int = 0) -> str:
    return f"{prefix}{request.conversation[:12]}{request.turn:04}{number:02}"


def _chat(request: Asked, kind: str) -> Json:
    return {"id": _id(request, "chatcmpl-"), "object": kind, "created": 0, "model": request.model}


def _chat_calls(request: Asked, line: Line) -> list[Json]:
    return [
        {
            "id": _id(request, "call", number)[-9:],  # nine characters: some templates want exactly so many
            "type": "function",
            "function": {"name": call.name, "arguments": call.text},
        }
        for number, call in enumerate(line.tool_calls)
    ]


def _chat_usage(request: Asked, line: Line, cached: int) -> Json:
    written = _written(line)
    return {
        "prompt_tokens": request.tokens,
        "completion_tokens": written,
        "total_tokens": request.tokens + written,
        "prompt_tokens_details": {"cached_tokens": cached},
    }


def _response(request: Asked, status: str) -> Json:
    return {
        "id": _id(request, "resp_"),
        "object": "response",
        "created_at": 0,
        "status": status,
        "model": request.model,
        "error": None,
        "parallel_tool_calls": False,
        "tool_choice": "auto",
        "tools": [],
    }


def _items(request: Asked, line: Line) -> list[Json]:
    items: list[Json] = []
    if line.reasoning is not None:
        summary = [{"type": "summary_text", "text": line.reasoning}]
        items.append({"type": "reasoning", "id": _id(request, "rs_"), "summary": summary})
    if line.text:
        part = {"type": "output_text", "text": line.text, "annotations": []}
        items.append(
            {"type": "message", "id": _id(request, "msg_"), "role": "assistant", "status": "completed"}
            | {"content": [part]}
        )
    for number, call in enumerate(line.tool_calls):
        named = {"name": call.name, "arguments": call.text, "call_id": _id(request, "call_", number)}
        items.append(
            {"type": "function_call", "id": _id(request, "fc_", number), "status": "completed"} | named
        )
    return items


def _message(request: Asked, cached: int) -> Json:
    return {
        "id": _id(request, "msg_"),
        "type": "message",
        "role": "assistant",
        "model": request.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": _input_usage(request, cached) | {"output_tokens": 0},
    }


def _input_usage(request: Asked, cached: int) -> Json:
    """As this API counts: `input_tokens` are those that no cache gave."""
    return {
        "input_tokens": request.tokens - cached,
        "cache_read_input_tokens": cached,
        "cache_creation_input_tokens": 0,
    }


def _blocks(request: Asked, line: Line) -> list[Json]:
    blocks: list[Json] = []
    if line.reasoning is not None:
        blocks.append({"type": "thinking", "thinking": line.reasoning, "signature": ""})
    if line.text:
        blocks.append({"type": "text", "text": line.text})
    for number, call in enumerate(line.tool_calls):
        given = call.arguments if isinstance(call.arguments, dict) else {}
        blocks.append(
            {"type": "tool_use", "id": _id(request, "toolu_", number), "name": call.name, "input": given}
        )
    return blocks


def _stop_reason(line: Line) -> str:
    words = {
        "tool_calls": "tool_use",
        "length": "max_tokens",
        "stop": "end_turn",
        "content_filter": "refusal",
    }
    return words.get(line.ended, line.ended)


def _at(kind: str, index: int, **fields: Any) -> tuple[str, Json]:
    return kind, {"type": kind, "index": index} | fields
