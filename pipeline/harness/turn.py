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
    """One turn: the state after it, and what led there.

    `operation` is the operation's name if it is one of the five. `result` and the events of `log` have the
    forms of contract 9; `result` is null if the operation was invalid, and `error` says why.
    """

    operation: str | None
    state: State
    log: tuple[Mapping[str, Any], ...]
    error: Fault | None = None
    conclusion_error: Fault | None = None
    result: Mapping[str, Any] | None = None
    warnings: tuple[Fault, ...] = ()

    @property
    def number(self) -> int:
        """Which turn of its episode it is, from 1."""
        return self.state.turn

    @property
    def valid(self) -> bool:
        """Whether the operation was executed (contract 2.2)."""
        return self.error is None

    @property
    def reply(self) -> Reply:
        """What the policy sent."""
        return self.state.history.exchanges[-1].reply

    @property
    def observation(self) -> str:
        """What it was told."""
        return self.state.history.exchanges[-1].observation

    @property
    def state_sha256(self) -> str:
        """The SHA-256 of the canonical state, which includes the observation (see `State.canonical`)."""
        return self.state.sha256


@dataclass(frozen=True)
class Trace:
    """An episode rebuilt from its replies. `outcome` is null if the replies end before the episode does."""

    turns: tuple[Turn, ...]
    state: State
    outcome: Outcome | None
