"""The driver's loop: hands episodes to actors, gives lost ones to others, and compacts what is finished.

It holds what is running, not what is planned or done.
"""

from __future__ import annotations

import logging
import time
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any

import ray
from ray.exceptions import GetTimeoutError, RayError, RayTaskError

from pipeline.backbone.serving import Endpoint
from pipeline.backbone.traffic.local import State
from pipeline.errors import LongHarnessError, RunError, UnusableInput
from pipeline.protocols import Usage
from pipeline.runs.actors import ArmRuntime, Assignment, Ended, EpisodeActor
from pipeline.runs.broadcast import Broadcast
from pipeline.runs.cluster import Cluster
from pipeline.runs.compact import BATCH, Compacted, Finished, commit, compact
from pipeline.runs.config import ActorsConfig
from pipeline.runs.folder import RunFolder
from pipeline.runs.lease import Lease
from pipeline.runs.plan import task_view
from pipeline.runs.progress import Progress
from pipeline.runs.queue import Queue, Work
from pipeline.runs.traffic import start_traffic

log = logging.getLogger(__name__)

POLL_SECONDS = 0.5
CLOSE_SECONDS = 20.0
COMPACTIONS = 2
"""Batches compacted at a time; they run beside the actors, whose replies they mostly wait for."""
WAITING = "waiting for a backbone that is away"
BACKLOG = 32 * BATCH
"""Finished episodes that may wait for compaction before no more are started."""


@dataclass
class Tally:
    """What an invocation achieved. `owed` counts the reasons of episodes that were given up for now."""

    compacted: int = 0
    mismatches: list[str] = field(default_factory=list)
    owed: Counter[str] = field(default_factory=Counter)


@dataclass
class _Health:
    """Attempts of an arm in a row that gave no result."""

    lost: int = 0
    unavailable: int = 0


