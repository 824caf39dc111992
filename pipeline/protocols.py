"""The types that parts share: the lowest floor. Types only, no behaviour beyond encoding a message once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol

import orjson

if TYPE_CHECKING:
    from pipeline.corpus import Corpus
    from pipeline.harness import Reply, Trace

Json = Mapping[str, Any]
Status = Literal["answered", "turns_exhausted", "model_request_failed", "interrupted"]


@dataclass(frozen=True)
class ToolCall:
    """A native tool call. `arguments` is JSON text as the model wrote it, which may not parse."""

    id: str
    name: str
    arguments: str

    def as_json(self) -> dict[str, Any]:
        """The call as the chat completions API has it."""
        return {
            "id": self.id,
            "type": "function",
            "function": {"name": self.name, "arguments": self.arguments},
        }


@dataclass(frozen=True)
class Message:
    """One chat message. It is serialised once, however often an append-only prompt repeats it.

    `tool_calls` are an assistant's; `tool_call_id` names the call that a message of role `tool` answers.
    """

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None

    @cached_property
    def encoded(self) -> bytes:
        """The message as a JSON object of the chat completions API."""
        fields: dict[str, Any] = {"role": self.role, "content": self.content}
        if self.tool_calls:
            fields["tool_calls"] = [call.as_json() for call in self.tool_calls]
        if self.tool_call_id is not None:
            fields["tool_call_id"] = self.tool_call_id
        return orjson.dumps(fields)


@dataclass(frozen=True)
class Sampling:
    """How the backbone samples. `None` leaves the server's default; `extra` is sent as it is."""

    temperature: float | None = None
    top_p: float | None = None
    extra: Json = field(default_factory=dict)


@dataclass(frozen=True)
class Request:
    """One request to a backbone: the prompt, the form asked of the reply, and the episode it is for.

    The form is a JSON schema, or tools of the chat completions API with its `tool_choice`, or neither.
    """

    messages: tuple[Message, ...]
    max_tokens: int
    schema: Json | None = None
    tools: tuple[Json, ...] = ()
    tool_choice: str = "auto"
    sampling: Sampling = Sampling()
    seed: int = 0
    episode: str = ""


@dataclass(frozen=True)
class Usage:
    """Tokens as the server counts them; `cached` of the prompt came from its prefix cache."""

    prompt: int = 0
    cached: int = 0
    completion: int = 0


@dataclass(frozen=True)
class RequestRecord:
    """One HTTP exchange, failed ones included: a row of the table `requests`.

    `seed` and `sampling` (JSON) are as they were sent; `prompt_sha256` is of the messages, as a JSON array.
    """

    replica: str
    model: str
    status: int | None
    finish: str | None
    usage: Usage
    seconds: float
    first_token_s: float | None = None
    error: str | None = None
    seed: int | None = None
    sampling: str | None = None
    prompt_sha256: str | None = None


@dataclass(frozen=True)
class Completion:
    """What the model replied. `requests` holds every exchange it took, retries included, in order."""

    text: str
    reasoning: str | None
    finish: str
    usage: Usage
    model: str
    replica: str
    seconds: float
    requests: tuple[RequestRecord, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()


class Backbone(Protocol):
    """A served model."""

    async def complete(self, request: Request) -> Completion:
        """Return the reply.

        Raises `ModelRequestFailed` (that is the episode's result) or `BackboneUnavailable` (it is owed).
        """
        ...


@dataclass(frozen=True)
class AnswerFormat:
    """The form of an answer (contract 3.21), taken from the question or the benchmark, never from gold."""

    form: Literal["line", "letter", "text", "number", "list"] = "line"
    decimals: int | None = None
    unit: str | None = None
    length: int | None = None


@dataclass(frozen=True)
class TaskView:
    """What an arm may know of a task. It holds no gold."""

    id: str
    question: str
    answer_format: AnswerFormat = AnswerFormat()


@dataclass(frozen=True)
class Limits:
    """What one episode may ask of its backbone: tokens a reply, sampling, its seed and its id."""

    max_tokens: int
    sampling: Sampling = Sampling()
    seed: int = 0
    episode: str = ""


@dataclass(frozen=True)
class Outcome:
    """How an episode ended. `cited` are the ids that the accepted answer rests on."""

    status: Status
    answer: str | None = None
    cited: tuple[str, ...] = ()
    limit_hit: str | None = None
    error: str | None = None


class Recorder(Protocol):
    """Takes down what can't be recomputed: the model's replies, and the hash of what followed from each."""

    def turn(self, turn: int, completion: Completion, state_sha256: str) -> None:
        """Record turn `turn` (from 1) and the SHA-256 of the canonical state and observation after it."""
        ...

    def failed_request(self, turn: int, requests: tuple[RequestRecord, ...]) -> None:
        """Record the exchanges of a request that gave no reply."""
        ...


class Harness(Protocol):
    """An arm's way of answering a task with a backbone over a corpus. It holds no state of any episode."""

    @property
    def prompt_sha256(self) -> str:
        """What identifies its prompts: part of an episode's identity."""
        ...

    async def run(
        self, task: TaskView, corpus: Corpus, backbone: Backbone, recorder: Recorder, limits: Limits
    ) -> Outcome:
        """Run one episode to its end. `BackboneUnavailable` passes through: the episode is owed."""
        ...

    def replay(self, task: TaskView, corpus: Corpus, replies: Iterable[Reply]) -> Trace:
        """Rebuild an episode from its recorded replies: with the same states, without a model."""
        ...
