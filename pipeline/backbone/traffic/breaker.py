"""A circuit breaker: whether a replica is there, by what requests to it came to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Breaker:
    """Opens after `threshold` failures in a row; closes with the first answer."""

    threshold: int
    failures: int = 0
    opened: float | None = None

    @property
    def is_open(self) -> bool:
        """Whether the replica is taken to be away."""
        return self.opened is not None

    def failed(self, now: float) -> bool:
        """Take down a failure to reach it; return whether that opened the breaker."""
        self.failures += 1
        if self.is_open or self.failures < self.threshold:
            return False
        self.opened = now
        return True

    def answered(self) -> bool:
        """Take down an answer; return whether that closed the breaker."""
        was_open, self.failures, self.opened = self.is_open, 0, None
        return was_open
