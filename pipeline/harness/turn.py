"""What goes into a turn, and what comes of it: the records that replay, tables and traces are made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipeline.protocols import Outcome

if TYPE_CHECKING:
    from pipeline.harness.state import State


@dataclass(frozen=True)
class Reply:
    """A model's response as the journal keeps it: its text, and the reasoning that the server set apart."""

    text: str
    reasoning: str | None = None


@dataclass(frozen=True)
class Fault:
    """An error or a warning: a code (contract, section 9) and a message for the model."""

    code: str
    message: str

    def as_json(self) -> dict[str, str]:
        """The fault as a trace shows it."""
        return {"code": self.code, "message": self.message}


@dataclass(frozen=True)
class Turn:
    """One turn: what the policy sent, what it was told, and the state after it.

    `operation` is the operation's name if it is one of the five. `result` and the events of `log` have the
    forms of contract 9; `result` is null if the operation was invalid. `state_sha256` is the SHA-256 of the
    canonical JSON of `state`, which includes the observation (see `State.canonical`).
    """

    number: int
    operation: str | None
    valid: bool
    error: Fault | None
    conclusion_error: Fault | None
    reply: Reply
    observation: str
    result: Mapping[str, Any] | None
    log: tuple[Mapping[str, Any], ...]
    warnings: tuple[Fault, ...]
    state: State
    state_sha256: str

    @property
    def response(self) -> str:
        """The text of the reply."""
        return self.reply.text


@dataclass(frozen=True)
class Trace:
    """An episode rebuilt from its replies. `outcome` is null if the replies end before the episode does."""

    turns: tuple[Turn, ...]
    state: State
    outcome: Outcome | None
