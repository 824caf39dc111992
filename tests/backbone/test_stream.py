"""Streamed replies: put together from whatever chunks they come in; a cut one is never taken for whole."""

from __future__ import annotations

import asyncio

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.backbone.client import ChatClient
from pipeline.backbone.stream import Assembly, CutStream, Events
from pipeline.protocols import ToolCall, Usage
from tests.backbone.faults import DONE, USAGE, chunk, completion, event, faulty, spoken, streamed
from tests.backbone.requests import TOOL, ask, hasty


async def test_a_streamed_reply_is_read_whole_with_its_usage_and_first_token_time() -> None:
    async with faulty(spoken("some", " ", "text")) as server, ChatClient(server.endpoint, hasty()) as client:
        reply = await client.complete(ask())
    assert (reply.text, reply.finish, reply.model) == ("some text", "stop", "served")
    assert reply.usage == Usage(prompt=12, cached=8, completion=3)
    (record,) = reply.requests
    assert record.first_token_s is not None and 0 < record.first_token_s <= record.seconds
    assert server.bodies[0]["stream_options"] == {"include_usage": True}


async def test_reasoning_and_tool_calls_are_put_together() -> None:
    def called(index: int, **function: str) -> dict[str, object]:
        named = {"id": f"call{index}"} if "name" in function else {}
        return {"index": index, **named, "function": function}

    step = streamed(
        chunk(reasoning_content="I "),
        chunk(reasoning="think"),
        chunk(content="so"),
        chunk(tool_calls=[called(0, name="search", arguments="")]),
        chunk(tool_calls=[called(0, arguments='{"query"'), called(1, name="read", arguments="{}")]),
        chunk("tool_calls", tool_calls=[called(0, arguments=': "é"}')]),
        event({"choices": [], "usage": USAGE}),
        DONE,
    )
    async with faulty(step) as server, ChatClient(server.endpoint, hasty()) as client:
        reply = await client.complete(ask(tools=(TOOL,)))
    assert (reply.text, reply.reasoning, reply.finish) == ("so", "I think", "tool_calls")
    calls = ToolCall("call0", "search", '{"query": "é"}'), ToolCall("call1", "read", "{}")
    assert reply.tool_calls == calls


async def test_usage_that_is_sent_twice_counts_once() -> None:
    step = streamed(
        chunk(content="text"),
        event({"choices": [], "usage": {"prompt_tokens": 12, "completion_tokens": 1}}),
        chunk("stop"),
        event({"choices": [], "usage": USAGE}),
        event({"choices": [], "usage": USAGE}),
        DONE,
    )
    async with faulty(step) as server, ChatClient(server.endpoint, hasty()) as client:
        assert (await client.complete(ask())).usage == Usage(12, 8, 3)


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": 100_000, "completion_tokens": 3},
        {"prompt_tokens": 12, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 13}},
        {"prompt_tokens": 12, "completion_tokens": 3_000},
    ],
)
async def test_usage_that_cannot_be_right_is_said_once(
    usage: dict[str, int], caplog: pytest.LogCaptureFixture
) -> None:
    async with faulty(spoken("text", usage=usage)) as server, ChatClient(server.endpoint, hasty()) as client:
        for _ in range(2):
            await client.complete(ask())
    assert caplog.text.count("can't be right") == 1


async def test_a_server_that_streams_no_usage_is_asked_for_whole_replies(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with (
        faulty(spoken("text", usage=None), completion("whole")) as server,
        ChatClient(server.endpoint, hasty()) as client,
    ):
        replies = [await client.complete(ask()) for _ in range(2)]
    assert [reply.usage for reply in replies] == [Usage(), Usage(12, 8, 3)]
    assert ["stream" in body for body in server.bodies] == [True, False]
    assert "no token usage of streamed replies" in caplog.text


async def test_a_stream_that_said_its_last_need_not_be_closed() -> None:
    step = streamed(
        chunk(content="text"), chunk("stop"), event({"choices": [], "usage": USAGE}), DONE, end="open"
    )
    async with (
        faulty(step) as server,
        ChatClient(server.endpoint, hasty(stall_timeout=60.0)) as client,
        asyncio.timeout(30),
    ):
        reply = await client.complete(ask())
    assert (reply.text, len(reply.requests)) == ("text", 1)


async def test_a_stream_may_go_on_for_longer_than_it_may_stall() -> None:
    async with (
        faulty(spoken(*["word "] * 400)) as server,
        ChatClient(server.endpoint, hasty(stall_timeout=5.0, first_byte_timeout=5.0)) as client,
    ):
        assert (await client.complete(ask())).text == "word " * 400


def test_a_reply_is_whole_only_with_its_finish_reason() -> None:
    assembly = Assembly()
    assembly.feed(chunk(content="text"))
    with pytest.raises(CutStream):
        assembly.reply()
    assembly.feed(chunk("length"))
    assert (assembly.reply().text, assembly.reply().finish) == ("text", "length")


def test_events_of_several_lines_comments_and_other_fields_are_read_as_the_standard_has_it() -> None:
    sent = (
        b': ping\r\n\r\nevent: message\r\ndata: {"a":\r\ndata: 1}\r\n\r\nid: 7\n\ndata:x\n\ndata: unfinished'
    )
    assert list(Events().feed(sent)) == [b'{"a":\n1}', b"x"]


def test_a_line_of_megabytes_is_joined_once() -> None:
    events, piece = Events(), b"x" * 1_000
    assert not [*events.feed(b"data:"), *(data for _ in range(10_000) for data in events.feed(piece))]
    assert sum(map(len, events._rest)) == 10_000_005 and events._rest[1] is piece  # kept as it came
    assert [len(data) for data in events.feed(b"\n\n")] == [10_000_000]


@given(st.lists(st.text(max_size=12), max_size=8), st.data())
def test_a_stream_reads_the_same_however_its_bytes_are_cut(words: list[str], data: st.DataObject) -> None:
    parts = [chunk(content=word) for word in words]
    sent = b"".join([*parts, chunk("stop"), event(orjson.dumps({"choices": [], "usage": USAGE})), DONE])
    assembly, at = Assembly(), 0
    while at < len(sent):
        length = data.draw(st.integers(1, 60))
        assembly.feed(sent[at : at + length])
        at += length
    assert assembly.done and assembly.reply().text == "".join(words)
    assert assembly.reply().usage == Usage(12, 8, 3)
