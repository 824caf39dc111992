"""Arms take turns, and none waits for another's backbone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pipeline.backbone.serving import Endpoint
from pipeline.runs.queue import Queue, Work

SLOW = Endpoint(("http://127.0.0.1:1/v1",), "slow", slots=1)
FAST = Endpoint(("http://127.0.0.1:2/v1",), "fast")


def work(arm: str, number: int) -> Work:
    return Work({"arm": arm, "episode_id": f"{arm}{number}"}, attempt=1)


def queue(**counts: int) -> Queue:
    endpoints = {arm: SLOW if arm.startswith("slow") else FAST for arm in counts}

    def owed(arm: str) -> Iterator[Work]:
        return (work(arm, number) for number in range(counts[arm]))

    return Queue(endpoints, owed)


def taken(queue: Queue) -> list[str]:
    return [work.planned["episode_id"] for work in iter(queue.take, None)]


def test_arms_take_turns_until_each_is_done() -> None:
    assert taken(queue(a=3, b=1, c=2)) == ["a0", "b0", "c0", "a1", "c1", "a2"]


def test_arms_of_a_backbone_with_one_slot_share_it_and_hold_up_no_other() -> None:
    waiting = queue(slow1=2, slow2=1, fast=3)
    assert taken(waiting) == ["slow10", "fast0", "fast1", "fast2"]
    assert not waiting.empty
    waiting.ended(work("slow1", 0))
    assert taken(waiting) == ["slow20"]
    waiting.ended(work("slow2", 0))
    assert taken(waiting) == ["slow11"]
    assert waiting.empty


def test_an_episode_given_back_comes_first_of_its_arm() -> None:
    waiting = queue(a=2)
    first = waiting.take()
    assert first is not None
    waiting.ended(first)
    waiting.again(replace(first, attempt=2))
    assert taken(waiting) == ["a0", "a1"]
