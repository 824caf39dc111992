"""The scripted server's HTTP side."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import threading
from collections.abc import Mapping
from typing import Any

from aiohttp import web

from pipeline.backbone.scripted.apis import APIS, Api, Asked
from pipeline.backbone.scripted.script import Line, Script

MAX_BODY = 256 * 1024 * 1024  # bytes
READY = Line(reply="ready")


def application(script: Script) -> web.Application:
    """The routes of the three APIs, `/v1/models` and `/health`."""
    app = web.Application(client_max_size=MAX_BODY)
    answering = Answering(script)
    app.router.add_get("/health", _health)
    app.router.add_get("/v1/models", _models)
    for path, api in APIS.items():
        app.router.add_post(path, answering.handler(api))
    return app


class Answering:
    """Answers requests; remembers how long each conversation's last prompt was, for the cached tokens."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._prompts: dict[str, int] = {}

    def handler(self, api: Api) -> Any:
        """Return the handler of one API."""

        async def handle(request: web.Request) -> web.StreamResponse:
            try:
                body = await request.json()
                if not isinstance(body, Mapping):
                    raise ValueError("the body must be a JSON object")
                asked = api.read(body)
            except ValueError as error:
                return _failed(api, Line(error=400, message=str(error), type="invalid_request_error"))
            return await self._answer(api, asked, request)

        return handle

    async def _answer(self, api: Api, asked: Asked, request: web.Request) -> web.StreamResponse:
        key = asked.conversation
        line = READY if asked.probe else self._script.line(asked.first, key, asked.turn)
        if line is None:
            said = f"the script has no reply for turn {asked.turn + 1} of this conversation"
            line = Line(error=400, message=said, type="invalid_request_error")
        if line.error is not None:
            return _failed(api, line)
        cached = min(self._prompts.get(key, 0), asked.tokens)
        self._prompts[key] = asked.tokens
        if not asked.stream:
            return web.json_response(api.reply(asked, line, cached))
        response = web.StreamResponse(
            headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"}
        )
        await response.prepare(request)
        for name, data in api.events(asked, line, cached):
            head = f"event: {name}\n" if name else ""
            await response.write(f"{head}data: {json.dumps(data)}\n\n".encode())
        if api is APIS["/v1/chat/completions"]:
            await response.write(b"data: [DONE]\n\n")
        await response.write_eof()
        return response


async def serve(script: Script, host: str, port: int) -> None:
    """Listen, print `{"port": N}` as one line, and return when standard input closes."""
    runner = web.AppRunner(application(script), access_log=None)
    await runner.setup()
    await web.TCPSite(runner, host, port).start()
    print(json.dumps({"port": runner.addresses[0][1]}), flush=True)
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


def _failed(api: Api, line: Line) -> web.Response:
    headers = {} if line.retry_after is None else {"Retry-After": f"{line.retry_after:g}"}
    return web.json_response(api.error(line), status=line.error or 500, headers=headers)


async def _health(_: web.Request) -> web.Response:
    return web.Response()


async def _models(_: web.Request) -> web.Response:
    return web.json_response(
        {"object": "list", "data": [{"id": "scripted", "object": "model", "created": 0}]}
    )
