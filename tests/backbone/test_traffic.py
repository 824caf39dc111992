"""Which replica a request goes to, and when: places, KV admission, the ramp, the breaker and its canary."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.backbone.client import ChatClient
from pipeline.backbone.config import TrafficConfig
from pipeline.backbone.serving import Endpoint
from pipeline.backbone.traffic import End, Grant
from pipeline.backbone.traffic.breaker import Breaker
from pipeline.backbone.traffic.local import LocalTraffic
from pipeline.backbone.traffic.replica import LEAST_SHARE, Measured, Replica
from pipeline.backbone.traffic.upstream import read_metrics, traffic_to
from pipeline.errors import BackboneUnavailable
from tests.backbone.faults import completion, faulty, hang, reset
from tests.backbone.requests import ask, hasty

A, B = "http://a:1/v1", "http://b:1/v1"
ANSWERED = End(there=True)
AWAY = End(away=True)
METRICS = """\
# HELP vllm:num_preemptions_total Cumulative number of preemption from the engine.
# TYPE vllm:num_preemptions_total counter
vllm:num_preemptions_total{engine="0",model_name="tiny"} 3.0
vllm:kv_cache_usage_perc{engine="0",model_name="tiny"} 0.25
vllm:cache_config_info{block_size="32",engine="0",num_gpu_blocks="4096"} 1.0
vllm:cache_config_info{block_size="32",engine="1",num_gpu_blocks="4096"} 1.0
vllm:num_preemptions_total{engine="1",model_name="tiny"} 1.0
vllm:kv_cache_usage_perc{engine="1",model_name="tiny"} 0.5
"""


class Servers:
    """What two replicas answer when they are asked for themselves."""

    def __init__(self) -> None:
        self.up = {A, B}
        self.canaries: list[str] = []
        self.seen: dict[str, Measured | None] = {}

    async def canary(self, url: str) -> bool:
        self.canaries.append(url)
        return url in self.up

    async def look(self, url: str) -> Measured | None:
        return self.seen.get(url)


@asynccontextmanager
async def traffic(
    urls: tuple[str, ...] = (A,),
    servers: Servers | None = None,
    kv_tokens: int | None = None,
    patience: float = 60.0,
    **config: float,
) -> AsyncIterator[LocalTraffic]:
    backbone = hasty(patience=patience)
    backbone.traffic = TrafficConfig(**{"ramp": 1_000} | config)  # type: ignore[arg-type]
    servers = servers or Servers()
    endpoint = Endpoint(urls, "m", kv_tokens=kv_tokens)
    async with LocalTraffic(endpoint, backbone, servers.canary, servers.look) as made:
        yield made


async def granted(traffic: LocalTraffic, *requests: tuple[str, int]) -> list[asyncio.Task[Grant]]:
    """Ask for each, and let those through who may go."""
    tasks = [asyncio.create_task(traffic.acquire(*request)) for request in requests]
    for _ in range(5):
        await asyncio.sleep(0)
    return tasks


def done(tasks: list[asyncio.Task[Grant]]) -> list[bool]:
    return [task.done() for task in tasks]


async def test_episodes_are_placed_where_most_room_is_and_stay_there() -> None:
    async with traffic((A, B), kv_tokens=1_000_000) as both:
        first = await both.acquire("large", 50_000)
        both.release(first, End(True, prompt=60_000))
        others = [await both.acquire(f"small {n}", 10_000) for n in range(8)]
        assert Counter(grant.url == first.url for grant in others) == {False: 7, True: 1}
        for grant in others:
            both.release(grant, End(True, prompt=200_000))  # whatever they grow to
        for grant in others:
            again = await both.acquire(grant.episode, 200_000)
            assert again.url == grant.url
            both.release(again, ANSWERED)


async def test_requests_of_no_episode_go_to_whoever_has_least_to_do() -> None:
    async with traffic((A, B)) as both:
        first, second, third = [await both.acquire("", 1) for _ in range(3)]
        assert {first.url, second.url} == {A, B}
        both.release(first if first.url != third.url else second, ANSWERED)
        assert (await both.acquire("", 1)).url != third.url


async def test_room_is_free_again_when_an_episode_ends() -> None:
    async with traffic((A, B)) as both:
        first = await both.acquire("first", 10)
        second = await both.acquire("second", 1_000)
        assert {first.url, second.url} == {A, B}
        both.ended("second")
        assert (await both.acquire("third", 5)).url == second.url


async def test_what_others_hold_of_a_kv_cache_counts_too() -> None:
    servers = Servers()
    servers.seen = {A: Measured(10_000, usage=0.8), B: Measured(10_000, usage=0.1)}
    async with traffic((A, B), servers) as both:
        await granted(both)
        assert {(await both.acquire(f"e{n}", 10)).url for n in range(6)} == {B}


async def test_prompts_in_flight_stay_below_the_share_of_the_kv_cache() -> None:
    async with traffic(kv_tokens=100) as one:
        tasks = await granted(one, ("a", 50), ("b", 40), ("c", 1), ("d", 1))
        assert done(tasks) == [True, True, False, False]
        one.release(tasks[0].result(), ANSWERED)
        assert (await tasks[2]).episode == "c" and (await tasks[3]).episode == "d"


async def test_who_waits_goes_in_order_however_small_the_next_is() -> None:
    async with traffic(kv_tokens=100) as one:
        tasks = await granted(one, ("a", 60), ("large", 80), ("small", 5))
        assert done(tasks) == [True, False, False]
        one.release(tasks[0].result(), ANSWERED)
        assert (await tasks[1]).episode == "large" and (await tasks[2]).episode == "small"


async def test_a_prompt_that_is_larger_than_the_share_goes_alone() -> None:
    async with traffic(kv_tokens=100) as one:
        tasks = await granted(one, ("huge", 500), ("b", 1))
        assert done(tasks) == [True, False]


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 60)), max_size=60))
def test_never_more_is_in_flight_than_the_share(steps: list[tuple[bool, int]]) -> None:
    replica = Replica(A, Breaker(3), limit=10, most_share=0.9, capacity=100)
    sent: dict[int, int] = {}
    for number, (sends, tokens) in enumerate(steps):
        if sends and replica.admits(tokens):
            replica.started(number, tokens)
            sent[number] = tokens
        elif not sends and sent:
            over = min(sent)
            replica.finished(over)
            replica.finished(over)
            del sent[over]
        assert len(sent) <= 10 and (sum(sent.values()) <= 90 or len(sent) == 1)


async def test_requests_in_flight_ramp_up_with_the_replies() -> None:
    async with traffic(ramp=2) as one:
        asked = await granted(one, *((f"e{n}", 1) for n in range(40)))
        waves = []
        while asked:
            sent = [task for task in asked if task.done()]
            asked = [task for task in asked if not task.done()]
            waves.append(len(sent))
            for task in sent:
                one.release(task.result(), ANSWERED)
            await granted(one)
    assert waves == [2, 4, 8, 16, 10]


def test_preemptions_take_the_share_down_and_it_recovers_slowly() -> None:
    replica = Replica(A, Breaker(3), limit=10, most_share=0.9, capacity=None)
    replica.measured(Measured(1_000, preemptions=7))
    assert (replica.share, replica.capacity) == (0.9, 1_000)  # they may be of long ago
    replica.measured(Measured(1_000, preemptions=8))
    assert replica.share == pytest.approx(0.63)
    for preemptions in range(9, 30):
        replica.measured(Measured(1_000, preemptions=preemptions))
    assert replica.share == pytest.approx(LEAST_SHARE * 0.9)
    replica.measured(Measured(1_000, preemptions=29))
    assert 0.27 < replica.share < 0.4
    for _ in range(100):
        replica.measured(Measured(1_000, preemptions=29))
    assert replica.share == 0.9


async def test_after_failures_in_a_row_nothing_is_sent_until_a_canary_comes_back() -> None:
    servers = Servers()
    servers.up.clear()
    async with traffic(servers=servers, breaker_failures=3) as one:
        for end in (AWAY, AWAY, ANSWERED, AWAY, AWAY):
            one.release(await one.acquire("a", 1), end)
        assert one.state == "up"
        one.release(await one.acquire("a", 1), AWAY)
        assert one.state == "paused"
        waiting = await granted(one, ("a", 1), ("b", 1))
        while len(servers.canaries) < 3:
            await asyncio.sleep(0.001)
        assert done(waiting) == [False, False]
        servers.up.add(A)
        assert [(await task).url for task in waiting] == [A, A]
        assert one.state == "up"


async def test_what_waits_at_a_replica_that_goes_away_goes_to_another() -> None:
    servers = Servers()
    servers.up.clear()
    async with traffic((A, B), servers, kv_tokens=100, breaker_failures=1) as both:
        first, second = await both.acquire("first", 80), await both.acquire("second", 10)
        at_first = [f"e{n}" for n in range(3)]
        both.release(second, End(True, prompt=1_000))  # so that all others go to the first one
        waiting = await granted(both, *((name, 30) for name in at_first))
        assert done(waiting) == [False] * 3
        both.release(first, AWAY)
        assert {(await task).url for task in waiting} == {second.url}


async def test_a_replica_that_is_to_be_avoided_loses_the_episode() -> None:
    async with traffic((A, B)) as both:
        home = (await both.acquire("a", 1)).url
        moved = (await both.acquire("a", 1, frozenset({home}))).url
        assert moved != home and (await both.acquire("a", 1)).url == moved
        assert (await both.acquire("a", 1, frozenset({A, B}))).url == moved


async def test_patience_with_an_endpoint_that_is_away_ends_and_says_so() -> None:
    servers = Servers()
    servers.up.clear()
    async with traffic((A, B), servers, patience=0.2, breaker_failures=1) as both:
        changes = asyncio.create_task(both.state_after("up"))
        for _ in range(2):
            both.release(await both.acquire("a", 1), AWAY)
        assert await changes == "paused"
        with pytest.raises(BackboneUnavailable, match=r"a:1, b:1.*no connection to any replica for 0\.2 s"):
            await both.acquire("a", 1)
        assert await both.state_after("paused") == "lost"
        with pytest.raises(BackboneUnavailable):
            await both.acquire("b", 1)
        servers.up.add(B)
        assert await both.state_after("lost") == "up"
        assert (await both.acquire("a", 1)).url == B


async def test_what_is_given_up_while_it_waits_leaves_nothing_behind() -> None:
    async with traffic(kv_tokens=100) as one:
        first, second, third = await granted(one, ("a", 90), ("b", 90), ("c", 90))
        second.cancel()
        one.release(first.result(), ANSWERED)
        assert (await third).episode == "c"
        (fourth,) = await granted(one, ("d", 90))
        one.release(third.result(), ANSWERED)
        fourth.cancel()  # it has its turn, and doesn't know yet
        await asyncio.wait([fourth])
        assert (await one.acquire("e", 90)).episode == "e"


async def test_the_end_of_an_episode_frees_what_its_worker_left() -> None:
    async with traffic(kv_tokens=100) as one:
        lost, waiting, other = await granted(one, ("a", 90), ("a", 90), ("b", 90))
        one.ended("a")
        assert (await other).episode == "b"
        with pytest.raises(asyncio.CancelledError):
            await waiting
        one.release(lost.result(), AWAY)  # late, of a worker that was not dead
        assert not (await granted(one, ("c", 90)))[0].done()


def test_the_metrics_of_a_vllm_are_read() -> None:
    assert read_metrics(METRICS) == Measured(2 * 32 * 4_096, 0.5, 4.0)
    garbage = METRICS + "vllm:num_preemptions_total many\nvllm:kv_cache_usage_perc NaN\n"
    assert read_metrics(garbage) == read_metrics(METRICS)


async def test_a_vllms_metrics_bound_what_is_in_flight() -> None:
    async with faulty(completion()) as server:
        server.looks = {"/metrics": "# more than comes at a time\n" * 20_000 + METRICS}
        async with traffic_to(server.endpoint, hasty()) as live:
            while live._replicas[0].capacity is None:
                await asyncio.sleep(0.001)
            first, second = await granted(live, ("a", 200_000), ("b", 100_000))
            assert (first.done(), second.done()) == (True, False)


async def test_a_server_without_metrics_is_not_asked_again() -> None:
    backbone = hasty()
    backbone.traffic = TrafficConfig(metrics_interval=0.001)
    async with faulty(completion()) as server, traffic_to(server.endpoint, backbone) as live:
        while live._tasks:
            await asyncio.sleep(0.001)
        assert server.looked == ["/metrics"]


async def test_clients_that_share_traffic_agree_on_an_episodes_replica_and_on_what_is_away() -> None:
    async with faulty(completion("a")) as a, faulty(completion("b")) as b:
        endpoint = replace(a.endpoint, urls=(a.url, b.url))
        async with (
            traffic_to(endpoint, hasty(patience=30.0)) as shared,
            ChatClient(endpoint, hasty(patience=30.0), shared) as one,
            ChatClient(endpoint, hasty(patience=30.0), shared) as other,
        ):
            homes = {name: (await one.complete(ask(episode=name))).text for name in "012345"}
            assert {name: (await other.complete(ask(episode=name))).text for name in homes} == homes
            b.steps = [reset]
            moved = [await one.complete(ask(episode=name)) for name in homes]
            assert {reply.text for reply in moved} == {"a"}
            told = [await other.complete(ask(episode=name)) for name in homes]
            assert {(reply.text, len(reply.requests)) for reply in told} == {("a", 1)}


async def test_a_replica_that_hangs_is_away_and_its_episodes_go_on_elsewhere() -> None:
    backbone = hasty(patience=30.0, first_byte_timeout=0.1)
    async with faulty(hang) as a, faulty(completion("b")) as b:
        endpoint = replace(a.endpoint, urls=(a.url, b.url))
        async with ChatClient(endpoint, backbone) as client:
            replies = await asyncio.gather(*(client.complete(ask(episode=str(n))) for n in range(6)))
            assert {reply.text for reply in replies} == {"b"}
            assert len((await client.complete(ask(episode="later"))).requests) == 1
