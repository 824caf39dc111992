"""Progress: what the driver shows, and what another terminal reads."""

from __future__ import annotations

import io
from pathlib import Path

from pipeline.protocols import Usage
from pipeline.runs.folder import RunFolder
from pipeline.runs.progress import Progress, duration, line, read_progress, shown


def started(progress: Progress, *names: str) -> None:
    for name in names:
        progress.episode_started({"episode_id": name, "arm": "a", "task_id": name, "seed": 0})


def test_counts_add_up(tmp_path: Path) -> None:
    progress = Progress()
    progress.planned("run", 10, 2)
    progress.stage = "running"
    started(progress, "x", "y", "z")
    progress.episode_stopped("x", Usage(100, 40, 7), True)
    progress.episode_stopped("y", Usage(), False)
    progress.owed += 1
    folder = RunFolder(tmp_path)
    progress.write(folder)
    facts = read_progress(tmp_path)
    assert facts is not None
    assert (facts["done"], facts["running"], facts["waiting"], facts["owed"]) == (3, 1, 5, 1)
    assert (facts["prompt_tokens"], facts["cached_tokens"], facts["completion_tokens"]) == (100, 40, 7)
    assert facts["slowest"]["episode"] == "a z seed 0"
    assert facts["per_minute"] > 0 and facts["eta_seconds"] is not None
    assert "3/10 done · 1 running · 5 waiting · 1 owed" in line(facts)


def test_without_a_terminal_it_is_lines() -> None:
    stream = io.StringIO()
    with shown(Progress(), stream) as progress:
        progress.planned("run", 1, 1)
        progress.stage = "done"
    assert stream.getvalue() == "run: done · 1/1 done · 0 running · 0 waiting · 0 owed\n"


def test_durations_are_short() -> None:
    assert [duration(s) for s in (0.2, 59, 60, 3_599, 3_600, 90_000)] == [
        "0s",
        "59s",
        "1m00s",
        "59m59s",
        "1h00m",
        "25h00m",
    ]
