"""The chat client against a real vLLM: what it constrains, refuses and counts."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from pipeline.backbone.client import ChatClient
from pipeline.backbone.serving import Endpoint
from pipeline.errors import BackboneUnavailable, ModelRequestFailed
from pipeline.protocols import Message, Request, Sampling
from tests.backbone.requests import SCHEMA, ask, hasty
from tests.backbone.serving.processes import alive, descendants, within
from tests.backbone.vllm_cpu.server import MODEL, STARTUP
from tests.backbone.vllm_cpu.test_evaluate import server

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(900)]


async def test_a_schema_constrains_the_reply(vllm: Endpoint) -> None:
    async with ChatClient(vllm, hasty()) as client:
        replies = await asyncio.gather(
            *(client.complete(ask(schema=SCHEMA, seed=n, max_tokens=200)) for n in range(8))
        )
    for reply in replies:
        assert reply.finish == "stop"
        assert list(json.loads(reply.text)) == ["name"]
    assert len({reply.text for reply in replies}) > 1


async def test_a_seed_gives_the_same_reply_again(vllm: Endpoint) -> None:
    async with ChatClient(vllm, hasty()) as client:
        first, second = [
            await client.complete(ask(seed=5, sampling=Sampling(temperature=1.0))) for _ in range(2)
        ]
    assert first.text == second.text


async def test_cached_tokens_of_a_repeated_prefix_are_reported(vllm: Endpoint) -> None:
    system = Message("system", "Receipts and expenditures of the United States. " * 60)
    async with ChatClient(vllm, hasty()) as client:
        replies = [
            await client.complete(Request((system, Message("user", question)), 8))
            for question in ("What were receipts?", "What were expenditures?")
        ]
    first, second = (reply.usage for reply in replies)
    assert first.prompt > 300 and first.completion > 0
    assert second.cached >= 0.8 * second.prompt


async def test_a_prompt_beyond_the_window_is_an_overflow(vllm: Endpoint) -> None:
    async with ChatClient(vllm, hasty()) as client:
        with pytest.raises(ModelRequestFailed) as raised:
            await client.complete(ask("1 2 3 4 5 6 7 8 9 " * 20_000))
    assert raised.value.kind == "context_overflow"


async def test_a_model_that_is_not_served_is_the_configurations_fault(vllm: Endpoint) -> None:
    other = Endpoint(vllm.urls, "another", node_local=True)
    async with ChatClient(other, hasty()) as client:
        with pytest.raises(BackboneUnavailable, match=r"not_found.*backbone\.model"):
            await client.complete(ask())


async def post(vllm: Endpoint, path: str, body: dict[str, Any]) -> tuple[int, str]:
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{vllm.urls[0]}/{path}", json={"model": MODEL} | body) as response,
    ):
        return response.status, await response.text()


async def test_the_responses_api_is_there_streams_included(vllm: Endpoint) -> None:
    body = {"input": "hello", "max_output_tokens": 8}
    status, text = await post(vllm, "responses", body)
    assert (status, json.loads(text)["object"]) == (200, "response"), text
    assert json.loads(text)["usage"]["output_tokens"] > 0
    status, text = await post(vllm, "responses", body | {"stream": True})
    assert status == 200 and "response.created" in text


async def test_the_messages_api_is_there_streams_included(vllm: Endpoint) -> None:
    body = {"messages": [{"role": "user", "content": "hello"}], "max_tokens": 8}
    status, text = await post(vllm, "messages", body)
    assert (status, json.loads(text)["type"]) == (200, "message"), text
    assert json.loads(text)["usage"]["output_tokens"] > 0
    status, text = await post(vllm, "messages", body | {"stream": True})
    assert status == 200 and "message_stop" in text


async def test_a_replica_whose_engine_was_killed_answers_again(vllm: Endpoint, model: Path) -> None:
    """The last test of this folder: the server that all share is a new one after it."""
    log = model.parent / "vllm-0.log"
    old = server(log)
    family = {pid: Path(f"/proc/{pid}/cmdline").read_bytes() for pid in descendants(old)}
    engine = next(pid for pid, command in family.items() if b"EngineCore" in command)
    os.kill(engine, signal.SIGKILL)
    async with ChatClient(vllm, hasty(patience=STARTUP, max_backoff=2.0)) as client:
        assert within(60, lambda: not alive(old))  # vLLM gives up by itself
        reply = await client.complete(ask(seed=1))
    assert reply.finish in ("stop", "length") and server(log) != old
