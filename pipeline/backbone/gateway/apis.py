"""The three APIs that pass the gateway: what a reply took, and how each says that something is wrong.

Replies are read beside the bytes that are passed on, never changed. Of a usage that is sent more than once,
the last counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Protocol

import orjson

from pipeline.backbone.gateway.meter import Taken
from pipeline.backbone.stream import Events
from pipeline.backbone.wire import TokenCounts
from pipeline.protocols import Usage

Json = Mapping[str, Any]

_NUMBERS = (  # prompt and window, in the servers' words for an overflow
    re.compile(
        r"context length is (?P<window>\d+) tokens.*?(?:at least|has|resulted in) (?P<prompt>\d+)", re.S
    ),
    re.compile(r"request \((?P<prompt>\d+) tokens\) exceeds the available context size \((?P<window>\d+)"),
    re.compile(r"prompt is too long: (?P<prompt>\d+) tokens > (?P<window>\d+)"),
)


class Reading(Protocol):
    """Reads one reply as it passes.

    `begun`: a token has come; `whole`: the last has. `error`: what the server said was wrong, in a stream.
    """

    finish: str | None
    model: str | None
    begun: bool
    whole: bool
    error: str | None

    def event(self, data: Json) -> None:
        """Take an event of a streamed reply."""
        ...

    def body(self, data: Json) -> None:
        """Take a reply that comes at once."""
        ...

    def taken(self) -> Taken:
        """What it took."""
        ...


class ChatReading:
    """A reply of `/v1/chat/completions`. A stream tells its usage only if the request asked for it."""

    def __init__(self) -> None:
        self.finish: str | None = None
        self.model: str | None = None
        self.begun = self.whole = False
        self.error: str | None = None
        self._usage: Usage | None = None
        self._calls: set[tuple[int, int]] = set()

    def event(self, data: Json) -> None:
        """Take a chunk."""
        if data.get("error"):
            self.error = orjson.dumps(data).decode()
        self.model = data.get("model") or self.model
        self._count(data.get("usage"))
        for choice in data.get("choices") or ():
            at, delta = choice.get("index", 0), choice.get("delta") or {}
            self.begun |= any(delta.get(name) for name in _CHAT_TOKENS)
            for call in delta.get("tool_calls") or ():
                self._calls.add((at, call.get("index", 0)))
            self.finish = choice.get("finish_reason") or self.finish
        self.whole = self.finish is not None

    def body(self, data: Json) -> None:
        """Take a chat completion."""
        self.model = data.get("model")
        self._count(data.get("usage"))
        for at, choice in enumerate(data["choices"]):
            calls = choice["message"].get("tool_calls") or ()
            self._calls |= {(at, index) for index in range(len(calls))}
            self.finish = choice.get("finish_reason") or "stop"
        self.whole = True

    def taken(self) -> Taken:
        """What it took."""
        return Taken(self._usage, len(self._calls))

    def _count(self, usage: Json | None) -> None:
        if usage:
            self._usage = TokenCounts.model_validate(usage).counted()


class ResponsesReading:
    """A reply of `/v1/responses`: a stream's last event holds all of it."""

    def __init__(self) -> None:
        self.finish: str | None = None
        self.model: str | None = None
        self.begun = self.whole = False
        self.error: str | None = None
        self._taken = Taken()

    def event(self, data: Json) -> None:
        """Take an event."""
        kind = str(data.get("type"))
        self.begun |= kind.endswith(".delta")
        if kind in ("response.completed", "response.incomplete"):
            self.body(data["response"])
        elif kind in ("response.failed", "error"):
            self.error = orjson.dumps(data).decode()

    def body(self, data: Json) -> None:
        """Take a response."""
        self.model, self.finish, self.whole = data.get("model"), data.get("status") or "completed", True
        calls = sum(str(item.get("type", "")).endswith("_call") for item in data.get("output") or ())
        usage = data.get("usage")
        counted = None
        if usage:
            cached = (usage.get("input_tokens_details") or {}).get("cached_tokens")
            counted = _counted(usage.get("input_tokens"), cached, usage.get("output_tokens"))
        self._taken = Taken(counted, calls)

    def taken(self) -> Taken:
        """What it took."""
        return self._taken


