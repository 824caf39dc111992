"""The state of an episode, `S = (E, C, H)`, with what the environment keeps beside it (contract, section 1).

All of it is immutable: a turn makes a new state that shares what did not change. Its canonical form has
digests for what grows, so hashing costs the same at turn 1 and at turn 200.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import Any, Literal

import orjson

from pipeline.corpus import estimate_tokens
from pipeline.harness.budget import Budget
from pipeline.harness.conclusions import Conclusion
from pipeline.harness.evidence import EvidenceBank
from pipeline.harness.sources import Sources
from pipeline.harness.turn import Fault, Reply

EpisodeStatus = Literal["running", "answered", "turns_exhausted"]
_SHOWN = 80  # characters of an expression that the rendered state repeats


@dataclass(frozen=True)
class Computed:
    """A valid compute. `cited` are the evidence ids that it rests on (source ids without an EvidenceBank)."""

    id: str
    turn: int
    expression: str
    value: float | int | bool
    text: str
    cited: tuple[str, ...]
    constants: tuple[tuple[float, str], ...] = ()

    @cached_property
    def line(self) -> str:
        """The compute in the rendered state: one line."""
        return f"{self.id} = {self.text} = {self.expressed}"

    @property
    def expressed(self) -> str:
        """What was computed from what, on one line; the expression is cut."""
        expression = " ".join(self.expression.split())
        shown = expression if len(expression) <= _SHOWN else f"{expression[:_SHOWN]}…"
        return f"{shown} [{', '.join(self.cited)}]"

    @cached_property
    def encoded(self) -> bytes:
        """Canonical JSON, serialised once."""
        facts = {
            "id": self.id,
            "turn": self.turn,
            "expression": self.expression,
            "value": self.text,
            "cited": list(self.cited),
            "constants": [list(constant) for constant in self.constants],
        }
        return orjson.dumps(facts, option=orjson.OPT_SORT_KEYS)


@dataclass(frozen=True)
class Exchange:
    """A response and its observation, kept in full: one element of the interaction history H.

    `stub` is the line that stands for both in a prompt that has left them out (contract 7.4); `error` is why
    the operation was invalid, if it was.
    """

    reply: Reply
    observation: str
    stub: str
    error: Fault | None = None

    @cached_property
    def tokens(self) -> tuple[int, int]:
        """The estimated tokens of reply and observation, and of the reasoning that was set apart."""
        shown = estimate_tokens(self.reply.text) + estimate_tokens(self.observation)
        return shown, estimate_tokens(self.reply.reasoning or "")


@dataclass(frozen=True)
class History:
    """H: every response and observation so far, never truncated, summarised or replaced (contract 1).

    `digest` stands for all of it in the state's canonical form: the SHA-256 of the previous digest followed
    by the canonical JSON of the newest exchange.
    """

    exchanges: tuple[Exchange, ...] = ()
    digest: str = sha256(b"").hexdigest()

    def append(self, exchange: Exchange) -> History:
        """Return the history with one more exchange."""
        newest = {
            "response": exchange.reply.text,
            "reasoning": exchange.reply.reasoning,
            "observation": exchange.observation,
        }
        chained = sha256(self.digest.encode() + orjson.dumps(newest, option=orjson.OPT_SORT_KEYS))
        return History((*self.exchanges, exchange), chained.hexdigest())


@dataclass(frozen=True)
class Accepted:
    """The accepted answer, with the ids it cites and the computes it names (contract 3.20)."""

    answer: str
    cited: tuple[str, ...]
    computes: tuple[str, ...] = ()


@dataclass(frozen=True)
class State:
    """E (`evidence`), C (`conclusion`, or `notes`), H (`history`), and sources, computes and budget.

    `conclusion` and `notes` are null in a variant that lacks them. The turns up to `compacted` are told in
    the prompt by their stubs (contract 7.4); H has them in full.
    """

    budget: Budget
    evidence: EvidenceBank = field(default_factory=EvidenceBank)
    conclusion: Conclusion | None = None
    notes: str | None = None
    sources: Sources = field(default_factory=Sources)
    computes: tuple[Computed, ...] = ()
    history: History = field(default_factory=History)
    compacted: int = 0
    accepted: Accepted | None = None

    @property
    def turn(self) -> int:
        """How many turns have been taken."""
        return self.budget.turns

    @property
    def status(self) -> EpisodeStatus:
        """Whether the episode goes on, and if not, how it ended (contract 4.3)."""
        if self.accepted:
            return "answered"
        return "running" if self.budget.turns_left > 0 else "turns_exhausted"

    def canonical(self) -> bytes:
        """The state as canonical JSON: keys sorted, no white space, UTF-8.

        What grows with the episode, H, E and the sources, is represented by its chained digest.
        """
        accepted = self.accepted
        facts: dict[str, Any] = {
            "turn": self.turn,
            "status": self.status,
            "budget": self.budget.as_json(),
            "evidence": self.evidence.digest,
            "conclusion": orjson.Fragment(self.conclusion.encoded) if self.conclusion else None,
            "notes": self.notes,
            "sources": self.sources.digest,
            "computes": [orjson.Fragment(computed.encoded) for computed in self.computes],
            "history": self.history.digest,
            "compacted": self.compacted,
            "accepted": accepted and [accepted.answer, list(accepted.cited), list(accepted.computes)],
        }
        return orjson.dumps(facts, option=orjson.OPT_SORT_KEYS)

    @cached_property
    def sha256(self) -> str:
        """The SHA-256 of `canonical()`: the same if all of E, C, H and the rest are."""
        return sha256(self.canonical()).hexdigest()
