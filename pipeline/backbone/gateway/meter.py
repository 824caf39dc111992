"""What an episode may take of its backbone, and what it has taken."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.protocols import Usage


@dataclass(frozen=True)
class Allowance:
    """An episode's limits; `None` is none. The reply that passes one is given, the next turn refused."""

    turns: int | None = None
    tool_calls: int | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


@dataclass(frozen=True)
class Taken:
    """What one whole reply took. `usage` is None if the server didn't say."""

    usage: Usage | None = None
    tool_calls: int = 0


@dataclass
class Meter:
    """Counts an episode's turns, tool calls and tokens. A reply that failed or was cut is no turn;
    one that whoever asked broke off is, of unknown usage.

    `unmetered` counts the turns whose usage is unknown, `refused` the requests past a limit; `limit_hit`
    names the first limit that refused one.
    """

    allowance: Allowance = Allowance()
    turns: int = 0
    tool_calls: int = 0
    prompt: int = 0
    cached: int = 0
    completion: int = 0
    unmetered: int = 0
    refused: int = 0
    limit_hit: str | None = None
    _asking: int = 0

    def begin(self) -> str | None:
        """Begin a turn; or return the limit that refuses it: its name, as `Allowance` has it."""
        limit = self._reached()
        if limit is None:
            self._asking += 1
            return None
        self.refused += 1
        self.limit_hit = self.limit_hit or limit
        return limit

    def end(self, taken: Taken | None) -> None:
        """End a turn that was begun; `None` if it gave no whole reply."""
        self._asking -= 1
        if taken is None:
            return
        self.turns += 1
        self.tool_calls += taken.tool_calls
        if taken.usage is None:
            self.unmetered += 1
            return
        self.prompt += taken.usage.prompt
        self.cached += taken.usage.cached
        self.completion += taken.usage.completion

    def _reached(self) -> str | None:
        counts = (
            ("turns", self.turns + self._asking),  # those that are being answered count
            ("tool_calls", self.tool_calls),
            ("prompt_tokens", self.prompt),
            ("completion_tokens", self.completion),
        )
        for name, count in counts:
            limit: int | None = getattr(self.allowance, name)
            if limit is not None and count >= limit:
                return name
        return None
