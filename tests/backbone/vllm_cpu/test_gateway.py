"""Client, traffic and gateway against a real vLLM: what it streams, says of itself, and what is counted."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import aiohttp
import pytest

from pipeline.backbone.client import ChatClient
from pipeline.backbone.gateway.http import Gateway
from pipeline.backbone.gateway.meter import Allowance
from pipeline.backbone.serving import Endpoint
from pipeline.backbone.traffic.upstream import Upstream
from pipeline.backbone.transport import Transport
from pipeline.protocols import Sampling
from tests.backbone.requests import SCHEMA, TOOL, ask, hasty

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(900)]

WINDOW = 32_768
SLOW = {"first_byte_timeout": 120.0, "stall_timeout": 60.0, "total_timeout": 240.0}


async def test_a_streamed_reply_says_what_a_whole_one_says(vllm: Endpoint) -> None:
    asked = [
        ask(schema=SCHEMA, seed=3, max_tokens=200),
        ask(seed=4, max_tokens=40, sampling=Sampling(temperature=1.0)),
        ask(seed=5, max_tokens=300, tools=(TOOL,), tool_choice="required"),
    ]
    replies = []
    for stream in (True, False):
        async with ChatClient(vllm, hasty(stream=stream, **SLOW)) as client:
            replies.append([await client.complete(request) for request in asked])
    for streamed, whole in zip(*replies, strict=True):
        assert (streamed.text, streamed.finish) == (whole.text, whole.finish)
        assert [(call.name, call.arguments) for call in streamed.tool_calls] == [
            (call.name, call.arguments) for call in whole.tool_calls
        ]
        assert (streamed.usage.prompt, streamed.usage.completion) == (
            whole.usage.prompt,
            whole.usage.completion,
        )
        (record,) = streamed.requests
        assert record.first_token_s is not None and record.first_token_s <= record.seconds
    assert replies[0][2].tool_calls


async def test_it_is_asked_for_its_window_and_its_kv_cache(vllm: Endpoint) -> None:
    backbone = hasty(**SLOW)
    async with Transport(vllm, backbone.client) as transport:
        upstream = Upstream(transport, backbone)
        assert await upstream.window(vllm.urls[0]) == WINDOW
        seen = await upstream.look(vllm.urls[0])
        assert await upstream.canary(vllm.urls[0])
    assert seen is not None and seen.kv_tokens is not None and seen.kv_tokens >= WINDOW
    assert seen.preemptions == 0 and 0 <= seen.usage < 1


async def test_a_reply_gets_what_the_prompt_leaves_of_the_window(vllm: Endpoint) -> None:
    text = "Receipts and expenditures of the United States in 1938. " * 1_200
    backbone = hasty(attempts=1, **SLOW)
    async with ChatClient(vllm, backbone) as client:
        first = await client.complete(ask(text, max_tokens=8, episode="long"))
        room = WINDOW - first.usage.prompt
        assert 0 < room < 30_000
        # Asked for more than there is: it is served all the same, and ends by itself or at the window.
        second = await client.complete(
            ask(text, max_tokens=WINDOW, episode="long", sampling=Sampling(extra={"stop": ["e", "a", " "]}))
        )
    assert len(second.requests) == 1 and second.usage.completion <= room
    async with ChatClient(vllm, backbone) as client:
        other = await client.complete(
            ask(text, max_tokens=WINDOW, sampling=Sampling(extra={"stop": ["e", "a", " "]}))
        )
    # A prompt that nothing is known of is corrected by what the refusal says, if it had to be.
    assert [record.status for record in other.requests] in ([200], [400, 200])


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("api", ["chat/completions", "responses", "messages"])
async def test_each_api_passes_the_gateway_and_is_counted(vllm: Endpoint, api: str, stream: bool) -> None:
    text = "Receipts and expenditures of the United States. " * 40
    said = [{"role": "user", "content": text}]
    limit = "max_output_tokens" if api == "responses" else "max_tokens"
    body: dict[str, Any] = {"model": vllm.model, "stream": stream, limit: 12}
    body |= {"input" if api == "responses" else "messages": said}
    if api == "chat/completions" and stream:
        body["stream_options"] = {"include_usage": True}
    async with Gateway(vllm, hasty(**SLOW)) as gateway, aiohttp.ClientSession() as session:
        route = gateway.open("e", Allowance(turns=2))
        statuses = []
        for _ in range(3):
            async with session.post(f"{gateway.address}{route.path}/{api}", json=body) as reply:
                statuses.append((reply.status, await reply.read()))
        translated = gateway.open("f", Allowance(), translate=True)
        long = body | {
            "input" if api == "responses" else "messages": [{"role": "user", "content": text * 200}]
        }
        async with session.post(f"{gateway.address}{translated.path}/{api}", json=long) as reply:
            refused = await reply.read()
    assert [status for status, _ in statuses] == [200, 200, 400]
    meter = route.meter
    assert (meter.turns, meter.unmetered, meter.limit_hit) == (2, 0, "turns")
    assert meter.prompt > 300 and meter.completion == 24
    assert all(record.first_token_s is not None for record in route.records) == stream
    assert translated.records[-1].finish == "context_overflow"
    words = "prompt is too long: " if api == "messages" else "exceeds the context window"
    assert words in json.loads(refused)["error"]["message"]


async def test_requests_at_a_time_stay_within_its_kv_cache_without_a_preemption(vllm: Endpoint) -> None:
    backbone = hasty(**SLOW)
    text = "Receipts and expenditures of the United States in 1938. " * 300
    async with ChatClient(vllm, backbone) as client:
        replies = await asyncio.gather(
            *(client.complete(ask(f"{n} {text}", max_tokens=16, episode=f"e{n}")) for n in range(24))
        )
        seen = await client._upstream.look(vllm.urls[0])
    assert all(reply.usage.prompt > 3_000 for reply in replies)
    assert seen is not None and seen.preemptions == 0
