"""Traffic of one process: every request of an endpoint passes here, or asks here from another process."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from random import Random
from types import TracebackType
from typing import Literal, Self

import aiohttp

from pipeline.backbone.config import BackboneConfig
from pipeline.backbone.serving import Endpoint
from pipeline.backbone.traffic import End, Grant
from pipeline.backbone.traffic.breaker import Breaker
from pipeline.backbone.traffic.replica import Measured, Replica, Waiting
from pipeline.backbone.transport import label
from pipeline.errors import BackboneUnavailable

_log = logging.getLogger(__name__)
_REMEMBERED = 65_536
"""Episodes whose places are kept, if nobody says that they ended."""

State = Literal["up", "paused", "lost"]
"""Whether a replica can be reached; none can but that may pass; none could for longer than the patience."""


@dataclass
class _Place:
    replica: Replica
    tokens: int = 0


class LocalTraffic:
    """A `Traffic` within one event loop; use it as an async context manager.

    `canary` says whether a small completion came back from a replica; `look` gives what a replica's own
    metrics say, or None if it offers none.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        backbone: BackboneConfig,
        canary: Callable[[str], Awaitable[bool]],
        look: Callable[[str], Awaitable[Measured | None]],
    ) -> None:
        self._endpoint = endpoint
        self._client = backbone.client
        self._config = config = backbone.traffic
        self._canary = canary
        self._look = look
        self._replicas = [
            Replica(url, Breaker(config.breaker_failures), config.ramp, config.kv_share, endpoint.kv_tokens)
            for url in endpoint.urls
        ]
        self._places: OrderedDict[str, _Place] = OrderedDict()
        self._grants: dict[int, tuple[Replica, str]] = {}
        self._number = time.time_ns()  # so that a grant of a traffic that was here before is none of this
        self._changed = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._random = Random()

    async def __aenter__(self) -> Self:
        for replica in self._replicas:
            self._start(self._watch_metrics(replica))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    @property
    def state(self) -> State:
        """Whether any replica can be reached."""
        left = self._patience_left()
        return "up" if left is None else "paused" if left > 0 else "lost"

    async def acquire(self, episode: str, tokens: int, avoid: frozenset[str] = frozenset()) -> Grant:
        """Wait for leave to send a prompt of about so many tokens, as `Traffic` has it."""
        while True:
            replica = self._place(episode, tokens, avoid)
            if replica is None:
                await self._await_a_replica()
            elif not replica.waiting and replica.admits(tokens):
                return self._grant(replica, episode, tokens)
            elif grant := await self._await_turn(replica, episode, tokens):
                return grant

    def release(self, grant: Grant, end: End) -> None:
        """Give a grant back, with what it came to."""
        replica, _ = self._grants.pop(grant.number, (None, ""))
        if replica is None:  # the episode was ended before its request was
            return
        full = len(replica.in_flight) >= replica.limit
        replica.finished(grant.number)
        if end.there:
            replica.limit += full
            if end.prompt and (place := self._places.get(grant.episode)) and place.replica is replica:
                self._settle(place, end.prompt)
            self._is_there(replica)
        elif end.away:
            self.away(replica.url)
        self._admit(replica)

    def away(self, url: str) -> None:
        """A request couldn't reach the replica at `url`."""
        for replica in self._replicas:
            if replica.url == url and replica.breaker.failed(time.monotonic()):
                self._is_away(replica)

    def ended(self, episode: str) -> None:
        """Free the episode's place, and whatever of it is left."""
        if place := self._places.pop(episode, None):
            self._leave(place)
        for number, (replica, of) in list(self._grants.items()):
            if of == episode:
                del self._grants[number]
                replica.finished(number)
        for replica in self._replicas:
            for waiting in [waiting for waiting in replica.waiting if waiting.episode == episode]:
                replica.waiting.remove(waiting)
                waiting.turn.cancel()
            self._admit(replica)

    async def state_after(self, state: State) -> State:
        """Return the state once it is another than `state`."""
        while self.state == state:
            left = self._patience_left()
            await self._await_change(left if left is not None and left > 0 else None)
        return self.state

    def _place(self, episode: str, tokens: int, avoid: frozenset[str]) -> Replica | None:
        """The episode's replica; another, from now on, if that is away or to be avoided. None if all are."""
        there = [replica for replica in self._replicas if not replica.breaker.is_open]
        fit = [replica for replica in there if replica.url not in avoid] or there
        if not fit:
            return None
        if not episode:  # a request by itself
            return min(
                fit, key=lambda replica: (len(replica.in_flight) + len(replica.waiting), replica.load())
            )
        place = self._places.get(episode)
        if place is None or place.replica not in fit:
            if place is not None:
                self._leave(place)
            place = _Place(min(fit, key=lambda replica: (replica.load(), _rank(episode, replica))))
            place.replica.episodes += 1
            self._places[episode] = place
            if len(self._places) > _REMEMBERED:
                self._leave(self._places.popitem(last=False)[1])
        self._places.move_to_end(episode)
        self._settle(place, max(place.tokens, tokens))
        return place.replica

    def _settle(self, place: _Place, tokens: int) -> None:
        place.replica.resident += tokens - place.tokens
        place.tokens = tokens

    def _leave(self, place: _Place) -> None:
        self._settle(place, 0)
        place.replica.episodes -= 1

    def _grant(self, replica: Replica, episode: str, tokens: int) -> Grant:
        self._number += 1
        replica.started(self._number, tokens)
        self._grants[self._number] = replica, episode
        free = replica.capacity is None and not replica.waiting
        return Grant(self._number, episode, replica.url, free)

    async def _await_turn(self, replica: Replica, episode: str, tokens: int) -> Grant | None:
        waiting = Waiting(episode, tokens, asyncio.get_running_loop().create_future())
        replica.waiting.append(waiting)
        try:
            return await waiting.turn
        except asyncio.CancelledError:
            with suppress(ValueError):
                replica.waiting.remove(waiting)
            if waiting.turn.done() and not waiting.turn.cancelled() and (grant := waiting.turn.result()):
                self.release(grant, End())
            raise

    def _admit(self, replica: Replica) -> None:
        """Let those go who wait at a replica, in order, as far as there is room."""
        while replica.waiting and not replica.breaker.is_open:
            first = replica.waiting[0]
            if not replica.admits(first.tokens):
                return
            replica.waiting.popleft()
            if not first.turn.done():
                first.turn.set_result(self._grant(replica, first.episode, first.tokens))

    def _is_there(self, replica: Replica) -> None:
        if replica.breaker.answered():
            replica.limit = self._config.ramp
            _log.warning("%s answers again", label(replica.url))
            self._notify()

    def _is_away(self, replica: Replica) -> None:
        failures = self._config.breaker_failures
        _log.warning("%s is away: %d failures in a row; it is tried again", label(replica.url), failures)
        while replica.waiting:
            turn = replica.waiting.popleft().turn
            if not turn.done():
                turn.set_result(None)
        self._start(self._try_again(replica))
        self._notify()

    async def _try_again(self, replica: Replica) -> None:
        """Send a canary now and then, until the replica answers it."""
        bound = self._client.backoff
        while replica.breaker.is_open:
            await asyncio.sleep(self._random.uniform(bound / 2, bound))
            bound = min(self._client.max_backoff, 2 * bound)
            if await self._canary(replica.url):
                self._is_there(replica)

    async def _watch_metrics(self, replica: Replica) -> None:
        while True:
            try:
                seen = await self._look(replica.url)
            except (aiohttp.ClientError, OSError):  # it is away, which its requests will find
                pass
            else:
                if seen is None:
                    return
                replica.measured(seen)
                self._admit(replica)
            await asyncio.sleep(self._config.metrics_interval)

    def _patience_left(self) -> float | None:
        """Seconds for which it is worth waiting for a replica; None if one is there."""
        opened = [replica.breaker.opened for replica in self._replicas]
        since = [moment for moment in opened if moment is not None]
        if len(since) < len(opened):
            return None
        return max(since) + self._client.patience - time.monotonic()

    async def _await_a_replica(self) -> None:
        left = self._patience_left()
        if left is not None and left <= 0:
            names = ", ".join(label(replica.url) for replica in self._replicas)
            raise BackboneUnavailable(
                f"{names}, model {self._endpoint.model!r}: no connection to any replica for "
                f"{self._client.patience:g} s (backbone.client.patience). Check that the server runs and its "
                "URL is right; read its log."
            )
        await self._await_change(left)

    async def _await_change(self, seconds: float | None) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._changed.wait()

    def _notify(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _rank(episode: str, replica: Replica) -> bytes:
    """Spreads episodes where loads are equal, alike in every process."""
    return sha256(f"{episode}\n{replica.url}".encode()).digest()
