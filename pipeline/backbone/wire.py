"""The chat completions API's bytes: a request's body, and what is read of a reply."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson
from pydantic import BaseModel, Field

from pipeline.protocols import Request, ToolCall, Usage

_LENGTHS = {"max_tokens", "max_completion_tokens"}
_MOST = 2**31  # tokens that one exchange can't take


@dataclass(frozen=True)
class Form:
    """How a request is sent: with its JSON schema, for the server to constrain the reply with; as a stream.

    `max_tokens` is what the window leaves, if that is less than the request asks for.
    """

    schema: bool = False
    stream: bool = False
    max_tokens: int | None = None


def encode(request: Request, model: str, form: Form = Form()) -> bytes:
    """Return the body of a request; its messages' own bytes are joined, not serialised again.

    With tools goes the API's own word for one call a reply.
    """
    fields: dict[str, Any] = {"model": model}
    if form.stream:
        fields |= {"stream": True, "stream_options": {"include_usage": True}}
    if form.schema:
        wanted = {"name": "operation", "schema": request.schema, "strict": True}
        fields["response_format"] = {"type": "json_schema", "json_schema": wanted}
    if request.tools:
        fields |= {
            "tools": request.tools,
            "tool_choice": request.tool_choice,
            "parallel_tool_calls": False,
        }
    fields |= _sampling(request, form)
    head = orjson.dumps({name: value for name, value in fields.items() if value is not None})
    first, *others = [message.encoded for message in request.messages]
    rest = [part for message in others for part in (b",", message)]
    return b"".join((head[:-1], b',"messages":[', first, *rest, b"]}"))  # one copy: it may be megabytes


def sampled(request: Request, form: Form = Form()) -> tuple[int | None, str]:
    """Return the seed that is sent, and how else the reply is sampled, as JSON."""
    fields = {name: value for name, value in _sampling(request, form).items() if value is not None}
    return fields.pop("seed", None), orjson.dumps(fields, option=orjson.OPT_SORT_KEYS).decode()


def _sampling(request: Request, form: Form) -> dict[str, Any]:
    """The fields that say how the reply is sampled; None takes a field of any kind out of the request."""
    fields: dict[str, Any] = {
        "max_tokens": request.max_tokens,
        "seed": request.seed,
        "temperature": request.sampling.temperature,
        "top_p": request.sampling.top_p,
        **request.sampling.extra,
    }
    if form.max_tokens is not None:
        for name in _LENGTHS & fields.keys():
            fields[name] = fields[name] and min(fields[name], form.max_tokens)
    return fields


@dataclass(frozen=True)
class Reply:
    """What is read of a reply. `usage` is `None` when the server gave none."""

    text: str
    reasoning: str | None
    refusal: str | None
    finish: str
    usage: Usage | None
    model: str | None
    tool_calls: tuple[ToolCall, ...] = ()


class _Function(BaseModel):
    name: str
    arguments: str | None = None


class _Call(BaseModel):
    id: str | None = None
    function: _Function

    def read(self) -> ToolCall:
        return ToolCall(self.id or "", self.function.name, self.function.arguments or "")


class _Message(BaseModel):
    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    refusal: str | None = None
    tool_calls: list[_Call] | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _Details(BaseModel):
    cached_tokens: int | None = None


class TokenCounts(BaseModel):
    """The field `usage` of a chat completion."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _Details | None = None

    def counted(self) -> Usage | None:
        """The counts, with 0 for what the server leaves out; None if they are no numbers of tokens."""
        details = self.prompt_tokens_details or _Details()
        counts = self.prompt_tokens or 0, details.cached_tokens or 0, self.completion_tokens or 0
        return Usage(*counts) if all(0 <= count < _MOST for count in counts) else None


class _Body(BaseModel):
    choices: list[_Choice] = Field(min_length=1)
    usage: TokenCounts | None = None
    model: str | None = None


def decode(body: bytes) -> Reply:
    """Read the body of a reply of status 200. Raises `ValueError` if it is no chat completion."""
    read = _Body.model_validate_json(body)
    choice = read.choices[0]
    return Reply(
        text=choice.message.content or "",
        reasoning=choice.message.reasoning_content or choice.message.reasoning,
        refusal=choice.message.refusal,
        finish=choice.finish_reason or "stop",
        usage=None if read.usage is None else read.usage.counted(),
        model=read.model,
        tool_calls=tuple(call.read() for call in choice.message.tool_calls or ()),
    )
