"""When the rest will be done, by arm."""

from __future__ import annotations

from pipeline.runs.eta import Expected, Pace, slowest


def pace(left: int, *finished: float, at_a_time: int = 1) -> tuple[Pace, float]:
    """An arm whose `finished` episodes took so many seconds, `at_a_time`; and the time now."""
    made, now = Pace(left + len(finished)), 0.0
    for start in range(0, len(finished), at_a_time):
        batch = list(enumerate(finished[start : start + at_a_time]))
        for number, _ in batch:
            made.started(str(number), now)
        for number, seconds in batch:
            made.stopped(str(number), now + seconds, True)
        now += max(seconds for _, seconds in batch)
    return made, now


def test_nothing_is_known_until_an_episode_has_ended() -> None:
    made = Pace(3)
    assert made.remaining(0.0) is None
    made.started("x", 0.0)
    assert made.remaining(90.0) is None
    made.stopped("x", 90.0, False)
    assert made.remaining(90.0) is None and made.left == 3


def test_what_waits_takes_its_turn() -> None:
    made, now = pace(4, 10.0, 10.0)
    assert made.remaining(now) == 40.0


def test_what_runs_side_by_side_takes_less() -> None:
    made, now = pace(4, 10.0, 10.0, at_a_time=2)
    assert made.remaining(now) == 20.0


def test_a_last_episode_is_not_shared_among_those_that_are_over() -> None:
    made, now = pace(1, 10.0, 10.0, 10.0, 10.0, at_a_time=4)
    made.started("last", now)
    assert made.remaining(now + 1) == 9.0


def test_an_episode_that_takes_longer_than_the_others_is_not_about_to_end() -> None:
    made, now = pace(1, 10.0)
    made.started("last", now)
    assert made.remaining(now + 25) == 15.0


def test_the_slowest_is_what_is_waited_for_and_the_unknown_comes_first() -> None:
    quick, now = pace(3, 1.0)
    slow, _ = pace(1, 60.0)
    assert slowest({"quick": quick, "slow": slow}, now) == Expected("slow", 1, 60.0)
    assert slowest({"quick": quick, "slow": slow, "new": Pace(2)}, now) == Expected("new", 2, None)
    assert slowest({"over": Pace(0)}, now) is None
