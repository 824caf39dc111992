"""What one replica has to do: requests in flight, episodes that live there, and what its KV cache holds."""

from __future__ import annotations

from asyncio import Future
from collections import deque
from dataclasses import dataclass, field

from pipeline.backbone.traffic import Grant
from pipeline.backbone.traffic.breaker import Breaker

LEAST_SHARE = 0.3
"""Of the KV cache: what prompts in flight may take of it however often it preempts."""
_BACK_OFF = 0.7
_RECOVERY = 0.02  # of the KV cache, at each look without a preemption


@dataclass(frozen=True)
class Measured:
    """What a replica's own metrics say. `kv_tokens` its KV cache holds, of which the share `usage` is taken.

    `preemptions` counts the requests that it threw out of the cache in the midst of their replies.
    """

    kv_tokens: int | None = None
    usage: float = 0.0
    preemptions: float = 0.0


@dataclass(frozen=True)
class Waiting:
    """A request that waits for its turn. Its future gives the grant, or None if the replica went away."""

    episode: str
    tokens: int
    turn: Future[Grant | None]


@dataclass
class Replica:
    """One replica. `capacity`: tokens that its KV cache holds, if known. `limit`: requests in flight."""

    url: str
    breaker: Breaker
    limit: int
    most_share: float
    capacity: int | None = None
    share: float = 1.0
    usage: float = 0.0
    resident: int = 0
    episodes: int = 0
    in_flight: dict[int, int] = field(default_factory=dict)
    waiting: deque[Waiting] = field(default_factory=deque)
    _tokens: int = 0
    _preemptions: float | None = None

    def __post_init__(self) -> None:
        self.share = self.most_share

    def admits(self, tokens: int) -> bool:
        """Whether a prompt of so many tokens may be sent now. One alone always may, however long it is."""
        if not self.in_flight:
            return True
        if len(self.in_flight) >= self.limit:
            return False
        return self.capacity is None or self._tokens + tokens <= self.capacity * self.share

    def started(self, number: int, tokens: int) -> None:
        """A request was sent."""
        self.in_flight[number] = tokens
        self._tokens += tokens

    def finished(self, number: int) -> None:
        """It is over; that it is said twice does no harm."""
        self._tokens -= self.in_flight.pop(number, 0)

    def load(self) -> tuple[float, int]:
        """What it has to do, to compare it with others: its KV cache's share, or tokens; then episodes."""
        if self.capacity:
            return max(self.resident / self.capacity, self.usage), self.episodes
        return float(self.resident), self.episodes

    def measured(self, seen: Measured) -> None:
        """Take down a look at its metrics: less goes in while it preempts."""
        self.capacity, self.usage = seen.kv_tokens or self.capacity, seen.usage
        if self._preemptions is not None and seen.preemptions > self._preemptions:
            self.share = max(LEAST_SHARE * self.most_share, self.share * _BACK_OFF)
        else:
            self.share = min(self.most_share, self.share + _RECOVERY)
        self._preemptions = seen.preemptions
