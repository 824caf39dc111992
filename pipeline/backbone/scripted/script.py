"""The script: JSON Lines, each a reply or an error, in the order of the turns.

    {"reply": {"operation": {"name": "search", "query": "receipts 1938"}}}
    {"error": 429, "message": "slow down", "retry_after": 0.1, "times": 2}
    {"reply": "plain text", "reasoning": "because", "finish": "length"}
    {"match": "fiscal year 1939", "tool_calls": [{"name": "search", "arguments": {"query": "1939"}}]}

A conversation gets the lines whose `match` occurs in its first user message; where no line's does, those
without `match`. Its turn is one more than the assistant's messages in the request, so that conversations run
side by side and a request that is repeated gets the same reply. An error stands before the reply of its turn
and is given `times` times (1), for ever if 0, to each conversation and seed. A turn beyond the script is
refused with a 400: the episode ends as `model_request_failed`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from pipeline.errors import ConfigError


class Call(BaseModel):
    """A native tool call; `arguments` are an object, or text as a model might write it."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    name: str
    arguments: dict[str, Any] | str = Field(default_factory=dict)

    @property
    def text(self) -> str:
        """The arguments as text."""
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)


class Line(BaseModel):
    """One line: a reply (text, or an object that is written as JSON), tool calls, or an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    match: str | None = None
    reply: str | dict[str, Any] | None = None
    reasoning: str | None = None
    tool_calls: tuple[Call, ...] = ()
    finish: str | None = None
    error: int | None = Field(default=None, ge=400, le=599)
    message: str = "scripted"
    type: str = "scripted_error"
    retry_after: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    times: int = Field(default=1, ge=0)

    @model_validator(mode="after")
    def _one_thing(self) -> Line:
        if (self.error is not None) == (self.reply is not None or bool(self.tool_calls)):
            raise ValueError("a line has either `error`, or `reply` or `tool_calls` or both")
        return self

    @property
    def text(self) -> str:
        """The reply as text."""
        return json.dumps(self.reply) if isinstance(self.reply, dict) else self.reply or ""

    @property
    def ended(self) -> str:
        """Why the reply ended, in the words of the chat completions API."""
        return self.finish or ("tool_calls" if self.tool_calls else "stop")


@dataclass(frozen=True)
class Turn:
    """What one turn of a conversation is answered: its errors first, then its reply (none after the last)."""

    errors: tuple[Line, ...]
    reply: Line | None


class Script:
    """Chooses lines. It counts only the errors that were given; replies depend on the request alone."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self._turns: dict[str | None, list[Turn]] = {}
        for match in dict.fromkeys(line.match for line in lines):
            self._turns[match] = _turns([line for line in lines if line.match == match])
        self._given: Counter[tuple[str, int, int]] = Counter()

    def line(self, first: str, conversation: str, turn: int) -> Line | None:
        """Return what `turn` (from 0) of a conversation is answered, None beyond the script's end.

        `first` is its first user message; `conversation` tells it from others with the same one.
        """
        matching = (match for match in self._turns if match is not None and match in first)
        turns = self._turns.get(next(matching, None), [])
        if turn >= len(turns):
            return None
        for number, error in enumerate(turns[turn].errors):
            key = (conversation, turn, number)
            if not error.times or self._given[key] < error.times:
                self._given[key] += 1
                return error
        return turns[turn].reply


def _turns(lines: Sequence[Line]) -> list[Turn]:
    turns, errors = [], []
    for line in lines:
        if line.error is not None:
            errors.append(line)
        else:
            turns.append(Turn(tuple(errors), line))
            errors = []
    return [*turns, Turn(tuple(errors), None)] if errors else turns


def read(path: Path) -> Script:
    """Read a script. Raises `ConfigError`, which names the line."""
    try:
        texts = path.read_text(encoding="utf-8-sig").split("\n")  # and at nothing else: JSON may hold U+2028
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} can't be read: {error}") from error
    lines = [_line(path, number, text) for number, text in enumerate(texts, 1) if text.strip()]
    if not lines:
        raise ConfigError(f"{path} holds no line: give at least one reply")
    return Script(lines)


def _line(path: Path, number: int, text: str) -> Line:
    try:
        return Line.model_validate(json.loads(text))
    except ValidationError as error:
        first: Mapping[str, Any] = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise ConfigError(f"{path}, line {number}: {where or 'the line'}: {first['msg']}") from error
    except (json.JSONDecodeError, RecursionError) as error:
        raise ConfigError(f"{path}, line {number}: no JSON object: {error}") from error
