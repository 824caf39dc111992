"""What can go wrong with a request to a backbone, in one table: whose fault, and what follows."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Fault:
    """What a kind of failure means.

    The model's or the request's is the episode's result; the infrastructure's leaves the episode owed
    (contract 4.3). `retry`: the same request may succeed later. `move`: try another replica. `away`: it
    seems that the replica is not there.
    """

    whose: Literal["model", "infrastructure"]
    retry: bool
    move: bool
    remedy: str
    away: bool = False


FAULTS: Mapping[str, Fault] = {
    "connection": Fault(
        "infrastructure", True, True, "check that the server runs and its URL is right", away=True
    ),
    "first_byte": Fault(
        "infrastructure",
        True,
        True,
        "raise backbone.client.first_byte_timeout if the server's queue is only long",
        away=True,
    ),
    "stall": Fault(
        "infrastructure",
        True,
        True,
        "raise backbone.client.stall_timeout if the server is only slow",
        away=True,
    ),
    "timeout": Fault("infrastructure", True, True, "raise backbone.client.total_timeout if it is only slow"),
    "malformed": Fault("infrastructure", True, True, "check that the URL is a chat completions API, to /v1"),
    "server_error": Fault("infrastructure", True, True, "read the server's log"),
    "rate_limited": Fault("infrastructure", True, False, "run fewer episodes at a time"),
    "quota": Fault("infrastructure", False, False, "check the account's balance and limits"),
    "unauthorised": Fault("infrastructure", False, False, "check the key in serving.api_key_env's variable"),
    "not_found": Fault("infrastructure", False, False, "check the URL (to /v1) and backbone.model"),
    "context_overflow": Fault("model", False, False, "the prompt no longer fits the model's context window"),
    "stream_unsupported": Fault("model", False, False, "set backbone.client.stream=false"),
    "schema_unsupported": Fault("model", False, False, "the server takes no JSON schema"),
    "tools_unsupported": Fault(
        "infrastructure",
        False,
        False,
        "serve the model with its tool-call parser, or set harness.action.mode",
    ),
    "refused": Fault("model", False, False, "the provider's filter refused it"),
    "empty": Fault("model", True, False, "the model ended its reply without text"),
    "malformed_history": Fault(
        "model", False, False, "the server can't read the arguments of a tool call in the prompt's history"
    ),
    "bad_request": Fault("model", False, False, "the server refused the request as invalid"),
}


@dataclass(frozen=True)
class Failure:
    """A failed exchange: its kind (a key of `FAULTS`), what the server said, its Retry-After in seconds."""

    kind: str
    message: str
    retry_after: float | None = None

    @property
    def fault(self) -> Fault:
        """What follows from it."""
        return FAULTS[self.kind]

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}"


_ANY = re.compile("")
_OVERFLOW = re.compile(
    r"maximum context length|maximum model length"  # vLLM, Ray Serve, OpenAI
    r"|context_length_exceeded|exceeds? the context window"  # OpenAI
    r"|exceed_context_size_error|exceeds the available context size"  # llama.cpp
    r"|prompt is too long|exceed context limit|request_too_large"  # Anthropic
    r"|model's context length"  # SGLang
    r"|input token count.{0,40}exceeds",  # Gemini
    re.IGNORECASE,
)
_FILTER = re.compile(r"content_filter|content_policy|content management policy", re.IGNORECASE)
_STREAM = re.compile(r"\bstream", re.IGNORECASE)
_ARGUMENTS = re.compile(  # what JSON parsers say of them: Python's, and nlohmann's of llama.cpp
    r"line \d+ column \d+ \(char \d+\)|unterminated string|tool.?call.{0,40}arguments.{0,40}json"
    r"|parse tool call arguments|json\.exception\.parse_error",
    re.IGNORECASE,
)
_SCHEMA = re.compile(r"response_format|json_schema|structured.?output|guided|grammar", re.IGNORECASE)
_TOOLS = re.compile(r"\btool|\bfunction.?call", re.IGNORECASE)

# The first row that matches an error status and its body gives the kind.
_ROWS: tuple[tuple[Container[int], re.Pattern[str], str], ...] = (
    ({400, 413, 422, 500}, _OVERFLOW, "context_overflow"),
    ({400, 403}, _FILTER, "refused"),
    ({429}, re.compile("insufficient_quota"), "quota"),
    ({402}, _ANY, "quota"),
    ({401, 403}, _ANY, "unauthorised"),
    ({404, 405, *range(300, 400)}, _ANY, "not_found"),
    ({408, 504}, _ANY, "timeout"),
    ({425, 429}, _ANY, "rate_limited"),
    ({400, 500}, _ARGUMENTS, "malformed_history"),
    ({400, 415, 422, 501}, _STREAM, "stream_unsupported"),
    ({400, 415, 422, 501}, _SCHEMA, "schema_unsupported"),
    ({400, 415, 422, 501}, _TOOLS, "tools_unsupported"),
    (range(400, 500), _ANY, "bad_request"),
    (range(500, 600), _ANY, "server_error"),
)


@dataclass(frozen=True)
class Asked:
    """What a request asked for that a server may refuse. `calls`: its history holds tool calls."""

    schema: bool = False
    tools: bool = False
    stream: bool = False
    calls: bool = False


def classify(status: int, body: str, asked: Asked) -> str:
    """Return the kind of failure of an error reply, by its status and what it says."""
    possible = {
        "schema_unsupported": asked.schema,
        "tools_unsupported": asked.tools,
        "stream_unsupported": asked.stream,
        "malformed_history": asked.calls,
    }
    for statuses, pattern, kind in _ROWS:
        if status in statuses and pattern.search(body) and possible.get(kind, True):
            return kind
    return "malformed"
