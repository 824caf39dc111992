"""Progress: what the driver shows, and what another terminal reads."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from pipeline.protocols import Usage
from pipeline.runs.folder import RunFolder
from pipeline.runs.progress import Lines, Progress, duration, line, read_progress, shown


class Clock:
    """A clock that stands until it is set."""

    now = 1_000.0

    def __call__(self) -> float:
        return self.now


def planned(name: str, arm: str = "a") -> dict[str, Any]:
    return {"episode_id": name, "arm": arm, "task_id": name, "seed": 0}


def started(progress: Progress, *names: str) -> None:
    for name in names:
        progress.episode_started(planned(name))


def test_counts_add_up(tmp_path: Path) -> None:
    clock = Clock()
    progress = Progress(clock=clock)
    progress.planned("run", 10, {"a": 8})
    progress.stage = "running"
    started(progress, "x", "y", "z")
    clock.now += 6
    progress.episode_stopped(planned("x"), Usage(100, 40, 7), True)
    progress.episode_stopped(planned("y"), Usage(), False)
    progress.episode_owed("a")
    folder = RunFolder(tmp_path)
    progress.write(folder)
    facts = read_progress(tmp_path)
    assert facts is not None
    assert (facts["done"], facts["running"], facts["waiting"], facts["owed"]) == (3, 1, 5, 1)
    assert (facts["prompt_tokens"], facts["cached_tokens"], facts["completion_tokens"]) == (100, 40, 7)
    assert facts["slowest"] == {"episode": "a z seed 0", "seconds": 6.0}
    assert facts["per_minute"] == 10.0 and facts["eta_seconds"] is not None
    assert "3/10 done · 1 running · 5 waiting · 1 owed" in line(facts)


def test_a_slow_arm_is_not_averaged_away_by_quick_ones() -> None:
    clock = Clock()
    progress = Progress(clock=clock)
    progress.planned("run", 52, {"quick": 50, "slow": 2})
    progress.stage = "running"
    progress.episode_started(planned("s1", "slow"))
    for number in range(49):
        progress.episode_started(planned(f"q{number}", "quick"))
        clock.now += 1
        progress.episode_stopped(planned(f"q{number}", "quick"), Usage(), True)
    assert "ETA unknown: none ended yet of arm slow, 2 left" in line(progress.snapshot())
    clock.now += 11
    progress.episode_stopped(planned("s1", "slow"), Usage(), True)
    progress.episode_started(planned("s2", "slow"))
    assert progress.snapshot()["eta_seconds"] == 60
    clock.now += 20
    assert "ETA 40s, slowest arm slow, 1 left" in line(progress.snapshot())


def test_one_arm_alone_is_not_named_as_the_slowest() -> None:
    clock = Clock()
    progress = Progress(clock=clock)
    progress.planned("run", 2, {"a": 2})
    progress.stage = "running"
    started(progress, "x")
    assert "ETA" not in line(progress.snapshot())
    clock.now += 5
    progress.episode_stopped(planned("x"), Usage(), True)
    assert line(progress.snapshot()).endswith(" · ETA 5s")


def test_without_a_terminal_it_is_lines() -> None:
    stream = io.StringIO()
    with shown(Progress(), stream) as progress:
        progress.planned("run", 1, {})
        progress.say("told at once")
        progress.stage = "done"
    assert stream.getvalue() == "told at once\nrun: done · 1/1 done · 0 running · 0 waiting · 0 owed\n"


def test_each_stage_is_one_line_but_running_which_is_many() -> None:
    stream, progress = io.StringIO(), Progress("r")
    lines = Lines(progress, stream)
    for stage in ("starting Ray", "starting Ray", "running", "running", "done", "done"):
        progress.stage = stage
        lines.show()
    assert stream.getvalue() == "r: starting Ray\nr: running\nr: running\nr: done\n"


def test_episodes_of_earlier_invocations_are_told_apart() -> None:
    progress = Progress()
    progress.planned("run", 2, {}, earlier=1)
    assert "2/2 done and 1 episode of earlier invocations · 0 running" in line(progress.snapshot())


def test_durations_are_short() -> None:
    assert [duration(s) for s in (0.2, 59, 60, 3_599, 3_600, 90_000)] == [
        "0s",
        "59s",
        "1m00s",
        "59m59s",
        "1h00m",
        "25h00m",
    ]
