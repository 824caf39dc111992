"""How much of an episode's history a context window holds: what to expect before GPUs are rented.

Estimates, in tokens of four characters: a search's result as measured over Treasury bulletins, ten hits each;
a reply as an operation with its conclusion takes, without thoughts. What outgrows the window ends the episode
as `model_request_failed`, unless the harness compacts its history.
"""

from __future__ import annotations

from dataclasses import dataclass

SEARCH_TOKENS = 1_200
REPLY_TOKENS = 300
INSTRUCTION_TOKENS = 3_000


@dataclass(frozen=True)
class History:
    """What an episode that spends all of its budget puts into its prompt."""

    turns: int = 200
    searches: int = 60
    read_tokens: int = 1_000_000
    document_map_tokens: int = 4_000

    @property
    def fixed(self) -> int:
        """Tokens before the first turn: instructions, question and the map of documents."""
        return INSTRUCTION_TOKENS + self.document_map_tokens

    @property
    def tokens(self) -> int:
        """Tokens of all turns together."""
        return self.turns * REPLY_TOKENS + self.searches * SEARCH_TOKENS + self.read_tokens


@dataclass(frozen=True)
class Fit:
    """How a history fits into a window of so many tokens, `reply` of which are kept for the next reply."""

    window: int
    reply: int
    history: History

    @property
    def room(self) -> int:
        """Tokens that are left for the history."""
        return max(0, self.window - self.reply - self.history.fixed)

    @property
    def share(self) -> float:
        """Of the history, what fits: at most 1."""
        return min(1.0, self.room / self.history.tokens) if self.history.tokens else 1.0

    @property
    def turns(self) -> int:
        """How many of the turns fit, were they all of one size."""
        return int(self.share * self.history.turns)

    def __str__(self) -> str:
        history = self.history
        return (
            f"a window of {self.window:,} tokens holds about {self.share:.0%} of the {history.tokens:,} of "
            f"an episode that spends all it may ({history.turns} turns, {history.searches} searches, "
            f"{history.read_tokens:,} read tokens): {self.turns} turns of even size"
        )
