"""How long the episodes that are left may take, by arm: a slow arm is not averaged away by quick ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass
class Pace:
    """One arm's episodes: `left` have no result yet, `running` ones are among them, by id and start.

    Times are seconds on one clock.
    """

    left: int
    running: dict[str, float] = field(default_factory=dict)
    finished: int = 0
    spent: float = 0.0
    first: float | None = None

    def started(self, episode: str, now: float) -> None:
        """An episode began to run."""
        self.first = now if self.first is None else self.first
        self.running[episode] = now

    def stopped(self, episode: str, now: float, done: bool) -> None:
        """An attempt ended; what one without a result took says nothing of the others."""
        start = self.running.pop(episode, now)
        if done:
            self.finished += 1
            self.spent += now - start
            self.left -= 1

    def remaining(self, now: float) -> float | None:
        """Return how many seconds the arm may still take; None as long as none of its episodes has finished.

        An episode is expected to take their mean; one that has taken longer, as long again as it is over.
        """
        if not self.left:
            return 0.0
        if not self.finished or self.first is None:
            return None
        mean = self.spent / self.finished
        ages = [now - start for start in list(self.running.values())]
        rest = [abs(mean - age) for age in ages]
        waiting = max(0, self.left - len(ages))
        elapsed = now - self.first
        beside = (self.spent + sum(ages)) / elapsed if elapsed > 0 else 1.0  # how many ran at a time
        at_least = max([*rest, mean if waiting else 0.0])
        return max(at_least, (waiting * mean + sum(rest)) / beside) if beside > 0 else at_least


@dataclass(frozen=True)
class Expected:
    """When all is done: in so many `seconds`, by the slowest `arm`, of which so many are `left`.

    None, if that arm has finished none yet: the others say nothing of it.
    """

    arm: str
    left: int
    seconds: float | None


def slowest(paces: Mapping[str, Pace], now: float) -> Expected | None:
    """Return what the run waits for longest, as far as can be told; None once nothing is left."""
    found: Iterable[Expected] = (
        Expected(arm, pace.left, pace.remaining(now)) for arm, pace in paces.items() if pace.left
    )
    return max(found, key=lambda one: (one.seconds is None, one.seconds or one.left), default=None)
