"""The scripted server: one script over three APIs, streams included, and errors where the script has them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from pipeline.backbone.client import ChatClient
from pipeline.backbone.scripted.script import Script, read
from pipeline.backbone.serving import Endpoint
from pipeline.backbone.serving.config import ScriptedConfig
from pipeline.backbone.serving.scripted import serve
from pipeline.errors import ConfigError, ModelRequestFailed
from pipeline.protocols import Message, Request
from tests.backbone.requests import hasty

LONG = "receipts of the fund, " * 5
SCRIPT = [
    {"error": 429, "message": "slow down", "retry_after": 0.01, "times": 2},
    {"reply": {"operation": {"name": "search"}}, "reasoning": "because"},
    {"reply": LONG, "finish": "length"},
    {"tool_calls": [{"name": "search", "arguments": {"query": "1938"}}], "reply": "so"},
    {"match": "flood", "reply": "of the flood"},
]
TOOLS = [{"type": "function", "function": {"name": "search"}}]


def write(folder: Path, lines: list[Any]) -> Path:
    path = folder / "script.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)) + "\n")
    return path


@pytest.fixture
def endpoint(tmp_path: Path) -> Iterator[Endpoint]:
    with serve(ScriptedConfig(script=str(write(tmp_path, SCRIPT))), hasty(), tmp_path) as endpoint:
        yield endpoint


def conversation(turns: int, first: str = "question") -> tuple[Message, ...]:
    later = [m for n in range(turns) for m in (Message("assistant", f"a{n}"), Message("user", f"u{n}"))]
    return (Message("system", "s"), Message("user", first), *later)


async def test_each_turn_gets_its_reply_after_its_errors(endpoint: Endpoint) -> None:
    async with ChatClient(endpoint, hasty(attempts=5)) as client:
        replies = [
            await client.complete(Request(conversation(n), 64, tools=tuple(TOOLS), seed=1)) for n in range(3)
        ]
        assert [len(reply.requests) for reply in replies] == [3, 1, 1]
        assert json.loads(replies[0].text) == SCRIPT[1]["reply"]
        assert (replies[0].reasoning, replies[1].text, replies[1].finish) == ("because", LONG, "length")
        (call,) = replies[2].tool_calls
        assert (call.name, json.loads(call.arguments), replies[2].finish) == (
            "search",
            {"query": "1938"},
            "tool_calls",
        )
        assert replies[2].usage.cached == replies[1].usage.prompt > 0
        again = await client.complete(Request(conversation(1), 64, seed=1))
        assert again.text == LONG  # a repeated request, and in any order
        assert (await client.complete(Request(conversation(0, "the flood"), 64))).text == "of the flood"
        with pytest.raises(ModelRequestFailed, match="no reply for turn 4"):
            await client.complete(Request(conversation(3), 64, seed=1))


async def post(endpoint: Endpoint, path: str, body: dict[str, Any]) -> tuple[int, str]:
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{endpoint.urls[0]}/{path}", json=body) as response,
    ):
        return response.status, await response.text()


def events(text: str) -> list[Any]:
    return [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]


RESPONSES_TURN_3 = [
    {"role": "user", "content": "question"},
    {"type": "reasoning", "summary": []},
    {"type": "function_call", "name": "search", "arguments": "{}", "call_id": "c"},
    {"type": "function_call_output", "call_id": "c", "output": "none"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a"}]},
    {"role": "user", "content": [{"type": "input_text", "text": "go on"}]},
]


async def test_the_responses_api_speaks_the_same_script(endpoint: Endpoint) -> None:
    body: dict[str, Any] = {"model": "m", "input": RESPONSES_TURN_3, "tools": TOOLS}
    status, text = await post(endpoint, "responses", body)
    whole = json.loads(text)
    assert (status, whole["status"]) == (200, "completed")
    message, call = whole["output"]
    assert message["content"][0]["text"] == "so"
    assert (call["type"], call["name"], json.loads(call["arguments"])) == (
        "function_call",
        "search",
        {"query": "1938"},
    )
    _, text = await post(endpoint, "responses", body | {"stream": True})
    seen = events(text)
    assert [event["sequence_number"] for event in seen] == list(range(len(seen)))
    assert (seen[0]["type"], seen[-1]["type"]) == ("response.created", "response.completed")
    assert seen[-1]["response"]["output"] == whole["output"]
    deltas = [e["delta"] for e in seen if e["type"] == "response.function_call_arguments.delta"]
    assert "".join(deltas) == call["arguments"]
    _, text = await post(endpoint, "responses", {"model": "m", "input": RESPONSES_TURN_3[:4], "stream": True})
    seen = events(text)
    assert "".join(e["delta"] for e in seen if e["type"] == "response.output_text.delta") == LONG
    assert seen[-1]["type"] == "response.incomplete"


async def test_the_messages_api_speaks_the_same_script(endpoint: Endpoint) -> None:
    turns: list[dict[str, Any]] = [
        {"role": "user", "content": [{"type": "text", "text": "question"}]},
        {"role": "assistant", "content": "a"},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "none"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "b"}]},
        {"role": "user", "content": "go on"},
    ]
    body: dict[str, Any] = {"model": "m", "max_tokens": 64, "system": "s", "messages": turns}
    status, text = await post(endpoint, "messages", body)
    whole = json.loads(text)
    assert (status, whole["stop_reason"], whole["role"]) == (200, "tool_use", "assistant")
    said, use = whole["content"]
    assert (said["text"], use["type"], use["input"]) == ("so", "tool_use", {"query": "1938"})
    _, text = await post(endpoint, "messages", body | {"stream": True})
    seen = events(text)
    assert [seen[0]["type"], seen[-2]["type"], seen[-1]["type"]] == [
        "message_start",
        "message_delta",
        "message_stop",
    ]
    pieces = [
        e["delta"]["partial_json"] for e in seen if e.get("delta", {}).get("type") == "input_json_delta"
    ]
    assert json.loads("".join(pieces)) == {"query": "1938"}
    _, text = await post(endpoint, "messages", body | {"messages": turns[:3]})
    assert json.loads(text)["stop_reason"] == "max_tokens"
    for _ in range(2):
        status, text = await post(endpoint, "messages", body | {"messages": turns[:1]})
        assert (status, json.loads(text)["type"]) == (429, "error")
    status, text = await post(endpoint, "messages", body | {"messages": turns[:1]})
    assert json.loads(text)["content"][0] == {"type": "thinking", "thinking": "because", "signature": ""}


async def test_a_body_that_is_no_request_is_refused_in_the_apis_own_shape(endpoint: Endpoint) -> None:
    assert await post(endpoint, "chat/completions", {"messages": "hello"}) == (
        400,
        '{"error": {"message": "`messages` must be a list of objects", "type": "invalid_request_error", '
        '"param": null, "code": 400}}',
    )
    status, text = await post(endpoint, "messages", {"messages": []})
    assert (status, json.loads(text)["error"]["type"]) == (400, "invalid_request_error")


def test_what_json_takes_in_a_text_and_a_mark_at_the_begin_are_taken(tmp_path: Path) -> None:
    path = tmp_path / "script.jsonl"
    path.write_text('\ufeff{"reply": "one\u2028two\x85"}\r\n', encoding="utf-8", newline="")
    line = read(path).line("question", "c", 0)
    assert line is not None and line.text == "one\u2028two\x85"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "line 2: no JSON object"),
        ('{"replay": "x"}', "line 2: replay: Extra inputs"),
        ("{}", "line 2: the line: Value error, a line has either"),
        ('{"error": 200}', "line 2: error: Input should be greater"),
        ("[]", "line 2: the line: Input should be a valid"),
        ("[" * 100_000, "line 2: no JSON object"),
        ('{"error": 429, "retry_after": 1e999}', "line 2: retry_after: Input should be a finite"),
    ],
)
def test_a_line_that_can_not_be_read_is_named(line: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "script.jsonl"
    path.write_text('{"reply": "one"}\n' + line)
    with pytest.raises(ConfigError, match=said):
        read(path)
    with pytest.raises(ConfigError, match=said), serve(ScriptedConfig(script=str(path)), hasty(), tmp_path):
        pass


def test_an_error_without_end_is_given_for_ever(tmp_path: Path) -> None:
    script: Script = read(write(tmp_path, [{"error": 500, "times": 0}]))
    lines = [script.line("q", "c", 0) for _ in range(5)]
    assert [line and line.error for line in lines] == [500] * 5


def test_a_file_without_lines_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no line"):
        read(write(tmp_path, []))
    with pytest.raises(ConfigError, match="can't be read"):
        read(tmp_path / "none.jsonl")
