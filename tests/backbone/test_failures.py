"""Every row of the failure table: what a server did, whose fault it is, and how often it was asked."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.backbone.client import ChatClient
from pipeline.backbone.failures import FAULTS
from pipeline.backbone.transport import LARGEST
from pipeline.errors import BackboneUnavailable, ModelRequestFailed
from pipeline.protocols import Message, Request, ToolCall
from tests.backbone.faults import (
    DONE,
    Step,
    chunk,
    completion,
    cut,
    dribbled,
    event,
    faulty,
    hang,
    replied,
    reset,
    spoken,
    streamed,
)
from tests.backbone.requests import SCHEMA, TOOL, ask, hasty


def error(message: str, **fields: Any) -> dict[str, Any]:
    return {"error": {"message": message} | fields}


IMPATIENT = hasty(first_byte_timeout=0.3, stall_timeout=0.2, total_timeout=0.6)
OVERFLOWS = {
    "vllm": replied(
        400,
        error(
            "This model's maximum context length is 2048 tokens. However, your prompt contains at least 2049 "
            "input tokens. Please reduce the length of the input messages.",
            type="BadRequestError",
            param="input_tokens",
            code=400,
        ),
    ),
    "vllm max_tokens": replied(
        400,
        error(
            "'max_tokens' or 'max_completion_tokens' is too large: 4096. This model's maximum context length "
            "is 2048 tokens and your request has 12 input tokens.",
            type="BadRequestError",
            param="max_tokens",
            code=400,
        ),
    ),
    "ray serve": replied(
        400,
        error(
            "Message: This model's maximum context length is 2048 tokens. (Request ID: 1)",
            type="OpenAIHTTPException",
            param=None,
            code=400,
        ),
    ),
    "llama.cpp": replied(
        400,
        error(
            "request (9031 tokens) exceeds the available context size (8192 tokens), try increasing it",
            type="exceed_context_size_error",
            code=400,
            n_prompt_tokens=9031,
            n_ctx=8192,
        ),
    ),
    "openai": replied(
        400,
        error(
            "Your input exceeds the context window of this model. Please adjust your input and try again.",
            type="invalid_request_error",
            code="context_length_exceeded",
        ),
    ),
    "anthropic": replied(
        400,
        {"type": "error"}
        | error("prompt is too long: 215000 tokens > 200000 maximum", type="invalid_request_error"),
    ),
    "anthropic size": replied(
        413,
        {"type": "error"} | error("Request exceeds the maximum size", type="request_too_large"),
    ),
}
MODEL: list[tuple[str, str, Step, int]] = [
    *((f"{server} overflow", "context_overflow", step, 1) for server, step in OVERFLOWS.items()),
    ("invalid request", "bad_request", replied(400, error("messages: must not be empty")), 1),
    ("unprocessable", "bad_request", replied(422, {"detail": "seed must be an integer"}), 1),
    ("filtered prompt", "refused", replied(400, error("filtered", code="content_filter")), 1),
    ("filtered reply", "refused", completion("par", finish="content_filter"), 1),
    ("refusal", "refused", completion(None, refusal="I can't help with that"), 1),
    ("empty reply", "empty", completion(""), 3),
    ("no content", "empty", completion(None), 3),
    ("empty stream", "empty", spoken(), 3),
    ("refusal in a stream", "refused", streamed(chunk(refusal="I can't"), chunk("stop"), DONE), 1),
    ("overflow in a stream", "context_overflow", streamed(event(error("prompt is too long", code=400))), 1),
]
INFRASTRUCTURE: list[tuple[str, str, Step, int]] = [
    ("reset", "connection", reset, 3),
    ("cut short", "connection", cut, 3),
    ("hang", "first_byte", hang, 3),
    ("headers and no more", "first_byte", streamed(end="open"), 3),
    ("stall in a stream", "stall", streamed(chunk(content="par"), end="open"), 3),
    ("slow bytes", "timeout", dribbled(b" " * 1_000, 0.02), 3),
    ("stream reset", "connection", streamed(chunk(content="par"), end="aborted"), 3),
    ("stream that ends too early", "connection", streamed(chunk(content="par")), 3),
    ("stream that is done too early", "connection", streamed(chunk(content="par"), DONE), 3),
    ("no JSON in a stream", "malformed", streamed(event(b'{"choices": [{"del')), 3),
    ("error in a stream", "server_error", streamed(chunk(content="par"), event(error("engine died"))), 3),
    ("gateway timeout", "timeout", replied(504, "upstream timed out"), 3),
    ("internal error", "server_error", replied(500, "Internal Server Error"), 3),
    ("loading", "server_error", replied(503, error("Loading model")), 3),
    ("rate limit", "rate_limited", replied(429, error("slow down")), 3),
    ("no JSON", "malformed", replied(200, '{"choices": [{"mess'), 3),
    ("no choices", "malformed", replied(200, {"choices": []}), 3),
    ("a web page", "malformed", replied(200, "<html>Sign in</html>", Content_Type="text/html"), 3),
    ("no content type of ours", "malformed", replied(204, ""), 3),
    ("quota", "quota", replied(429, error("You exceeded your quota", code="insufficient_quota")), 1),
    ("unpaid", "quota", replied(402, error("payment required")), 1),
    ("bad key", "unauthorised", replied(401, error("Incorrect API key provided")), 1),
    ("forbidden", "unauthorised", replied(403, error("not for you")), 1),
    ("unknown model", "not_found", replied(404, {"detail": "no model asked-for"}), 1),
    ("redirect", "not_found", replied(307, "", Location="http://127.0.0.1:9/v1"), 1),
]


@pytest.mark.parametrize(("kind", "step", "asked"), [row[1:] for row in MODEL], ids=[row[0] for row in MODEL])
async def test_the_models_fault_is_a_result(kind: str, step: Step, asked: int) -> None:
    async with faulty(step) as server, ChatClient(server.endpoint, hasty()) as client:
        with pytest.raises(ModelRequestFailed) as raised:
            await client.complete(ask())
    assert raised.value.kind == kind
    assert len(server.bodies) == len(raised.value.requests) == asked
    assert all(record.error is not None and record.error.startswith(kind) for record in raised.value.requests)


@pytest.mark.parametrize(
    ("kind", "step", "asked"), [row[1:] for row in INFRASTRUCTURE], ids=[row[0] for row in INFRASTRUCTURE]
)
async def test_the_infrastructures_fault_leaves_the_episode_owed(kind: str, step: Step, asked: int) -> None:
    async with faulty(step) as server, ChatClient(server.endpoint, IMPATIENT) as client:
        with pytest.raises(BackboneUnavailable, match=kind) as raised:
            await client.complete(ask())
    assert len(server.bodies) == len(raised.value.requests) == asked
    assert all(record.error is not None and record.error.startswith(kind) for record in raised.value.requests)


@pytest.mark.parametrize("row", [*MODEL, *INFRASTRUCTURE], ids=lambda row: row[0])
async def test_a_retry_may_succeed_and_every_exchange_is_recorded(row: tuple[str, str, Step, int]) -> None:
    _, kind, step, _ = row
    async with (
        faulty(step, completion("at last")) as server,
        ChatClient(server.endpoint, IMPATIENT) as client,
    ):
        if not FAULTS[kind].retry:
            with pytest.raises((ModelRequestFailed, BackboneUnavailable)):
                await client.complete(ask())
            return
        reply = await client.complete(ask())
    assert reply.text == "at last"
    assert [record.error is None for record in reply.requests] == [False, True]
    assert reply.requests[1].status == 200


@pytest.mark.parametrize(
    ("size", "said"), [(10_000_000, "chat completion"), (LARGEST + 1, f"than {LARGEST} by")]
)
async def test_a_body_of_many_megabytes_is_no_reply(size: int, said: str) -> None:
    async with (
        faulty(replied(200, " " * size)) as server,
        ChatClient(server.endpoint, hasty(attempts=1)) as client,
    ):
        with pytest.raises(BackboneUnavailable, match=f"malformed.*{said}"):
            await client.complete(ask())


def test_the_tests_cover_the_whole_table() -> None:
    of_a_form = {"schema_unsupported", "tools_unsupported", "stream_unsupported", "malformed_history"}
    assert {row[1] for row in [*MODEL, *INFRASTRUCTURE]} | of_a_form == set(FAULTS)


@pytest.mark.parametrize(
    "message",
    [
        "response_format of type json_schema is not supported",
        "Invalid schema for response_format 'operation'",
        "The provided grammar could not be compiled",
    ],
)
async def test_a_refused_schema_falls_back_to_plain_text_and_is_remembered(
    message: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with (
        faulty(replied(400, error(message)), completion("plain")) as server,
        ChatClient(server.endpoint, hasty()) as client,
    ):
        first = await client.complete(ask(schema=SCHEMA))
        await client.complete(ask(schema=SCHEMA))
    assert ["response_format" in body for body in server.bodies] == [True, False, False]
    assert first.text == "plain"
    assert [record.status for record in first.requests] == [400, 200]
    assert caplog.text.count("refuses JSON schemas") == 1


async def test_a_request_that_fails_without_its_schema_too_does_not_cost_others_theirs() -> None:
    bad = replied(400, error("grammar: bad request"))
    async with (
        faulty(bad, bad, completion()) as server,
        ChatClient(server.endpoint, hasty()) as client,
    ):
        with pytest.raises(ModelRequestFailed, match="bad_request"):
            await client.complete(ask(schema=SCHEMA))
        await client.complete(ask(schema=SCHEMA))
    assert "response_format" in server.bodies[-1]


@pytest.mark.parametrize(
    "message",
    [
        '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
        "tools param requires --jinja flag",
        "Invalid value for `tool_choice`: required!",
        "Tool call IDs should be alphanumeric strings with length 9!",
        "Function calling is not enabled for this model",
    ],
)
async def test_a_server_that_takes_no_tools_leaves_the_episode_owed_and_says_what_to_do(message: str) -> None:
    async with faulty(replied(400, error(message))) as server, ChatClient(server.endpoint, hasty()) as client:
        with pytest.raises(BackboneUnavailable, match=r"tools_unsupported.*action\.mode"):
            await client.complete(ask(tools=(TOOL,)))
        with pytest.raises(ModelRequestFailed, match="bad_request"):
            await client.complete(ask())
    assert len(server.bodies) == 2


async def test_a_reply_of_nothing_but_calls_is_not_empty() -> None:
    calls = [{"id": "1", "function": {"name": "search", "arguments": "{}"}}]
    async with (
        faulty(completion("", tool_calls=[]), completion("", tool_calls=calls)) as server,
        ChatClient(server.endpoint, hasty()) as client,
    ):
        reply = await client.complete(ask(tools=(TOOL,)))
    assert len(reply.requests) == 2 and reply.tool_calls[0].name == "search"


HISTORY = (
    Message("user", "hello"),
    Message("assistant", "", (ToolCall("call00001", "search", '{"query": "unt'),)),
    Message("tool", "no JSON", tool_call_id="call00001"),
)


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "Unterminated string starting at: line 1 column 11 (char 10)"),
        (400, "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        (500, "Failed to parse tool call arguments as JSON: [json.exception.parse_error.101] parse error"),
    ],
)
async def test_a_history_that_a_server_cannot_read_is_a_reason_of_its_own(status: int, message: str) -> None:
    request = Request(HISTORY, 16, tools=(TOOL,))
    async with (
        faulty(replied(status, error(message))) as server,
        ChatClient(server.endpoint, hasty()) as client,
    ):
        with pytest.raises(ModelRequestFailed) as raised:
            await client.complete(request)
        assert raised.value.kind == "malformed_history"
    assert len(server.bodies) == 1


@pytest.mark.parametrize("status", [400, 422, 501])
async def test_a_server_that_refuses_to_stream_is_asked_without_and_that_is_remembered(
    status: int, caplog: pytest.LogCaptureFixture
) -> None:
    async with (
        faulty(replied(status, error("streaming is not supported")), completion("whole")) as server,
        ChatClient(server.endpoint, hasty()) as client,
    ):
        replies = [await client.complete(ask()) for _ in range(2)]
    assert [reply.text for reply in replies] == ["whole", "whole"]
    assert ["stream" in body for body in server.bodies] == [True, False, False]
    assert [record.status for record in replies[0].requests] == [status, 200]
    assert caplog.text.count("refuses to stream") == 1
