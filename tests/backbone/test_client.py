"""The chat client: what it sends, what it reads, how it waits, and what it never tells."""

from __future__ import annotations

import asyncio
import logging
import pickle
from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.backbone.client import ChatClient
from pipeline.backbone.config import ClientConfig
from pipeline.backbone.failures import Failure
from pipeline.backbone.serving import Endpoint
from pipeline.backbone.transport import pause
from pipeline.backbone.wire import Form, encode
from pipeline.errors import BackboneUnavailable, ConfigError, ModelRequestFailed
from pipeline.protocols import Message, Request, Sampling, ToolCall, Usage
from tests.backbone.faults import completion, faulty, hang, replied, reset
from tests.backbone.requests import SCHEMA, TOOL, ask, hasty

CALL = ToolCall("chatcmpl-tool-1", "search", '{"name": "é"}')
CANARY = "sk-canary-1f2e3d4c5b6a"


async def test_a_reply_is_read_whole() -> None:
    step = completion("text", reasoning_content="because")
    async with faulty(step) as server, ChatClient(server.endpoint, hasty()) as client:
        reply = await client.complete(ask(schema=SCHEMA, seed=7, sampling=Sampling(0.5, extra={"top_k": 3})))
    assert (reply.text, reply.reasoning, reply.finish, reply.model) == ("text", "because", "stop", "served")
    assert reply.usage == Usage(prompt=12, cached=8, completion=3)
    assert server.url.removesuffix("/v1").endswith(reply.replica)
    assert server.bodies == [
        {
            "model": "asked-for",
            "max_tokens": 16,
            "seed": 7,
            "temperature": 0.5,
            "top_k": 3,
            "stream": True,
            "stream_options": {"include_usage": True},
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "operation", "schema": SCHEMA, "strict": True},
            },
            "messages": [{"role": "user", "content": "hello"}],
        }
    ]


async def test_reasoning_is_read_under_its_other_name() -> None:
    async with (
        faulty(completion("text", reasoning="because")) as server,
        ChatClient(server.endpoint, hasty()) as client,
    ):
        assert (await client.complete(ask())).reasoning == "because"


async def test_tools_are_sent_and_calls_are_read_with_what_was_said_and_thought() -> None:
    calls = [CALL.as_json(), {"function": {"name": "final"}}]
    step = completion(None, finish="tool_calls", tool_calls=calls, reasoning="because")
    request = ask(tools=(TOOL,), tool_choice="required")
    async with faulty(step) as server, ChatClient(server.endpoint, hasty()) as client:
        reply = await client.complete(request)
    assert (reply.text, reply.reasoning, reply.finish) == ("", "because", "tool_calls")
    assert reply.tool_calls == (CALL, ToolCall("", "final", ""))
    body = server.bodies[0]
    assert (body["tools"], body["tool_choice"], body["parallel_tool_calls"]) == ([TOOL], "required", False)
    assert "response_format" not in body


async def test_a_reply_with_tools_may_be_text_alone() -> None:
    async with (
        faulty(completion("no call", tool_calls=[])) as server,
        ChatClient(server.endpoint, hasty()) as client,
    ):
        reply = await client.complete(ask(tools=(TOOL,)))
    assert (reply.text, reply.tool_calls) == ("no call", ())


def test_without_tools_none_of_their_fields_is_sent() -> None:
    body = orjson.loads(encode(ask(), "m"))
    assert {"tools", "tool_choice", "parallel_tool_calls"}.isdisjoint(body)


def test_extra_sampling_takes_out_a_field_of_tools_that_a_server_refuses() -> None:
    request = ask(tools=(TOOL,), sampling=Sampling(extra={"parallel_tool_calls": None}))
    body = orjson.loads(encode(request, "m"))
    assert "parallel_tool_calls" not in body and body["tools"] == [TOOL]


async def test_a_reply_cut_for_length_is_returned_even_if_nothing_was_said() -> None:
    async with (
        faulty(completion("", finish="length")) as server,
        ChatClient(server.endpoint, hasty()) as client,
    ):
        reply = await client.complete(ask())
    assert (reply.text, reply.finish) == ("", "length")


async def test_missing_usage_is_recorded_as_nothing_and_said_once(caplog: pytest.LogCaptureFixture) -> None:
    body = {"choices": [{"message": {"content": "fine"}}]}
    async with faulty(replied(200, body)) as server, ChatClient(server.endpoint, hasty()) as client:
        replies = [await client.complete(ask()) for _ in range(2)]
    assert [reply.usage for reply in replies] == [Usage(), Usage()]
    assert replies[0].finish == "stop"
    assert caplog.text.count("no token usage") == 1


