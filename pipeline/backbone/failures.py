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
    (contract 4.3). `retry`: the same request may succeed later. `move`: try another replica.
    """

    whose: Literal["model", "infrastructure"]
    retry: bool
    move: bool
    remedy: str


FAULTS: Mapping[str, Fault] = {
    "connection": Fault("infrastructure", True, True, "check that the server runs and its URL is right"),
    "timeout": Fault("infrastructure", True, True, "raise backbone.client.total_timeout if it is only slow"),
    "malformed": Fault("infrastructure", True, True, "check that the URL is a chat completions API, to /v1"),
    "server_error": Fault("infrastructure", True, True, "read the server's log"),
    "rate_limited": Fault("infrastructure", True, False, "run fewer episodes at a time"),
    "quota": Fault("infrastructure", False, False, "check the account's balance and limits"),
    "unauthorised": Fault("infrastructure", False, False, "check the key in serving.api_key_env's variable"),
    "not_found": Fault("infrastructure", False, False, "check the URL (to /v1) and backbone.model"),
    "context_overflow": Fault("model", False, False, "the prompt no longer fits the model's context window"),
    "schema_unsupported": Fault("model", False, False, "the server takes no JSON schema"),
    "tools_unsupported": Fault(
        "infrastructure",
        False,
        False,
        "serve the model with its tool-call parser, or set harness.action.mode",
    ),
    "refused": Fault("model", False, False, "the provider's filter refused it"),
    "empty": Fault("model", True, False, "the model ended its reply without text"),
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
    ({400, 415, 422, 501}, _SCHEMA, "schema_unsupported"),
    ({400, 415, 422, 501}, _TOOLS, "tools_unsupported"),
    (range(400, 500), _ANY, "bad_request"),
    (range(500, 600), _ANY, "server_error"),
)


def classify(status: int, body: str, *, schema: bool, tools: bool = False) -> str:
    """Return the kind of failure of an error reply; `schema`, `tools`: what the request asked for."""
    asked = {"schema_unsupported": schema, "tools_unsupported": tools}
    for statuses, pattern, kind in _ROWS:
        if status in statuses and pattern.search(body) and asked.get(kind, True):
            return kind
    return "malformed"
