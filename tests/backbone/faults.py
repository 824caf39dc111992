"""A model server that fails on demand: what real servers were seen to do, over a real socket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from pipeline.backbone.serving import Endpoint

USAGE = {"prompt_tokens": 12, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 8}}
Step = Callable[[web.Request], Awaitable[web.StreamResponse]]


def completion(
    content: str | None = "fine",
    *,
    finish: str = "stop",
    usage: Mapping[str, Any] | None = None,
    **message: Any,
) -> Step:
    """A reply; `message` are further fields of its message."""
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": content}}
    choice["message"] |= message
    body = {"object": "chat.completion", "model": "served", "choices": [choice]}
    return replied(200, body | {"usage": USAGE if usage is None else usage})


def replied(status: int, body: Any, **headers: str) -> Step:
    """Any status and body; the headers' underscores stand for hyphens."""

    async def step(request: web.Request) -> web.StreamResponse:
        text = body if isinstance(body, str) else json.dumps(body)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        kind = named.pop("Content-Type", "application/json")
        return web.Response(status=status, text=text, content_type=kind, headers=named)

    return step


def chunk(finish: str | None = None, **delta: Any) -> bytes:
    """One chunk of a streamed reply, as an event."""
    body = {"model": "served", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
    return event(body)


def event(body: Any) -> bytes:
    """Server-sent data."""
    return b"data: " + (body if isinstance(body, bytes) else json.dumps(body).encode()) + b"\n\n"


DONE = event(b"[DONE]")


def streamed(*parts: bytes, end: str = "closed") -> Step:
    """Events, each sent on its own; then the stream is `closed`, `aborted` or left `open`."""

    async def step(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for part in parts:
            await response.write(part)
            await asyncio.sleep(0)
        if end == "aborted":
            assert request.transport is not None
            request.transport.abort()
        elif end == "open":
            await asyncio.Event().wait()
        return response

    return step


def spoken(*words: str, usage: Mapping[str, Any] | None = USAGE) -> Step:
    """A streamed reply, word by word."""
    counted = [] if usage is None else [event({"model": "served", "choices": [], "usage": usage})]
    said = [chunk(content=word) for word in words]
    return streamed(chunk(role="assistant", content=""), *said, chunk("stop"), *counted, DONE)


def dribbled(step: bytes, seconds: float) -> Step:
    """A body that comes byte by byte, each after so many seconds."""

    async def reply(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        for at in range(len(step)):
            await response.write(step[at : at + 1])
            await asyncio.sleep(seconds)
        return response

    return reply


async def reset(request: web.Request) -> web.StreamResponse:
    """Drop the connection without a word."""
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


async def cut(request: web.Request) -> web.StreamResponse:
    """Promise a body and drop the connection in the midst of it."""
    response = web.StreamResponse(headers={"Content-Length": "1000"})
    await response.prepare(request)
    await response.write(b'{"choices": [')
    assert request.transport is not None
    request.transport.abort()
    return response


async def hang(request: web.Request) -> web.StreamResponse:
    """Never reply."""
    await asyncio.Event().wait()
    raise AssertionError


class FaultyServer:
    """Takes `steps` one a request, the last one for ever; keeps what it was sent.

    `looks` is what it says to a GET, by path.
    """

    def __init__(self, *steps: Step) -> None:
        self.steps = list(steps)
        self.bodies: list[dict[str, Any]] = []
        self.raw: list[bytes] = []
        self.authorizations: list[str | None] = []
        self.headers: list[Mapping[str, str]] = []
        self.asked: list[str] = []
        self.connections: set[tuple[str, int]] = set()
        self.looks: dict[str, str] = {}
        self.looked: list[str] = []
        self.url = ""

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint((self.url,), "asked-for", node_local=True)

    async def look(self, request: web.Request) -> web.StreamResponse:
        self.looked.append(request.path)
        text = self.looks.get(request.path)
        return web.Response(status=404) if text is None else web.Response(text=text)

    async def reply(self, request: web.Request) -> web.StreamResponse:
        self.raw.append(await request.read())
        self.bodies.append(json.loads(self.raw[-1]))
        self.headers.append(request.headers)
        self.asked.append(request.path_qs)
        self.authorizations.append(request.headers.get("Authorization"))
        assert request.transport is not None
        self.connections.add(request.transport.get_extra_info("peername"))
        step = self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]
        return await step(request)


@asynccontextmanager
async def faulty(*steps: Step) -> AsyncIterator[FaultyServer]:
    """Serve on a free port of loopback; an open reply is dropped at the end."""
    server = FaultyServer(*steps)
    app = web.Application(client_max_size=2**26)
    for path in ("chat/completions", "responses", "messages", "messages/count_tokens"):
        app.router.add_post(f"/v1/{path}", server.reply)
    app.router.add_get("/{path:.*}", server.look)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    try:
        yield server
    finally:
        await runner.cleanup()