@pytest.mark.parametrize("prompt", [-5, 10**30])
async def test_a_usage_of_impossible_counts_is_recorded_as_nothing(prompt: int) -> None:
    step = completion("text", usage={"prompt_tokens": prompt, "completion_tokens": 3})
    async with faulty(step) as server, ChatClient(server.endpoint, hasty()) as client:
        assert (await client.complete(ask())).usage == Usage()


async def test_connections_are_reused() -> None:
    async with faulty(completion()) as server, ChatClient(server.endpoint, hasty()) as client:
        for _ in range(20):
            await client.complete(ask())
        assert len(server.connections) <= 2  # one may be for a look at its metrics, at the same time
        await asyncio.gather(*(client.complete(ask()) for _ in range(30)))
        await asyncio.gather(*(client.complete(ask()) for _ in range(30)))
    assert len(server.bodies) == 80
    assert len(server.connections) <= 30


async def test_retry_after_is_obeyed(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    def noted(*given: Any) -> float:
        waits.append(pause(*given))
        return waits[-1]

    monkeypatch.setattr("pipeline.backbone.client.pause", noted)
    async with (
        faulty(replied(429, "", Retry_After="0.1"), completion()) as server,
        ChatClient(server.endpoint, hasty(patience=5.0)) as client,
    ):
        await client.complete(ask())
    (wait,) = waits
    assert 0.1 <= wait <= 0.101


@given(st.integers(1, 10_000), st.integers())
def test_waits_are_random_below_a_bound_that_doubles(tries: int, seed: int) -> None:
    config = ClientConfig(backoff=0.5, max_backoff=15.0, patience=150.0)
    wait = pause(config, Failure("server_error", ""), tries, Random(seed))
    assert 0 <= wait <= min(15.0, 0.5 * 2 ** min(tries - 1, 5))
    assert wait != pause(config, Failure("server_error", ""), tries, Random(seed + 1))
    asked = pause(config, Failure("rate_limited", "", retry_after=1e9), tries, Random(seed))
    assert 150.0 <= asked <= 150.5  # a server that asks for more than the patience gets no more


def test_a_replica_that_restarts_is_waited_for_by_default() -> None:
    assert ClientConfig().patience > 90


async def test_patience_outlasts_a_server_that_is_started_anew() -> None:
    fails = [reset] * 12
    async with (
        faulty(*fails, completion("back")) as server,
        ChatClient(server.endpoint, hasty(attempts=2, patience=30.0)) as client,
    ):
        reply = await client.complete(ask())
    assert reply.text == "back"
    assert [record.error is None for record in reply.requests] == [False, False, False, True]
    canaries = [body for body in server.bodies if "ready" in body["messages"][0]["content"]]
    assert len(canaries) == 10 and len(server.bodies) == 14  # the last of them was answered


async def test_patience_holds_for_a_server_that_is_up_and_fails() -> None:
    async with (
        faulty(*[replied(503, "loading")] * 12, completion("back")) as server,
        ChatClient(server.endpoint, hasty(attempts=2, patience=30.0)) as client,
    ):
        assert len((await client.complete(ask())).requests) == 13


async def test_patience_ends() -> None:
    async with (
        faulty(replied(500, "")) as server,
        ChatClient(server.endpoint, hasty(attempts=1, patience=0.3)) as client,
    ):
        with pytest.raises(BackboneUnavailable, match=r"after \d+ tries"):
            await client.complete(ask())
    assert len(server.bodies) > 1  # more than its attempts, and no longer than its patience


async def test_a_cancelled_request_lets_go_of_its_connection() -> None:
    async with faulty(hang) as server, ChatClient(server.endpoint, hasty()) as client:
        task = asyncio.create_task(client.complete(ask()))
        while not server.bodies:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_an_unreachable_server_is_named_with_what_to_do() -> None:
    async with faulty(completion()) as gone:
        pass
    async with ChatClient(gone.endpoint, hasty()) as client:
        with pytest.raises(BackboneUnavailable, match=r"asked-for.*connection.*Check that the server runs"):
            await client.complete(ask())


async def test_an_episode_moves_to_another_replica_when_its_own_dies_and_stays_there() -> None:
    async with faulty(completion("a")) as a, faulty(completion("b")) as b:
        endpoint = replace(a.endpoint, urls=(a.url, b.url))
        async with ChatClient(endpoint, hasty(backoff=10.0, max_backoff=0.01)) as client:
            homes = {name: (await client.complete(ask(episode=name))).text for name in "0123456789"}
            assert Counter(homes.values()) == {"a": 5, "b": 5}
            for name, home in homes.items():
                assert (await client.complete(ask(episode=name))).text == home
            b.steps = [reset]
            moved = [await client.complete(ask(episode=name)) for name in homes]
            assert {reply.text for reply in moved} == {"a"}
            # Two episodes found it, by three failures in a row; the rest knew.
            assert [len(reply.requests) for reply in moved if len(reply.requests) > 1] == [3, 2]
            b.steps = [completion("b")]
            assert {(await client.complete(ask(episode=name))).text for name in homes} == {"a"}


async def test_one_failure_moves_no_episode() -> None:
    async with faulty(completion("a")) as a, faulty(completion("b")) as b:
        endpoint = replace(a.endpoint, urls=(a.url, b.url))
        async with ChatClient(endpoint, hasty()) as client:
            homes = {name: (await client.complete(ask(episode=name))).text for name in "0123"}
            for server, text in ((a, "a"), (b, "b")):
                server.steps = [replied(500, "once"), completion(text)]
            assert {name: (await client.complete(ask(episode=name))).text for name in "0123"} == homes


async def test_the_key_is_sent_and_never_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("CANARY_KEY", CANARY)
    caplog.set_level(logging.DEBUG)
    told: list[str] = []
    echoes = [
        replied(401, {"error": {"message": f"Incorrect API key provided: {CANARY}"}}),
        replied(500, f"Traceback: Authorization: Bearer {CANARY}"),
        replied(400, {"error": {"message": f"bad request with {CANARY}"}}),
        replied(200, f"not JSON {CANARY}"),
        replied(307, "", Location=f"http://127.0.0.1:9/{CANARY}"),
        reset,
        completion("fine"),
    ]
    for step in echoes:
        async with faulty(step) as server:
            endpoint = Endpoint((server.url,), "asked-for", api_key_env="CANARY_KEY")
            async with ChatClient(endpoint, hasty()) as client:
                try:
                    told.append(repr(await client.complete(ask())))
                except (ModelRequestFailed, BackboneUnavailable) as error:
                    told += [str(error), repr(error), repr(error.requests), repr(_chain(error))]
                    told.append(pickle.dumps(error.args).decode("latin-1"))
                told += [repr(client), repr(endpoint)]
            assert set(server.authorizations) == {f"Bearer {CANARY}"}
    assert not [text for text in told if CANARY in text]
    assert CANARY not in caplog.text


def _chain(error: BaseException) -> list[BaseException]:
    chain: list[BaseException] = []
    following: BaseException | None = error
    while following is not None:
        chain.append(following)
        following = following.__cause__ or following.__context__
    return chain


@pytest.mark.parametrize("value", [None, "", "two\nlines"])
def test_a_missing_or_impossible_key_is_an_error_that_names_its_variable(
    value: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if value is None:
        monkeypatch.delenv("CANARY_KEY", raising=False)
    else:
        monkeypatch.setenv("CANARY_KEY", value)
    endpoint = Endpoint(("http://127.0.0.1:9/v1",), "asked-for", api_key_env="CANARY_KEY")
    with pytest.raises(ConfigError, match="CANARY_KEY"):
        ChatClient(endpoint, hasty())


roles = st.sampled_from(["system", "user", "assistant"])
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
messages = st.one_of(
    st.builds(Message, roles, texts),
    st.builds(Message, st.just("tool"), texts, tool_call_id=texts),
    st.builds(
        Message,
        st.just("assistant"),
        texts,
        tool_calls=st.tuples(st.builds(ToolCall, texts, texts, texts)),
    ),
)


def as_json(message: Message) -> dict[str, Any]:
    """A message as the API has it."""
    fields: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        fields["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        fields["tool_call_id"] = message.tool_call_id
    return fields


@given(st.lists(messages, min_size=1, max_size=6), st.booleans())
def test_a_body_is_the_json_of_its_request(messages: list[Message], schema: bool) -> None:
    request = Request(tuple(messages), 16, schema=SCHEMA, seed=3)
    body = orjson.loads(encode(request, "m", Form(schema=schema)))
    assert body["messages"] == [as_json(message) for message in messages]
    assert body["seed"] == 3
    assert (body["model"], body["max_tokens"]) == ("m", 16)
    assert ("response_format" in body) == schema


def test_extra_sampling_takes_fields_out_and_puts_others_in() -> None:
    extra = {"max_tokens": None, "max_completion_tokens": 9, "seed": None}
    body = orjson.loads(encode(ask(sampling=Sampling(extra=extra)), "m"))
    assert body == {
        "model": "m",
        "max_completion_tokens": 9,
        "messages": [{"role": "user", "content": "hello"}],
    }


def test_a_message_is_serialised_once_however_often_it_is_sent() -> None:
    message = Message("user", "hello")
    encode(Request((message,), 1), "m")
    kept = message.encoded
    encode(Request((message, Message("assistant", "yes")), 1), "m")
    assert message.encoded is kept
