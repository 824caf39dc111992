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
    """The chat completion of a request. Raises `ValueError` if it is not one of the harness's.

    A lone message that asks for no form of reply, as one waiting for a server sends, is answered by `ready`.
    """
    messages = body.get("messages")
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        raise ValueError("`messages` must be a list of objects")
    message: dict[str, Any] = {"role": "assistant"}
    if len(messages) == 1 and "response_format" not in body:
        text = "ready"
    elif reply := next_reply(parse(messages, body.get("response_format"))):
        text = reply.render()
    else:
        text, message["refusal"] = "", GIVEN_UP
    text, finish = _within(text, body.get("max_completion_tokens") or body.get("max_tokens"))
    message["content"] = text
    prompt = sum(_tokens(str(message.get("content") or "")) for message in messages)
    return {
        "id": "chatcmpl-reference",
        "object": "chat.completion",
        "created": 0,
        "model": MODEL,
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {
            "prompt_tokens": prompt,
            "completion_tokens": _tokens(text),
            "total_tokens": prompt + _tokens(text),
        },
    }


def _within(text: str, max_tokens: object) -> tuple[str, str]:
    """The text, cut at `max_tokens` as a model's would be, and the finish reason."""
    if isinstance(max_tokens, int) and _tokens(text) > max_tokens:
        return text.encode()[: max_tokens * BYTES_PER_TOKEN].decode(errors="ignore"), "length"
    return text, "stop"


def _tokens(text: str) -> int:
    """An estimate: UTF-8 bytes over four, rounded up."""
    return -(-len(text.encode()) // BYTES_PER_TOKEN)


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


async def _completions(request: web.Request) -> web.Response:
    try:
        body = await request.json()
        if not isinstance(body, dict):
            raise ValueError("the body must be a JSON object")
        if body.get("stream"):
            raise ValueError("streaming is not supported")
        return web.json_response(complete(body))
    except ValueError as error:  # the request's fault, bad JSON included
        message = {"message": str(error), "type": "invalid_request_error", "param": None, "code": 400}
        return web.json_response({"error": message}, status=400)
