"""What is owed, by arm: arms take turns, and one whose backbone is busy or away lets the others go on."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pipeline.backbone.serving import Endpoint


@dataclass(frozen=True)
class Work:
    """An episode to run: its row of the plan, the number of its next attempt, how many workers it lost."""

    planned: Mapping[str, Any]
    attempt: int
    lost: int = 0


class Queue:
    """The work of a run. It holds one episode of each arm, and those that a lost worker gave back."""

    def __init__(self, endpoints: Mapping[str, Endpoint], owed: Callable[[str], Iterator[Work]]) -> None:
        """`endpoints` are where the arms' backbones answer; `owed` yields an arm's episodes in order."""
        self._endpoints = endpoints
        self._sources = {arm: owed(arm) for arm in endpoints}
        self._heads: dict[str, deque[Work]] = {arm: deque() for arm in endpoints}
        self._turns = list(endpoints)  # the arm that waited longest first
        self._busy: Counter[Endpoint] = Counter()
        self._away: set[Endpoint] = set()
        for arm in endpoints:
            self._refill(arm)

    @property
    def empty(self) -> bool:
        """Whether all work has been taken."""
        return not any(self._heads.values())

    @property
    def held(self) -> bool:
        """Whether there is work that waits for a backbone that is away."""
        return any(self._heads[arm] and endpoint in self._away for arm, endpoint in self._endpoints.items())

    def hold(self, endpoint: Endpoint, away: bool) -> None:
        """Start nothing on a backbone while it is away."""
        (self._away.add if away else self._away.discard)(endpoint)

    def take(self) -> Work | None:
        """Return the next episode that can start now, of the arm whose turn it is; None if none can."""
        arm = next((arm for arm in self._turns if self._heads[arm] and self._has_slot(arm)), None)
        if arm is None:
            return None
        self._turns.remove(arm)
        self._turns.append(arm)
        work = self._heads[arm].popleft()
        self._refill(arm)
        self._busy[self._endpoints[arm]] += 1
        return work

    def ended(self, work: Work) -> None:
        """Give back the slot of an episode that was taken."""
        self._busy[self._endpoints[work.planned["arm"]]] -= 1

    def again(self, work: Work) -> None:
        """Put an episode in front of its arm's others."""
        self._heads[work.planned["arm"]].appendleft(work)

    def _has_slot(self, arm: str) -> bool:
        endpoint = self._endpoints[arm]
        if endpoint in self._away:
            return False
        return endpoint.slots is None or self._busy[endpoint] < endpoint.slots

    def _refill(self, arm: str) -> None:
        if not self._heads[arm] and (work := next(self._sources[arm], None)):
            self._heads[arm].append(work)
