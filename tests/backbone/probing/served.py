"""A chat server whose abilities are chosen, over a real socket: what `doctor` tells apart."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.backbone.faults import FaultyServer, completion, faulty, replied, spoken


@dataclass
class Served:
    """`window` is named in the refusal of too long a reply; `refused` are fields that it answers by 400."""

    schema: bool = True
    tools: bool = True
    seeded: bool = True
    streams: bool = True
    counts: bool = True
    caches: bool = True
    window: int | None = 131_072
    refused: tuple[str, ...] = ()
    asked: int = 0
    prompts: list[str] = field(default_factory=list)

    async def reply(self, request: web.Request) -> web.StreamResponse:
        """Answer one request by its abilities."""
        body = await request.json()
        self.asked += 1
        for name in self.refused:
            if name in body:
                return await replied(400, {"error": {"message": f"{name} is not supported"}})(request)
        if self.window and body["max_tokens"] > self.window:
            said = f"This model's maximum context length is {self.window} tokens and your request has 9 input"
            return await replied(400, {"error": {"message": said}})(request)
        if body.get("stream") and self.streams:
            return await spoken("rea", "dy", usage=self.usage(body))(request)
        usage = self.usage(body)
        if self.tools and "tools" in body:
            call = {"id": "c1", "function": {"name": "report", "arguments": '{"value": 7}'}}
            return await completion(None, finish="tool_calls", tool_calls=[call], usage=usage)(request)
        return await completion(self.text(body), usage=usage)(request)

    def text(self, body: dict[str, Any]) -> str:
        """A reply that follows a schema, and a seed, if it can."""
        if self.schema and "response_format" in body:
            properties = body["response_format"]["json_schema"]["schema"]["properties"]
            return json.dumps({name: form["enum"][0] for name, form in properties.items()})
        if "sentence" in body["messages"][0]["content"]:
            return f"by seed {body['seed']}" if self.seeded else f"by chance {self.asked}"
        return "ready"

    def usage(self, body: dict[str, Any]) -> dict[str, Any]:
        """Tokens, of which a prompt that was seen before is cached."""
        prompt = body["messages"][0]["content"]
        seen, tokens = prompt in self.prompts, len(prompt) // 4
        self.prompts.append(prompt)
        if not self.counts:
            return {}
        cached = tokens if seen and self.caches else 0
        return {
            "prompt_tokens": tokens,
            "completion_tokens": 2,
            "prompt_tokens_details": {"cached_tokens": cached},
        }


@asynccontextmanager
async def served(model: Served) -> AsyncIterator[FaultyServer]:
    """Serve `model` on a free port of loopback."""
    async with faulty(model.reply) as server:
        yield server
