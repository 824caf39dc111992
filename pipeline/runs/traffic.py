"""Traffic of a run: one Ray actor for each endpoint decides for all episodes, in whichever actor they are."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack
from typing import Any
from uuid import uuid4

import ray
from ray.exceptions import RayError

from pipeline.backbone.config import BackboneConfig
from pipeline.backbone.serving import Endpoint
from pipeline.backbone.traffic import End, Grant
from pipeline.backbone.traffic.local import LocalTraffic, State
from pipeline.backbone.traffic.upstream import traffic_to
from pipeline.errors import BackboneUnavailable

WAITING = 100_000
"""Requests of all episodes together that may wait for their turn."""
FREE_SECONDS = 10.0
"""For how long an episode need not ask, where there is nothing to share out."""
_UNASKED = 0


class TrafficActor:
    """Holds the one `LocalTraffic` to an endpoint."""

    def __init__(self, endpoint: Endpoint, backbone: BackboneConfig) -> None:
        self._endpoint = endpoint
        self._backbone = backbone
        self._open = AsyncExitStack()
        self._opening = asyncio.Lock()
        self._traffic: LocalTraffic | None = None

    async def acquire(self, episode: str, tokens: int, avoid: frozenset[str]) -> Grant | str:
        """Return a grant, or why there is none: what `LocalTraffic.acquire` says when it gives up."""
        traffic = await self._opened()
        try:
            return await traffic.acquire(episode, tokens, avoid)
        except BackboneUnavailable as error:
            return str(error)

    async def release(self, grant: Grant, end: End) -> None:
        """Give a grant back."""
        (await self._opened()).release(grant, end)

    async def away(self, url: str) -> None:
        """A request that had not to ask couldn't reach the replica at `url`."""
        (await self._opened()).away(url)

    async def ended(self, episode: str) -> None:
        """The episode asks no more."""
        (await self._opened()).ended(episode)

    async def state_after(self, state: State) -> State:
        """Return the endpoint's state once it is another than `state`."""
        return await (await self._opened()).state_after(state)

    async def _opened(self) -> LocalTraffic:
        if self._traffic is None:
            async with self._opening:
                if self._traffic is None:
                    opened = traffic_to(self._endpoint, self._backbone)
                    self._traffic = await self._open.enter_async_context(opened)
        return self._traffic


class RemoteTraffic:
    """A `Traffic` that asks the run's actor for it, unless the last grant said that there is no need to."""

    def __init__(self, actor: Any) -> None:
        self._actor = actor
        self._free: dict[str, tuple[str, float]] = {}  # replica, and until when, by episode

    @classmethod
    def named(cls, name: str) -> RemoteTraffic:
        """Return the traffic of the run's actor of that name."""
        return cls(ray.get_actor(name))

    async def acquire(self, episode: str, tokens: int, avoid: frozenset[str] = frozenset()) -> Grant:
        """Wait for leave to send a request, as `Traffic` has it."""
        url, until = self._free.get(episode, ("", 0.0))
        if time.monotonic() < until and url not in avoid:
            return Grant(_UNASKED, episode, url)
        try:
            grant: Grant | str = await self._actor.acquire.remote(episode, tokens, avoid)
        except RayError as error:
            raise BackboneUnavailable(f"the run's traffic actor can't be reached: {error}") from error
        if isinstance(grant, str):
            raise BackboneUnavailable(grant)
        if grant.free and episode:
            self._free[episode] = grant.url, time.monotonic() + FREE_SECONDS
        return grant

    def release(self, grant: Grant, end: End) -> None:
        """Give a grant back, without waiting."""
        if end.away:
            self._free.pop(grant.episode, None)
        if grant.number != _UNASKED:
            self._actor.release.remote(grant, end)
        elif end.away:
            self._actor.away.remote(grant.url)

    def ended(self, episode: str) -> None:
        """The episode asks no more; said without waiting."""
        self._free.pop(episode, None)
        self._actor.ended.remote(episode)


def start_traffic(endpoint: Endpoint, backbone: BackboneConfig, options: dict[str, Any]) -> tuple[str, Any]:
    """Start the actor for an endpoint; one that dies begins anew, with no episode placed anywhere.

    Returns its name, by which other actors find it, and its handle. (In what an actor is started with, a
    handle would lie in the object store, without which the actor can't be started anew.)
    """
    name = f"traffic-{uuid4().hex}"
    actor = ray.remote(TrafficActor).options(
        name=name, num_cpus=0, max_concurrency=WAITING, max_restarts=-1, max_task_retries=-1, **options
    )
    return name, actor.remote(endpoint, backbone)