class MessagesReading:
    """A reply of `/v1/messages`, whose `input_tokens` leave out what came from the cache or went into it."""

    def __init__(self) -> None:
        self.finish: str | None = None
        self.model: str | None = None
        self.begun = self.whole = False
        self.error: str | None = None
        self._usage: dict[str, int] = {}
        self._calls = 0

    def event(self, data: Json) -> None:
        """Take an event."""
        match data.get("type"):
            case "message_start":
                self.model = data["message"].get("model")
                self._count(data["message"].get("usage"))
            case "content_block_start":
                self._calls += _is_call(data["content_block"])
                self.begun = True
            case "error":
                self.error = orjson.dumps(data).decode()
            case "message_delta":
                self.finish = (data.get("delta") or {}).get("stop_reason") or self.finish
                self._count(data.get("usage"))
            case "message_stop":
                self.whole = True

    def body(self, data: Json) -> None:
        """Take a message."""
        self.model, self.finish, self.whole = data.get("model"), data.get("stop_reason"), True
        self._calls = sum(map(_is_call, data["content"]))
        self._count(data.get("usage"))

    def taken(self) -> Taken:
        """What it took."""
        if not self._usage:
            return Taken(None, self._calls)
        counts = {name: self._usage.get(name, 0) for name in _ANTHROPIC}
        read, made = counts["cache_read_input_tokens"], counts["cache_creation_input_tokens"]
        usage = _counted(counts["input_tokens"] + read + made, read, counts["output_tokens"])
        return Taken(usage, self._calls)

    def _count(self, usage: Json | None) -> None:
        self._usage |= {name: value for name, value in (usage or {}).items() if isinstance(value, int)}


_CHAT_TOKENS = ("content", "reasoning_content", "reasoning", "refusal", "tool_calls")
_ANTHROPIC = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")

READINGS: Mapping[str, type[ChatReading] | type[ResponsesReading] | type[MessagesReading]] = {
    "chat/completions": ChatReading,
    "responses": ResponsesReading,
    "messages": MessagesReading,
}


class Passing:
    """Reads a reply's bytes as they pass. Raises `ValueError` for what is no reply of the API."""

    def __init__(self, api: str, streamed: bool) -> None:
        self.reading: Reading = READINGS[api]()
        self._events = Events() if streamed else None
        self._body = bytearray()

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes."""
        if self._events is None:
            self._body += chunk
            return
        for data in self._events.feed(chunk):
            if data.strip() not in (b"", b"[DONE]"):
                self._take(data, self.reading.event)

    def end(self) -> None:
        """All bytes have come."""
        if self._events is None:
            self._take(bytes(self._body), self.reading.body)

    def _take(self, data: bytes, take: Any) -> None:
        try:
            take(orjson.loads(data))
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"no reply of this API: {error!r}") from error


def refusal(api: str, message: str, *, kind: str = "invalid_request_error", code: str | None = None) -> bytes:
    """Return an error's body in the API's own shape."""
    error = {"message": message, "type": kind, "param": None, "code": code}
    if api == "messages":
        return orjson.dumps({"type": "error", "error": {"type": kind, "message": message}})
    return orjson.dumps({"error": error})


def overflow(api: str, said: str) -> bytes:
    """Return a context overflow in the words that the API's own clients know, whatever the server said."""
    if api != "messages":
        message = (
            "Your input exceeds the context window of this model. Please adjust your input and try again."
        )
        return refusal(api, message, code="context_length_exceeded")
    numbers = next((found for pattern in _NUMBERS if (found := pattern.search(said))), None)
    if numbers is None:
        return refusal(api, "prompt is too long")
    return refusal(api, f"prompt is too long: {numbers['prompt']} tokens > {numbers['window']} maximum")


def _counted(prompt: Any, cached: Any, completion: Any) -> Usage | None:
    """A usage in other words than the chat API's. Raises `ValueError` for what are no numbers."""
    counts = {"prompt_tokens": prompt, "completion_tokens": completion}
    return TokenCounts.model_validate(counts | {"prompt_tokens_details": {"cached_tokens": cached}}).counted()


def _is_call(block: Json) -> bool:
    return str(block.get("type", "")).endswith("tool_use")
