"""The gateway's HTTP side, over real sockets: what passes, what is counted, refused, cut, and never told."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp.test_utils import TestServer

from pipeline.backbone.config import BackboneConfig
from pipeline.backbone.gateway.http import Gateway, Route
from pipeline.backbone.gateway.meter import Allowance
from pipeline.backbone.scripted.script import Call, Line, Script
from pipeline.backbone.scripted.server import application
from pipeline.backbone.serving import Endpoint
from tests.backbone.faults import (
    DONE,
    Step,
    chunk,
    completion,
    cut,
    event,
    faulty,
    hang,
    replied,
    reset,
    spoken,
    streamed,
)
from tests.backbone.requests import hasty

CANARY = "sk-canary-1f2e3d4c5b6a"
APIS = ("chat/completions", "responses", "messages")
LINE = Line(reply="so", tool_calls=(Call(name="search"), Call(name="read")))
OVERFLOW = (
    "This model's maximum context length is 2048 tokens. However, your prompt contains at least 2049 input "
    "tokens. Please reduce the length of the input messages."
)


@asynccontextmanager
async def gateway(
    *steps: Step, backbone: BackboneConfig | None = None, **endpoint: Any
) -> AsyncIterator[tuple[Gateway, Any]]:
    async with (
        faulty(*steps) as server,
        Gateway(replace(server.endpoint, **endpoint), backbone or hasty()) as made,
    ):
        yield made, server


def body(api: str, stream: bool = False) -> dict[str, Any]:
    said = [{"role": "user", "content": "question"}]
    asked = {"model": "m", "stream": stream, "max_tokens": 64}
    if api == "chat/completions":
        asked["stream_options"] = {"include_usage": True}
    return asked | {"input" if api == "responses" else "messages": said}


async def post(
    gateway: Gateway, route: Route, api: str, asked: Any, headers: dict[str, str] | None = None
) -> tuple[int, bytes]:
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{gateway.address}{route.path}/{api}", json=asked, headers=headers) as reply,
    ):
        return reply.status, await reply.read()


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("api", APIS)
async def test_a_reply_passes_byte_for_byte_and_is_counted(api: str, stream: bool) -> None:
    async with TestServer(application(Script([LINE]))) as upstream, aiohttp.ClientSession() as session:
        url = str(upstream.make_url("/v1"))
        async with session.post(f"{url}/{api}", json=body(api, stream)) as direct:
            expected = await direct.read()
        async with Gateway(Endpoint((url,), "m", node_local=True), hasty()) as passing:
            route = passing.open("e", Allowance())
            status, passed = await post(passing, route, api, body(api, stream))
    # The server says how much it had cached, so only the counts of a repeated request differ.
    assert status == 200 and _plain(passed) == _plain(expected)
    meter = route.meter
    assert (meter.turns, meter.tool_calls, meter.unmetered) == (1, 2, 0)
    assert meter.prompt > 0 and meter.completion > 0
    (record,) = route.records
    assert (record.status, record.error, record.usage.prompt) == (200, None, meter.prompt)
    assert (record.first_token_s is not None) == stream


def _plain(text: bytes) -> list[Any]:
    def without(value: Any) -> Any:
        if isinstance(value, dict):
            return {
                k: without(v) for k, v in value.items() if "usage" not in k and k not in ("id", "created")
            }
        return [without(item) for item in value] if isinstance(value, list) else value

    lines = [line.removeprefix(b"data: ") for line in text.splitlines()]
    return [without(json.loads(line)) for line in lines if line.startswith(b"{")]


async def test_cached_tokens_of_each_api_are_counted() -> None:
    async with TestServer(application(Script([LINE, LINE]))) as upstream:
        url = str(upstream.make_url("/v1"))
        async with Gateway(Endpoint((url,), "m", node_local=True), hasty()) as passing:
            for api in APIS:
                for stream in (False, True):
                    route = passing.open("e", Allowance())
                    for _ in range(2):
                        await post(passing, route, api, body(api, stream))
                    assert 0 < route.meter.cached <= route.meter.prompt, (api, stream)


async def test_a_stream_is_passed_as_it_comes() -> None:
    gate = asyncio.Event()

    async def step(request: Any) -> Any:
        reply = aiohttp.web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await reply.prepare(request)
        await reply.write(chunk(content="first"))
        await gate.wait()
        await reply.write(chunk("stop") + DONE)
        return reply

    async with gateway(step) as (passing, _), aiohttp.ClientSession() as session:
        route = passing.open("e", Allowance())
        url = f"{passing.address}{route.path}/chat/completions"
        async with session.post(url, json=body("chat/completions", True)) as reply:
            assert await reply.content.readany() == chunk(content="first")  # before the rest was sent
            gate.set()
            assert await reply.content.read() == chunk("stop") + DONE
    assert route.meter.turns == route.meter.unmetered == 1


@pytest.mark.parametrize("api", APIS)
async def test_a_turn_past_the_limit_is_refused_in_the_apis_own_shape(api: str) -> None:
    async with TestServer(application(Script([LINE]))) as upstream:
        url = str(upstream.make_url("/v1"))
        async with Gateway(Endpoint((url,), "m", node_local=True), hasty()) as passing:
            route = passing.open("e", Allowance(turns=1))
            assert (await post(passing, route, api, body(api)))[0] == 200
            status, said = await post(passing, route, api, body(api))
    error = json.loads(said)
    assert status == 400 and error["error"]["type"] == "invalid_request_error"
    assert "turns = 1" in error["error"]["message"] and (error.get("type") == "error") == (api == "messages")
    assert (route.meter.turns, route.meter.refused, route.meter.limit_hit) == (1, 1, "turns")


@pytest.mark.parametrize(
    "fault",
    [
        replied(500, "broken"),
        replied(429, "slow"),
        reset,
        cut,
        replied(200, "{"),
        replied(200, "{}"),
        streamed(event(b'{"no')),
    ],
)
async def test_what_fails_before_anything_was_passed_is_tried_again(fault: Step) -> None:
    async with gateway(fault, completion("at last")) as (passing, server):
        route = passing.open("e", Allowance())
        status, said = await post(passing, route, "chat/completions", body("chat/completions"))
    assert (status, json.loads(said)["choices"][0]["message"]["content"]) == (200, "at last")
    assert [record.error is None for record in route.records] == [False, True]
    assert (route.meter.turns, len(server.bodies), route.failures) == (1, 2, [])


@pytest.mark.parametrize(
    ("fault", "status"),
    [(hang, 504), (reset, 502), (replied(503, "loading"), 502), (streamed(end="open"), 504)],
)
@pytest.mark.parametrize("api", APIS)
async def test_what_stays_broken_is_said_in_the_apis_own_shape_and_is_no_turn(
    fault: Step, status: int, api: str
) -> None:
    quick = hasty(first_byte_timeout=0.1, attempts=2)
    async with gateway(fault, backbone=quick) as (passing, _):
        route = passing.open("e", Allowance(turns=1))
        for _ in range(2):  # and doesn't use up the limit
            got, said = await post(passing, route, api, body(api, stream=True))
            assert got in (status, 503)  # the second time, maybe: nobody is there, after failures in a row
            assert json.loads(said)["error"]["type"] == "api_error"
    assert (route.meter.turns, len(route.failures)) == (0, 2)


@pytest.mark.parametrize(
    "fault",
    [
        streamed(chunk(content="par"), end="open"),
        streamed(chunk(content="par"), end="aborted"),
        streamed(chunk(content="par")),
    ],
)
async def test_a_stream_that_stalls_or_is_cut_is_cut_for_whoever_asked(fault: Step) -> None:
    async with gateway(fault, backbone=hasty(stall_timeout=0.2)) as (passing, server):
        route = passing.open("e", Allowance())
        with pytest.raises(aiohttp.ClientError):
            await post(passing, route, "chat/completions", body("chat/completions", True))
        for _ in range(200):
            if route.failures:
                break
            await asyncio.sleep(0.01)
    assert (route.meter.turns, len(route.failures), len(server.bodies)) == (0, 1, 1)


async def test_an_error_within_a_stream_is_passed_and_is_no_turn() -> None:
    failed = event({"type": "response.failed", "response": {"error": {"code": "server_error"}}})
    async with gateway(streamed(failed)) as (passing, _):
        route = passing.open("e", Allowance())
        assert await post(passing, route, "responses", body("responses", True)) == (200, failed)
    assert (route.meter.turns, len(route.failures)) == (0, 1)


@pytest.mark.parametrize(
    ("api", "said"),
    [
        ("messages", "prompt is too long: 2049 tokens > 2048 maximum"),
        ("responses", "Your input exceeds the context window of this model."),
        ("chat/completions", "Your input exceeds the context window of this model."),
    ],
)
async def test_an_overflow_is_said_in_the_clients_own_words_only_where_asked_for(api: str, said: str) -> None:
    refused = {
        "error": {"message": OVERFLOW, "type": "BadRequestError", "param": "input_tokens", "code": 400}
    }
    async with gateway(replied(400, refused)) as (passing, server):
        stock = passing.open("e", Allowance(), translate=True)
        status, words = await post(passing, stock, api, body(api))
        assert status == 400 and said in json.loads(words)["error"]["message"]
        lean = passing.open("f", Allowance())
        assert await post(passing, lean, api, body(api)) == (400, json.dumps(refused).encode())
    assert [record.finish for record in (*stock.records, *lean.records)] == ["context_overflow"] * 2
    assert len(server.bodies) == 2 and stock.failures == lean.failures == []


async def test_the_key_is_added_and_never_told_and_whoevers_key_goes_no_further(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("CANARY_KEY", CANARY)
    caplog.set_level(logging.DEBUG)
    echoes = (
        replied(401, {"error": {"message": f"Incorrect API key provided: {CANARY}"}}),
        replied(500, f"Traceback: {CANARY}"),
        completion("fine"),
    )
    given = {"Authorization": "Bearer of-the-arm", "x-api-key": "of-the-arm", "anthropic-version": "2023"}
    async with gateway(*echoes, api_key_env="CANARY_KEY") as (passing, server):
        route = passing.open("e", Allowance())
        told = [await post(passing, route, "messages", body("messages"), given) for _ in range(2)]
    assert set(server.authorizations) == {f"Bearer {CANARY}"}
    assert all("of-the-arm" not in repr(headers) for headers in server.headers)
    assert server.headers[0]["anthropic-version"] == "2023"
    assert CANARY not in repr(told) + repr(route) + caplog.text


async def test_a_key_that_a_reply_repeats_reaches_neither_whoever_asked_nor_a_record(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CANARY_KEY", CANARY)
    said = {"model": CANARY, "choices": [{"message": {"content": CANARY}, "finish_reason": CANARY}]}
    echoes = replied(200, said, X_Echo=f"Bearer {CANARY}"), spoken("so", CANARY), replied(200, said)
    given = {"api-key": "of-the-arm", "x-goog-api-key": "of-the-arm"}
    async with (
        gateway(*echoes, api_key_env="CANARY_KEY") as (passing, server),
        aiohttp.ClientSession() as session,
    ):
        route = passing.open("e", Allowance())
        for api, stream in (
            ("chat/completions", False),
            ("chat/completions", True),
            ("messages/count_tokens", False),
        ):
            url = f"{passing.address}{route.path}/{api}"
            async with session.post(url, json=body("chat/completions", stream), headers=given) as reply:
                assert CANARY not in repr(reply.headers) + await reply.text() and reply.status == 200
    assert CANARY not in repr(route) and route.meter.turns == 2
    assert all("of-the-arm" not in repr(headers) for headers in server.headers)


@pytest.mark.parametrize("api", ["chat/completions", "messages/count_tokens"])
async def test_a_redirect_leads_nowhere(api: str) -> None:
    async with faulty(completion()) as elsewhere:
        moved = replied(307, "moved", Location=f"{elsewhere.url}/chat/completions")
        async with gateway(moved) as (passing, _):
            status, _ = await post(passing, passing.open("e", Allowance()), api, body("messages"))
    assert status == 307 and elsewhere.bodies == []


@pytest.mark.parametrize(
    ("usage", "counted"),
    [
        ({"prompt_tokens": "12", "completion_tokens": None}, (12, 0, 0)),
        ({"prompt_tokens": -5, "completion_tokens": 3}, (0, 0, 1)),
        ({"prompt_tokens": 2**40}, (0, 0, 1)),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
async def test_a_turn_of_a_usage_that_is_no_count_is_a_turn(
    usage: dict[str, Any], counted: tuple[int, int, int], stream: bool
) -> None:
    step = spoken("text", usage=usage) if stream else completion("text", usage=usage)
    async with gateway(step) as (passing, _):
        route = passing.open("e", Allowance())
        assert (await post(passing, route, "chat/completions", body("chat/completions", stream)))[0] == 200
    meter = route.meter
    assert meter.turns == 1 and (meter.prompt, meter.completion, meter.unmetered) == counted


async def test_events_without_data_pass() -> None:
    sent = b"data:\n\n", b": ping\n\n", chunk(content="text"), chunk("stop"), DONE
    async with gateway(streamed(*sent)) as (passing, _):
        route = passing.open("e", Allowance())
        asked = body("chat/completions", True)
        assert await post(passing, route, "chat/completions", asked) == (200, b"".join(sent))
    assert route.meter.turns == 1


async def test_a_body_that_is_not_packed_as_it_says_is_refused() -> None:
    async with gateway(completion()) as (passing, server), aiohttp.ClientSession() as session:
        url = f"{passing.address}{passing.open('e', Allowance()).path}/messages"
        async with session.post(url, data=b"garbage", headers={"Content-Encoding": "gzip"}) as reply:
            assert reply.status == 400 and (await reply.json())["type"] == "error"
    assert server.bodies == []


async def test_only_who_knows_a_route_gets_through_and_only_while_it_is_open() -> None:
    async with gateway(completion()) as (passing, server):
        route, other = passing.open("e", Allowance()), passing.open("f", Allowance())
        assert route.path != other.path
        guessed = Route("e", "/e/guessed/v1", route.meter)
        assert (await post(passing, guessed, "chat/completions", {}))[0] == 404
        assert (await post(passing, route, "embeddings", {}))[0] == 404
        assert (await post(passing, route, "chat/completions", [1]))[0] == 400
        passing.close(route)
        assert (await post(passing, route, "chat/completions", {}))[0] == 404
        assert server.bodies == []


async def test_a_query_and_what_is_no_turn_are_passed_uncounted() -> None:
    async with gateway(completion()) as (passing, server):
        server.looks = {"/v1/models": '{"data": []}'}
        route = passing.open("e", Allowance(turns=1))
        assert (await post(passing, route, "messages/count_tokens", body("messages")))[0] == 200
        await post(passing, route, "chat/completions?beta=%23%0d%0a", body("chat/completions"))
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"{passing.address}{route.path}/models") as models,
        ):
            assert await models.json(content_type=None) == {"data": []}
    assert server.asked == ["/v1/messages/count_tokens", "/v1/chat/completions?beta=%23%0D%0A"]
    assert route.meter.turns == 1


async def test_it_listens_on_a_unix_socket(tmp_path: Path) -> None:
    path = tmp_path / "gateway.sock"
    async with faulty(spoken("text")) as server, Gateway(server.endpoint, hasty(), socket=path) as passing:
        route = passing.open("e", Allowance())
        assert passing.address == str(path)
        async with (
            aiohttp.ClientSession(connector=aiohttp.UnixConnector(str(path))) as session,
            session.post(
                f"http://gateway{route.path}/chat/completions", json=body("chat/completions", True)
            ) as reply,
        ):
            assert b"text" in await reply.read()
    assert (route.meter.turns, route.meter.prompt) == (1, 12)


async def test_who_hangs_up_leaves_no_request_behind() -> None:
    async with gateway(streamed(chunk(content="par"), end="open")) as (passing, _):
        route = passing.open("e", Allowance())
        async with aiohttp.ClientSession() as session:
            url = f"{passing.address}{route.path}/chat/completions"
            async with session.post(url, json=body("chat/completions", True)) as reply:
                await reply.content.readany()
        traffic: Any = passing._traffic
        for _ in range(500):
            if not traffic._grants:
                break
            await asyncio.sleep(0.01)
        assert not traffic._grants
        assert (route.meter.turns, route.meter.unmetered) == (1, 1)  # what was seen of it is not for nothing
    (record,) = route.records
    assert record.error == "connection: whoever asked has hung up"


async def test_an_episodes_routes_stay_on_one_replica() -> None:
    async with faulty(completion("a")) as a, faulty(completion("b")) as b:
        endpoint = replace(a.endpoint, urls=(a.url, b.url))
        async with Gateway(endpoint, hasty()) as passing:
            routes = [passing.open(f"e{n}", Allowance()) for n in range(6)]
            for _ in range(3):
                for route in routes:
                    await post(passing, route, "chat/completions", body("chat/completions"))
    assert all(len({record.replica for record in route.records}) == 1 for route in routes)
    assert (len(a.bodies), len(b.bodies)) == (9, 9)
