"""The policy as an OpenAI-compatible server on loopback: `/v1/chat/completions` and `/v1/models`."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import threading
from collections.abc import Mapping
from typing import Any

from aiohttp import web

from pipeline.backbone.reference.conversation import parse
from pipeline.backbone.reference.policy import next_reply

MODEL = "reference-policy"
MAX_BODY = 256 * 1024 * 1024  # bytes: an episode may hold a million read tokens
BYTES_PER_TOKEN = 4
GIVEN_UP = "the reference policy gives up: its answer was not accepted, and it has no other"


def application() -> web.Application:
    """The routes."""
    app = web.Application(client_max_size=MAX_BODY)
    app.add_routes(
        [
            web.get("/health", _health),
            web.get("/v1/models", _models),
            web.post("/v1/chat/completions", _completions),
        ]
    )
    return app


async def serve(host: str, port: int) -> None:
    """Listen, print `{"port": N}` as one line, and return when standard input closes."""
    runner = web.AppRunner(application(), access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, host, port)
    await site.start()
    bound = runner.addresses[0][1]
    print(json.dumps({"port": bound}), flush=True)
    try:
        await _input_closed()
    finally:
        await runner.cleanup()


async def _input_closed() -> None:
    """Return when standard input ends. A daemon thread waits for it, so that a signal needn't."""
    loop, closed = asyncio.get_running_loop(), asyncio.Event()

    def wait() -> None:
        sys.stdin.buffer.read()
        with contextlib.suppress(RuntimeError):  # the loop is gone: the process is ending anyway
            loop.call_soon_threadsafe(closed.set)

    threading.Thread(target=wait, daemon=True).start()
    await closed.wait()


def complete(body: Mapping[str, Any]) -> dict[str, Any]:
    """The chat completion of a request; with tools, a call of one.

    Raises `ValueError` if the request is not one of the harness's.
    A lone message that asks for no form of reply, as one waiting for a server sends, is answered by `ready`.
    """
    messages, tools = body.get("messages"), body.get("tools")
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        raise ValueError("`messages` must be a list of objects")
    message: dict[str, Any] = {"role": "assistant", "content": ""}
    finish = "stop"
    if len(messages) == 1 and "response_format" not in body:
        message["content"] = "ready"
    elif not (reply := next_reply(parse(messages, body.get("response_format"), tools))):
        message["refusal"] = GIVEN_UP
    elif tools:
        name, arguments = reply.call()
        function = {"name": name, "arguments": arguments}
        call = {"id": f"call{len(messages):05}", "type": "function", "function": function}
        message |= {"content": reply.thought, "tool_calls": [call]}
        finish = "tool_calls"
    else:
        message["content"] = reply.render()
    if _cut(message, body.get("max_completion_tokens") or body.get("max_tokens")):
        finish = "length"
    prompt, completion = sum(map(_tokens, messages)), _tokens(message)
    return {
        "id": "chatcmpl-reference",
        "object": "chat.completion",
        "created": 0,
        "model": MODEL,
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
        },
    }


def _cut(message: dict[str, Any], max_tokens: object) -> bool:
    """Cut a reply, in its text or its call's arguments, as a model's would be; return whether it was."""
    if not isinstance(max_tokens, int) or _tokens(message) <= max_tokens:
        return False
    calls = message.get("tool_calls")
    last, key = (calls[0]["function"], "arguments") if calls else (message, "content")
    written = last[key].encode()
    kept = max_tokens * BYTES_PER_TOKEN - (_bytes(message) - len(written))
    last[key] = written[: max(kept, 0)].decode(errors="ignore")
    return True


def _tokens(message: Mapping[str, Any]) -> int:
    """An estimate: UTF-8 bytes over four, rounded up."""
    return -(-_bytes(message) // BYTES_PER_TOKEN)


def _bytes(message: Mapping[str, Any]) -> int:
    """The size of a message's text and of its calls' arguments."""
    arguments = (call["function"]["arguments"] for call in message.get("tool_calls") or ())
    return sum(len(text.encode()) for text in (str(message.get("content") or ""), *arguments))


async def _health(_: web.Request) -> web.Response:
    return web.Response()


async def _models(_: web.Request) -> web.Response:
    entry = {
        "id": MODEL,
        "object": "model",
        "created": 0,
        "owned_by": "longharness",
        "description": "A rule-based policy, not a language model: its figures show wiring only.",
    }
    return web.json_response({"object": "list", "data": [entry]})


async def _completions(request: web.Request) -> web.StreamResponse:
    try:
        body = await request.json()
        if not isinstance(body, dict):
            raise ValueError("the body must be a JSON object")
        reply = complete(body)
    except ValueError as error:  # the request's fault, bad JSON included
        message = {"message": str(error), "type": "invalid_request_error", "param": None, "code": 400}
        return web.json_response({"error": message}, status=400)
    if body.get("stream"):
        return web.Response(body=streamed(reply), content_type="text/event-stream")
    return web.json_response(reply)


def streamed(reply: Mapping[str, Any]) -> bytes:
    """A chat completion as a stream of one delta, its finish reason and its usage."""
    (choice,) = reply["choices"]
    delta = dict(choice["message"])
    if calls := delta.get("tool_calls"):
        delta["tool_calls"] = [{"index": index, **call} for index, call in enumerate(calls)]
    same = {name: reply[name] for name in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    said = {"index": 0, "delta": delta, "finish_reason": None}
    ended = {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}
    chunks = (
        same | {"choices": [said]},
        same | {"choices": [ended]},
        same | {"choices": [], "usage": reply["usage"]},
    )
    events = (*map(json.dumps, chunks), "[DONE]")
    return b"".join(f"data: {event}\n\n".encode() for event in events)
