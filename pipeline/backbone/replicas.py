"""Which replica an episode talks to: always the same one, for its prefix cache, unless that one is dead."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from hashlib import sha256

COOLDOWN = 30.0  # seconds for which a replica that couldn't be reached is passed over
_REMEMBERED = 4_096  # moved episodes


class Replicas:
    """Ranks replicas for an episode by hash: every client, in every process, ranks them alike."""

    def __init__(self, urls: Sequence[str], clock: Callable[[], float] = time.monotonic) -> None:
        self._urls = tuple(urls)
        self._clock = clock
        self._down: dict[str, float] = {}
        self._moved: OrderedDict[str, str] = OrderedDict()

    def choose(self, episode: str, avoid: Collection[str] = ()) -> str:
        """Return the URL for `episode`, not one of `avoid` nor one that is down, if there is another."""
        ranked = self._ranked(episode)
        now = self._clock()
        up = [url for url in ranked if self._down.get(url, 0.0) <= now]
        fresh = [url for url in up if url not in avoid] or [url for url in ranked if url not in avoid]
        return (fresh or up or ranked)[0]

    def lost(self, url: str) -> None:
        """Pass the replica over for a while: it couldn't be reached."""
        self._down[url] = self._clock() + COOLDOWN

    def answered(self, episode: str, url: str) -> None:
        """Keep the episode with the replica that answered it: its prefix cache is there now."""
        self._down.pop(url, None)
        if self._ranked(episode)[0] != url:
            self._moved[episode] = url
            if len(self._moved) > _REMEMBERED:
                self._moved.popitem(last=False)

    def _ranked(self, episode: str) -> list[str]:
        if len(self._urls) == 1:
            return list(self._urls)
        ranked = sorted(self._urls, key=lambda url: sha256(f"{episode}\n{url}".encode()).digest())
        home = self._moved.get(episode)
        return ranked if home is None else [home, *(url for url in ranked if url != home)]
