"""How often a request has failed, where, and since when: what decides whether and where it is tried again."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field

from pipeline.backbone.config import ClientConfig
from pipeline.backbone.failures import Failure
from pipeline.backbone.traffic import MOVE_AFTER


@dataclass
class Tries:
    """The failed tries of one request. `since`: when it first failed, by the monotonic clock."""

    count: int = 0
    since: float | None = None
    _failures: Counter[str] = field(default_factory=Counter)

    @property
    def avoid(self) -> frozenset[str]:
        """Replicas where it failed often enough to try another."""
        return frozenset(url for url, times in self._failures.items() if times >= MOVE_AFTER)

    def failed(self, url: str, failure: Failure) -> None:
        """Take down a failure at the replica of `url`."""
        self.count += 1
        self.since = self.since or time.monotonic()
        self._failures[url] += failure.fault.move

    def spent(self, client: ClientConfig, failure: Failure) -> bool:
        """Whether it is not tried again after `failure`: patience is with the infrastructure alone."""
        waited = time.monotonic() - (self.since or time.monotonic())
        patient = failure.fault.whose == "infrastructure" and waited < client.patience
        return not failure.fault.retry or (self.count >= client.attempts and not patient)