class Driver:
    """Runs episodes on a pool of actors, inside a context that ends the actors."""

    def __init__(
        self,
        folder: RunFolder,
        cluster: Cluster,
        lease: Lease,
        broadcast: Broadcast,
        harnesses: Mapping[str, Any],
        progress: Progress,
    ) -> None:
        self._folder = folder
        self._cluster = cluster
        self._lease = lease
        self._broadcast = broadcast
        self._harnesses = harnesses
        self._progress = progress
        self._attempts = 1
        self._pool: list[Any] = []
        self._free: deque[int] = deque()
        self._running: dict[Any, tuple[int, Work]] = {}
        self._restarting: dict[Any, int] = {}
        self._idle: Counter[int] = Counter()
        self._finished: list[Finished] = []
        self._compacting: dict[Any, list[Finished]] = {}
        self._left: Counter[str] = Counter()
        self._queue = Queue({}, lambda arm: iter(()))
        self._arms: Mapping[str, ArmRuntime] = {}
        self._traffic: dict[Endpoint, tuple[str, Any]] = {}  # actors by name and handle
        self._states: dict[Any, Endpoint] = {}
        self._health: dict[str, _Health] = {}
        self.tally = Tally()

    def __enter__(self) -> Driver:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and not self._running:
            try:
                ray.get([actor.close.remote() for actor in self._pool], timeout=CLOSE_SECONDS)
            except (RayError, GetTimeoutError) as failed:
                log.warning("an actor did not close its journal (it is whole all the same): %s", failed)
        for actor in (*self._pool, *(traffic for _, traffic in self._traffic.values())):
            ray.kill(actor)

    def start_actors(self, config: ActorsConfig, arms: Mapping[str, ArmRuntime], episodes: int) -> None:
        """Start as many actors as the cluster has room for and `episodes` need.

        An actor that dies is restarted by Ray, as often as that happens: what limits it is the attempts of
        each episode. A call is not repeated by Ray (`max_task_retries=0`): the driver hands the episode out
        again, as an attempt of its own.
        """
        self._attempts = config.attempts
        node_local = any(arm.endpoint.node_local for arm in arms.values())
        room = int(self._cluster.cpus(node_local) / config.cpus)
        count = min(config.count or max(1, room), -(-episodes // config.episodes))
        options: dict[str, Any] = {"scheduling_strategy": self._cluster.here()} if node_local else {}
        self._arms = {name: self._with_traffic(arm, options) for name, arm in arms.items()}
        actor = ray.remote(EpisodeActor).options(
            num_cpus=config.cpus,
            max_concurrency=config.episodes + 1,  # one more, so that `close` is never behind episodes
            max_restarts=-1,
            max_task_retries=0,
            **options,
        )
        journal = self._folder.journal.absolute()
        self._pool = [actor.remote(journal, f"actor{number:04}", self._arms) for number in range(count)]
        self._free = deque(number for _ in range(config.episodes) for number in range(count))
        self._health = {arm: _Health() for arm in arms}

    def _with_traffic(self, arm: ArmRuntime, options: dict[str, Any]) -> ArmRuntime:
        if arm.endpoint not in self._traffic:
            self._traffic[arm.endpoint] = start_traffic(arm.endpoint, arm.backbone, options)
            self._watch(arm.endpoint, "up")
        return replace(arm, traffic=self._traffic[arm.endpoint][0])

    def _watch(self, endpoint: Endpoint, state: State) -> None:
        watched = self._traffic[endpoint][1].state_after.options(max_task_retries=0)  # quiet when all ends
        self._states[watched.remote(state)] = endpoint

    def drive(self, finished: Iterable[Finished], queue: Queue, left: Counter[str]) -> None:
        """Compact `finished` and run `queue` to the end; `left` counts both by corpus."""
        self._left = left
        self._finished = list(finished)
        self._queue = queue
        self._progress.stage = "running"
        while self._step():
            self._progress.write(self._folder)
            if self._lease.lost:
                raise RunError(f"{self._folder.path}: another driver took it over, or may: this one stops")
        self._progress.stage = "done"

    def compact_finished(self, seconds: float) -> None:
        """Compact what is finished, for so many seconds at most: after an interruption."""
        deadline = time.monotonic() + seconds
        while self._finished or self._compacting:
            self._start_compactions(last=True)
            ready, _ = ray.wait(list(self._compacting), timeout=max(0.0, deadline - time.monotonic()))
            if not ready:
                return
            self._on_compacted(ready[0])

    def _step(self) -> bool:
        """Start what can be started, wait for something to end, and say whether anything is left."""
        self._start_episodes()
        self._start_compactions(last=not self._running)
        refs = [*self._running, *self._compacting, *(() if self._queue.empty else self._restarting)]
        if not refs and not self._queue.held:
            return False
        ready, rest = ray.wait([*refs, *self._states], num_returns=1, timeout=POLL_SECONDS)
        if ready and rest:  # whatever else is ready by now, in one go
            ready += ray.wait(rest, num_returns=len(rest), timeout=0)[0]
        for ref in ready:
            if ref in self._running:
                self._on_ended(ref)
            elif ref in self._restarting:
                self._on_restarted(ref)
            elif ref in self._states:
                self._on_state(ref)
            else:
                self._on_compacted(ref)
        return True

    def _on_state(self, ref: Any) -> None:
        """A backbone is away, or there again, or away for so long that its episodes are owed."""
        endpoint = self._states.pop(ref)
        try:
            state: State = ray.get(ref)
        except RayError as error:
            log.error(
                "traffic to %s is watched no more, its episodes wait by themselves: %s", endpoint.urls, error
            )
            self._queue.hold(endpoint, away=False)
            return
        log.warning("the backbone at %s is %s", ", ".join(endpoint.urls), state)
        self._queue.hold(endpoint, away=state == "paused")
        self._progress.stage = WAITING if self._queue.held else "running"
        self._watch(endpoint, state)

    def _start_episodes(self) -> None:
        """Start episodes while there is room. Where no actor is left, all that are left are owed."""
        while len(self._finished) < BACKLOG:
            lost = not (self._free or self._running or self._restarting)
            work = self._queue.take() if self._free or lost else None
            if work is None:
                return
            arm = work.planned["arm"]
            if lost:
                self._owe(work, "no actor is left: see logs/driver.log")
            elif self._is_down(arm):
                self._owe(work, f"arm {arm}: not started, since no attempt of it gives a result")
            else:
                slot = self._free.popleft()
                self._running[self._pool[slot].run.remote(self._assignment(work))] = (slot, work)
                self._progress.episode_started(work.planned)
                continue
            self._queue.ended(work)

    def _assignment(self, work: Work) -> Assignment:
        planned = work.planned
        corpus = self._broadcast.handle(planned["corpus"])
        return Assignment(
            planned["episode_id"], work.attempt, planned["arm"], task_view(planned), planned["seed"], corpus
        )

    def _on_ended(self, ref: Any) -> None:
        slot, work = self._running.pop(ref)
        self._queue.ended(work)
        episode, health = work.planned["episode_id"], self._health[work.planned["arm"]]
        ended: Ended | None = None
        try:
            ended = ray.get(ref)
            self._free.append(slot)
        except RayTaskError as error:
            self._free.append(slot)
            if isinstance(error.cause, UnusableInput):
                raise error.cause from None
            health.lost += 1
            log.error("episode %s, attempt %d: %s", episode, work.attempt, error)
            self._owe(work, f"arm {work.planned['arm']}: {error.cause!r}")
        except RayError as error:
            health.lost += 1
            self._free_place(work)
            self._await_restart(slot)
            self._on_lost(work, error)
        finally:
            done = ended is not None and ended.attempt.finished
            self._progress.episode_stopped(work.planned, ended.usage if ended else Usage(), done)
        if ended is None:
            return
        if ended.attempt.finished:
            self._health[work.planned["arm"]] = _Health()
            self._finished.append(Finished(work.planned, ended.attempt))
        else:
            health.unavailable += 1
            self._owe(work, f"arm {work.planned['arm']}: {ended.error}")

    def _free_place(self, work: Work) -> None:
        """Free what an episode holds of its backbone, before it is run again."""
        _, traffic = self._traffic[self._arms[work.planned["arm"]].endpoint]
        ray.wait([traffic.ended.remote(work.planned["episode_id"])], timeout=CLOSE_SECONDS)

    def _await_restart(self, actor: int) -> None:
        """Keep a place of an actor that died until it is there again: till then every call to it fails."""
        self._idle[actor] += 1
        if actor not in self._restarting.values():
            answer = self._pool[actor].ready.options(max_task_retries=-1).remote()
            self._restarting[answer] = actor

    def _on_restarted(self, ref: Any) -> None:
        actor = self._restarting.pop(ref)
        places = self._idle.pop(actor)
        try:
            ray.get(ref)
        except RayError as error:
            log.error("actor %d can't be restarted: %s", actor, error)
            return
        self._free.extend([actor] * places)

    def _on_lost(self, work: Work, error: RayError) -> None:
        """The worker died: the episode is run again, as a new attempt, unless too many were lost."""
        episode = work.planned["episode_id"]
        reason = str(error).strip().splitlines()[0]
        log.warning("episode %s, attempt %d: its worker was lost: %s", episode, work.attempt, error)
        if work.lost + 1 < self._attempts:
            self._queue.again(replace(work, attempt=work.attempt + 1, lost=work.lost + 1))
        else:
            self._owe(work, f"arm {work.planned['arm']}: its worker died {self._attempts} times: {reason}")

    def _owe(self, work: Work, reason: str) -> None:
        log.warning("episode %s is owed: %s", work.planned["episode_id"], reason)
        self.tally.owed[reason] += 1
        self._progress.episode_owed(work.planned["arm"])
        self._let_go(work.planned["corpus"])

    def _is_down(self, arm: str) -> bool:
        """Whether to stop starting an arm's episodes: they would only fail, each after its own patience."""
        slots, health = max(2, len(self._free) + len(self._running)), self._health[arm]
        return health.unavailable >= slots or health.lost >= 2 * self._attempts * slots

    def _start_compactions(self, last: bool) -> None:
        while len(self._compacting) < COMPACTIONS and (
            len(self._finished) >= BATCH or (last and self._finished)
        ):
            batch, self._finished = self._finished[:BATCH], self._finished[BATCH:]
            handles = {
                item.planned["corpus"]: self._broadcast.handle(item.planned["corpus"]) for item in batch
            }
            arms = {item.planned["arm"]: self._harnesses[item.planned["arm"]] for item in batch}
            task = ray.remote(compact).options(num_cpus=0, max_retries=3)
            self._compacting[task.remote(self._folder.path.absolute(), batch, arms, handles)] = batch

    def _on_compacted(self, ref: Any) -> None:
        batch = self._compacting.pop(ref)
        try:
            done: Compacted = ray.get(ref)
        except RayTaskError as error:
            raise (error.cause if isinstance(error.cause, LongHarnessError) else error) from None
        except RayError as error:  # its worker died at every try; the next invocation compacts these episodes
            log.error("%d finished episodes were not compacted: %s", len(batch), error)
            self.tally.owed["finished, but its worker died while its rows were made"] += len(batch)
            done = Compacted()
        commit(self._folder.path, done)
        self.tally.compacted += len(done.episodes)
        for message in done.mismatches.values():
            log.error("%s", message)
            self.tally.mismatches.append(message)
        for item in batch:
            self._let_go(item.planned["corpus"])

    def _let_go(self, corpus: str) -> None:
        self._left[corpus] -= 1
        if not self._left[corpus]:
            self._broadcast.release(corpus)
