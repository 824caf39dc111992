"""A hostile server: it answers by a fixed policy, and at random does what broken servers do instead."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

from aiohttp import web

from pipeline.backbone.serving import Endpoint
from tests.backbone.faults import (
    DONE,
    Step,
    chunk,
    completion,
    cut,
    dribbled,
    event,
    hang,
    replied,
    reset,
    streamed,
)
from tests.runs.sample import reply

LIE = 10**7
"""Prompt tokens that a lying server counts of any prompt."""
OVERFLOW = "This model's maximum context length is 10 tokens. However, your prompt contains at least 11"
BREAKDOWNS: dict[str, Step] = {
    "429": replied(429, {"error": {"message": "slow down"}}, Retry_After="0.01"),
    "500": replied(500, "Internal Server Error"),
    "502": replied(502, "<html>Bad Gateway</html>", Content_Type="text/html"),
    "reset": reset,
    "cut": cut,
    "hang before headers": hang,
    "hang after headers": streamed(end="open"),
    "stall in a stream": streamed(chunk(content='{"operation": '), end="open"),
    "stream reset": streamed(chunk(content='{"operation": '), end="aborted"),
    "stream that ends too early": streamed(chunk(content='{"operation": '), DONE),
    "error in a stream": streamed(chunk(content="{"), event({"error": {"message": "engine died"}})),
    "malformed JSON": replied(200, '{"choices": [{"mess'),
    "malformed stream": streamed(event(b'{"choices": [{"del')),
    "wrong content type": replied(200, "<html>Sign in</html>", Content_Type="text/html"),
    "ten megabytes": replied(200, " " * 10_000_000),
    "slow bytes": dribbled(b" " * 1_000, 0.1),
    "empty": completion(""),
}
"""What a server does for want of infrastructure, or what is worth another try."""
ENDS: dict[str, tuple[str, Step]] = {
    "overflow": ("context_overflow", replied(400, {"error": {"message": OVERFLOW}})),
    "filter": ("refused", completion("par", finish="content_filter")),
    "refusal": ("refused", streamed(chunk(refusal="I can't"), chunk("stop"), DONE)),
    "bad request": ("bad_request", replied(400, {"error": {"message": "messages: must not be empty"}})),
}
"""What ends an episode: the kind of failure that is its result."""


class HostileServer:
    """Does harm to a share of the requests; a question with DOOMED in it never gets a reply.

    `asked` counts requests by case (of its question), `done` what it did, `prompts` the tokens that it
    counted, by case and turn.
    """

    def __init__(self, seed: int, share: float) -> None:
        self._random = Random(seed)
        self._share = share
        self.asked: Counter[str] = Counter()
        self.canaries = 0
        self.done: Counter[str] = Counter()
        self.prompts: dict[tuple[str, int], int] = {}
        self.url = ""

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint((self.url,), "policy", node_local=True)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        body = json.loads(await request.read())
        messages = body["messages"]
        text = " ".join(message["content"] for message in messages)
        found = re.search(r"case (\d+)", text)
        if found is None:
            self.canaries += 1
        else:
            self.asked[found[1]] += 1
        if "DOOMED" in text:
            return await self._do("doomed", replied(500, "never"), request)
        if self._random.random() < self._share:
            what = self._random.choice([*BREAKDOWNS, *ENDS] if self._random.random() < 0.1 else [*BREAKDOWNS])
            return await self._do(what, BREAKDOWNS.get(what) or ENDS[what][1], request)
        said = json.dumps(reply(messages)) if found else "ready"
        turn = sum(message["role"] == "assistant" for message in messages)
        usage = {"prompt_tokens": len(text) // 4, "completion_tokens": len(said) // 4}
        if found:
            self.prompts[found[1], turn] = usage["prompt_tokens"]
        return await self._do(*self._reply(said, usage, turn, bool(body.get("stream"))), request)

    def _reply(self, said: str, usage: dict[str, int], turn: int, stream: bool) -> tuple[str, Step]:
        manner = self._random.choice(["whole", "streamed", "streamed", "usage twice", "lying usage"])
        if manner == "whole" or not stream:
            return "whole", completion(said, usage=usage)
        half = len(said) // 2
        parts = [chunk(content=said[:half]), chunk(content=said[half:]), chunk("stop")]
        counted = event({"choices": [], "usage": usage})
        if manner == "usage twice":
            return manner, streamed(counted, *parts, counted, counted, DONE)
        if manner == "lying usage":
            lie = event({"choices": [], "usage": usage | {"prompt_tokens": LIE}})
            return manner, streamed(*parts, lie, DONE)
        return manner, streamed(*parts, counted, DONE)

    async def _do(self, what: str, step: Step, request: web.Request) -> web.StreamResponse:
        self.done[what] += 1
        return await step(request)


@asynccontextmanager
async def hostile(seed: int, share: float) -> AsyncIterator[HostileServer]:
    """Serve on a free port of loopback."""
    server = HostileServer(seed, share)
    app = web.Application(client_max_size=2**26)
    app.router.add_post("/v1/chat/completions", server.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    try:
        yield server
    finally:
        await runner.cleanup()


def headed(failure: Any) -> str:
    """The kind of failure that a record's error begins with."""
    return str(failure).partition(":")[0]
