"""Every row of the failure table: what a server did, whose fault it is, and how often it was asked."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.backbone.client import ChatClient
from pipeline.backbone.failures import FAULTS
from pipeline.errors import BackboneUnavailable, ModelRequestFailed
from tests.backbone.faults import Step, completion, cut, faulty, hang, replied, reset
from tests.backbone.requests import SCHEMA, TOOL, ask, hasty


def error(message: str, **fields: Any) -> dict[str, Any]:
    return {"error": {"message": message} | fields}


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
]
INFRASTRUCTURE: list[tuple[str, str, Step, int]] = [
    ("reset", "connection", reset, 3),
    ("cut short", "connection", cut, 3),
    ("hang", "timeout", hang, 3),
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
    async with faulty(step) as server, ChatClient(server.endpoint, hasty(total_timeout=0.1)) as client:
        with pytest.raises(BackboneUnavailable, match=kind) as raised:
            await client.complete(ask())
    assert len(server.bodies) == len(raised.value.requests) == asked
    assert all(record.error is not None and record.error.startswith(kind) for record in raised.value.requests)


@pytest.mark.parametrize("row", [*MODEL, *INFRASTRUCTURE], ids=lambda row: row[0])
async def test_a_retry_may_succeed_and_every_exchange_is_recorded(row: tuple[str, str, Step, int]) -> None:
    _, kind, step, _ = row
    async with (
        faulty(step, completion("at last")) as server,
        ChatClient(server.endpoint, hasty(total_timeout=0.1)) as client,
    ):
        if not FAULTS[kind].retry:
            with pytest.raises((ModelRequestFailed, BackboneUnavailable)):
                await client.complete(ask())
            return
        reply = await client.complete(ask())
    assert reply.text == "at last"
    assert [record.error is None for record in reply.requests] == [False, True]
    assert reply.requests[1].status == 200


def test_the_tests_cover_the_whole_table() -> None:
    of_a_form = {"schema_unsupported", "tools_unsupported"}
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
