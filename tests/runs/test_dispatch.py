"""How a run's requests reach its backbone: together, whichever actor process they come from."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import ray

from pipeline.backbone.config import BackboneConfig, ClientConfig, EndpointConfig, TrafficConfig
from pipeline.backbone.serving import Endpoint
from pipeline.backbone.traffic import End
from pipeline.errors import BackboneUnavailable
from pipeline.runs import tables
from pipeline.runs.progress import Progress, read_progress
from pipeline.runs.run import RunResult, run
from pipeline.runs.spec import ArmSpec
from pipeline.runs.traffic import RemoteTraffic, start_traffic
from tests.runs.observe import wait_for
from tests.runs.sample import TURNS, Server, arm, serving, spec
from tests.runs.test_queue import queue, taken

pytestmark = pytest.mark.usefixtures("cluster")


def patient(arm: ArmSpec, patience: float, **traffic: float) -> ArmSpec:
    """The arm with a client that waits for its backbone."""
    client = ClientConfig(attempts=1, patience=patience, backoff=0.01, max_backoff=0.2)
    config = TrafficConfig(**traffic)  # type: ignore[arg-type]
    return replace(arm, backbone=replace(arm.backbone, client=client, traffic=config))


def served(arm: ArmSpec, *urls: str, kv_tokens: int | None = None) -> ArmSpec:
    return replace(arm, serving=EndpointConfig(urls=list(urls), kv_tokens=kv_tokens, startup_timeout=5.0))


class Running:
    """A run in a thread of its own."""

    def __init__(self, *arguments: object, progress: Progress) -> None:
        self.result: RunResult | None = None
        self._arguments = arguments
        self._progress = progress
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        self.result = run(self._arguments[0], self._progress)  # type: ignore[arg-type]

    def ended(self) -> RunResult:
        self._thread.join(240)
        assert self.result is not None
        return self.result


def test_a_run_pauses_while_its_backbone_is_away_and_goes_on_by_itself(
    tmp_path: Path, documents: Path, server: Server
) -> None:
    server.delay = 0.05
    progress = Progress()
    one = patient(arm("a", documents, server.url, tasks=12), patience=200.0)
    running = Running(spec(tmp_path, [one], episodes=3), progress=progress)
    wait_for(lambda: server.asked > 2 * TURNS)
    server.away = True
    wait_for(lambda: progress.stage == "waiting for a backbone that is away")
    started = len(progress._running)
    seen = server.dropped
    wait_for(lambda: server.dropped > seen + 3)  # canaries, one after the other
    assert len(progress._running) == started
    server.away = False
    result = running.ended()
    assert (result.finished, result.owed, result.complete) == (12, 0, True)
    failed = [row for row in tables.read(result.folder, "requests").to_pylist() if row["error"]]
    assert {row["error"].partition(":")[0] for row in failed} == {"connection"}
    shown = read_progress(result.folder)
    assert shown and shown["stage"] == "done"


def test_a_backbone_that_stays_away_leaves_all_owed_with_the_reason(
    tmp_path: Path, documents: Path, server: Server
) -> None:
    server.delay = 0.05
    one = patient(arm("a", documents, server.url, tasks=30), patience=1.0)
    running = Running(spec(tmp_path, [one], episodes=2), progress=Progress())
    wait_for(lambda: server.asked > TURNS)
    server.away = True
    result = running.ended()
    assert result.finished + result.owed == 30 and result.owed > 20
    assert sum(result.reasons.values()) == result.owed
    assert any("backbone.client.patience" in reason for reason in result.reasons)
    server.away = False
    again = run(spec(tmp_path, [one], episodes=2))
    assert (again.finished, again.complete) == (30, True)


def test_an_episode_stays_on_one_replica_and_replicas_share_the_episodes(
    tmp_path: Path, documents: Path, server: Server
) -> None:
    server.delay = 0.02
    with serving() as other:
        other.delay = 0.02
        one = served(arm("a", documents, server.url, tasks=12), server.url, other.url)
        result = run(spec(tmp_path, [one], count=2, episodes=3))
    assert result.complete
    homes: dict[str, set[str]] = {}
    for row in tables.read(result.folder, "requests").to_pylist():
        homes.setdefault(row["episode_id"], set()).add(row["replica"])
    assert all(len(replicas) == 1 for replicas in homes.values())
    spread = Counter(next(iter(replicas)) for replicas in homes.values())
    assert len(spread) == 2 and min(spread.values()) >= 3


def test_prompts_in_flight_of_all_actors_stay_within_the_kv_cache(
    tmp_path: Path, documents: Path, server: Server
) -> None:
    server.delay = 0.05
    alone = run(spec(tmp_path, [arm("a", documents, server.url)], count=2, episodes=3))
    free = server.most_in_flight
    requests = tables.read(alone.folder, "requests").to_pylist()
    kv_tokens = 3 * max(row["prompt_tokens"] for row in requests)
    assert free > kv_tokens  # else this shows nothing
    server.most_in_flight = 0
    bound = served(arm("a", documents, server.url), server.url, kv_tokens=kv_tokens)
    assert run(spec(tmp_path, [bound], "bound", count=2, episodes=3)).complete
    assert 0 < server.most_in_flight <= kv_tokens


@pytest.mark.parametrize("kv_tokens", [None, 1_000])
async def test_an_episode_asks_for_each_request_only_where_a_kv_cache_is_to_be_shared(
    kv_tokens: int | None,
) -> None:
    url = "http://127.0.0.1:9/v1"
    _, actor = start_traffic(Endpoint((url,), "m", kv_tokens=kv_tokens), BackboneConfig(), {})
    traffic = RemoteTraffic(actor)
    grant = await traffic.acquire("e", 10)
    traffic.release(grant, End(there=True, prompt=10))
    ray.kill(actor)
    if kv_tokens:
        with pytest.raises(BackboneUnavailable, match="traffic actor"):
            await traffic.acquire("e", 10)
        return
    unasked = await traffic.acquire("e", 10)
    assert unasked.url == url
    traffic.release(unasked, End(away=True))
    with pytest.raises(BackboneUnavailable, match="traffic actor"):  # after a failure it asks
        await traffic.acquire("e", 10)


async def test_failures_of_requests_that_did_not_ask_pause_the_backbone_too() -> None:
    url = "http://127.0.0.1:9/v1"
    backbone = BackboneConfig(traffic=TrafficConfig(breaker_failures=2))
    _, actor = start_traffic(Endpoint((url,), "m"), backbone, {})
    traffic = RemoteTraffic(actor)
    for episode in ("a", "b"):
        traffic.release(await traffic.acquire(episode, 10), End(there=True, prompt=10))
    changed = actor.state_after.remote("up")
    for episode in ("a", "b"):
        traffic.release(await traffic.acquire(episode, 10), End(away=True))
    assert await changed == "paused"
    ray.kill(actor)


def test_an_arm_whose_backbone_is_away_holds_up_no_other() -> None:
    waiting = queue(slow=2, fast=3)
    slow = Endpoint(("http://127.0.0.1:1/v1",), "slow", slots=1)
    waiting.hold(slow, away=True)
    assert taken(waiting) == ["fast0", "fast1", "fast2"]
    assert waiting.held and not waiting.empty
    waiting.hold(slow, away=False)
    assert not waiting.held
    assert taken(waiting) == ["slow0"]
