"""What an episode may spend, and has spent (contract 3.3, 3.7, 4.1, 4.2)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pipeline.errors import InvalidOperation
from pipeline.harness.config import BudgetConfig


@dataclass(frozen=True)
class Budget:
    """The counters of an episode. Immutable: spending gives a new budget; nothing left is ever negative."""

    limits: BudgetConfig
    turns: int = 0
    searches: int = 0
    read_tokens: int = 0

    @property
    def turns_left(self) -> int:
        """Responses that the policy may still give."""
        return self.limits.turns - self.turns

    @property
    def searches_left(self) -> int:
        """Valid searches that are left."""
        return self.limits.searches - self.searches

    @property
    def read_tokens_left(self) -> int:
        """Estimated tokens that may still be read."""
        return self.limits.read_tokens - self.read_tokens

    def spend_turn(self) -> Budget:
        """Return the budget after one more response, valid or not (contract 4.2)."""
        return replace(self, turns=self.turns + 1)

    def spend_search(self) -> Budget:
        """Return the budget after a search. Raises `InvalidOperation` (`search_budget_exhausted`)."""
        if self.searches_left < 1:
            raise InvalidOperation(
                "search_budget_exhausted",
                f"all {self.limits.searches} searches are spent: read, or work with what has been read",
            )
        return replace(self, searches=self.searches + 1)

    def spend_read(self, tokens: int) -> Budget:
        """Return the budget after a read of `tokens`, which must fit in what is left (contract 3.7)."""
        return replace(self, read_tokens=self.read_tokens + tokens)

    def as_json(self) -> dict[str, int]:
        """What is left, as a trace shows it (contract, section 9)."""
        return {
            "turns_left": self.turns_left,
            "searches_left": self.searches_left,
            "read_tokens_left": self.read_tokens_left,
        }

    @property
    def line(self) -> str:
        """What is left, in the rendered state."""
        return (
            f"Budget: {self.turns_left} turns, {self.searches_left} searches, "
            f"{self.read_tokens_left} read tokens left"
        )
