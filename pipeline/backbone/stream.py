"""Streamed replies: server-sent events, and a chat completion put together from its chunks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from pydantic import BaseModel

from pipeline.backbone.wire import Reply, TokenCounts
from pipeline.protocols import ToolCall, Usage

_DONE = b"[DONE]"


class StreamError(Exception):
    """The server sent an error in place of a chunk; `status` is the HTTP status that it names, or 500."""

    def __init__(self, status: int, said: str) -> None:
        super().__init__(said)
        self.status = status


class CutStream(Exception):
    """The stream ended before the reply did."""


class Events:
    """Splits a byte stream into the data of its events, however the bytes come."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []  # of a line that isn't whole: joined once, for it may be megabytes
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the data of every event that ends in `chunk`."""
        head, *lines = chunk.split(b"\n")
        self._rest.append(head)
        if not lines:
            return
        lines.insert(0, b"".join(self._rest))
        self._rest = [lines.pop()]
        for line in lines:
            line = line.removesuffix(b"\r")
            if line.startswith(b"data:"):
                self._data.append(line[5:].removeprefix(b" "))
            elif not line and self._data:
                yield b"\n".join(self._data)
                self._data.clear()


class _Function(BaseModel):
    name: str | None = None
    arguments: str | None = None


class _CallDelta(BaseModel):
    index: int = 0
    id: str | None = None
    function: _Function = _Function()


class _Delta(BaseModel):
    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    refusal: str | None = None
    tool_calls: list[_CallDelta] | None = None


class _Choice(BaseModel):
    delta: _Delta = _Delta()
    index: int = 0
    finish_reason: str | None = None


class _Error(BaseModel):
    code: int | str | None = None


class _Chunk(BaseModel):
    choices: list[_Choice] = []
    usage: TokenCounts | None = None
    model: str | None = None
    error: _Error | str | None = None


@dataclass
class _Call:
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)

    def read(self) -> ToolCall:
        return ToolCall(self.id, self.name, "".join(self.arguments))


class Assembly:
    """A reply being put together. Of usage, the last that is sent counts: some send it as it grows."""

    def __init__(self) -> None:
        self._events = Events()
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._refusal: list[str] = []
        self._calls: dict[int, _Call] = {}
        self._finish: str | None = None
        self._usage: Usage | None = None
        self._model: str | None = None
        self.begun = False
        self.done = False

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes; `begun` says whether a token has come, `done` whether the last one has.

        Raises `StreamError` for an error among the chunks, and `ValueError` for what is no chunk.
        """
        for data in self._events.feed(chunk):
            if data.strip() == _DONE:
                self.done = self._finish is not None
            elif data and not self.done:
                self._take(data)

    def reply(self) -> Reply:
        """Return the whole reply. Raises `CutStream` if it isn't whole."""
        if self._finish is None:
            raise CutStream("the stream ended before its finish_reason")
        return Reply(
            text="".join(self._text),
            reasoning="".join(self._reasoning) or None,
            refusal="".join(self._refusal) or None,
            finish=self._finish,
            usage=self._usage,
            model=self._model,
            tool_calls=tuple(self._calls[index].read() for index in sorted(self._calls)),
        )

    def _take(self, data: bytes) -> None:
        chunk = _Chunk.model_validate_json(data)
        if chunk.error is not None:
            code = chunk.error.code if isinstance(chunk.error, _Error) else None
            raise StreamError(code if isinstance(code, int) else 500, data.decode("utf-8", "replace"))
        self._model = chunk.model or self._model
        if chunk.usage is not None:
            self._usage = chunk.usage.counted()
        for choice in chunk.choices:
            if choice.index == 0:
                self._finish = choice.finish_reason or self._finish
                self._add(choice.delta)

    def _add(self, delta: _Delta) -> None:
        for part, parts in (
            (delta.content, self._text),
            (delta.reasoning_content or delta.reasoning, self._reasoning),
            (delta.refusal, self._refusal),
        ):
            if part:
                parts.append(part)
                self.begun = True
        for sent in delta.tool_calls or ():
            call = self._calls.setdefault(sent.index, _Call())
            call.id = sent.id or call.id
            call.name = sent.function.name or call.name
            call.arguments.append(sent.function.arguments or "")
            self.begun = True
