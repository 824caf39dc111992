"""How far a run is: kept by the driver, shown on its terminal, and written for `longharness status`."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

import orjson
from rich.console import Console
from rich.live import Live
from rich.text import Text

from pipeline.protocols import Usage
from pipeline.runs.eta import Pace, slowest
from pipeline.runs.folder import RunFolder

LINE_SECONDS = 10.0
WRITE_SECONDS = 1.0


@dataclass
class Progress:
    """Counts of one invocation. `total` episodes are planned; `done` ones were finished, before or now.

    `owed` ones were given up for now: their worker died too often, or their backbone was unavailable. The run
    has `earlier` ones, which this invocation did not ask for. `clock` gives seconds since 1970; `say` shows
    the user a line at once, where there is somebody to show it to.
    """

    run: str = ""
    stage: str = "planning"
    total: int = 0
    done: int = 0
    owed: int = 0
    earlier: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    clock: Callable[[], float] = time.time
    say: Callable[[str], None] = lambda text: None
    started: float = field(init=False)
    _before: int = 0
    _first: float | None = None
    _running: dict[str, tuple[float, str]] = field(default_factory=dict)
    _paces: dict[str, Pace] = field(default_factory=dict)
    _written: float = 0.0

    def __post_init__(self) -> None:
        self.started = self.clock()

    def planned(self, run: str, total: int, left: Mapping[str, int], earlier: int = 0) -> None:
        """Take down how many episodes there are, and how many are `left` to run, by arm."""
        self.run, self.total, self.earlier = run, total, earlier
        self.done = self._before = total - sum(left.values())
        self._paces = {arm: Pace(count) for arm, count in left.items()}

    def episode_started(self, planned: Mapping[str, Any]) -> None:
        """An episode began to run."""
        now = self.clock()
        self._first = self._first or now
        self._paces[planned["arm"]].started(planned["episode_id"], now)
        self._running[planned["episode_id"]] = (
            now,
            f"{planned['arm']} {planned['task_id']} seed {planned['seed']}",
        )

    def episode_stopped(self, planned: Mapping[str, Any], usage: Usage, done: bool) -> None:
        """An attempt ended; `done` if it has a result."""
        self._running.pop(planned["episode_id"], None)
        self._paces[planned["arm"]].stopped(planned["episode_id"], self.clock(), done)
        self.done += done
        self.prompt_tokens += usage.prompt
        self.cached_tokens += usage.cached
        self.completion_tokens += usage.completion

    def episode_owed(self, arm: str) -> None:
        """An episode of `arm` was given up for now."""
        self.owed += 1
        self._paces[arm].left -= 1

    def snapshot(self) -> dict[str, Any]:
        """Return what `progress.json` holds: rates in episodes a minute, times in seconds.

        `eta_seconds` is that of the slowest arm, and null until one of its episodes has finished;
        `slowest_arm` names it, where there are several.
        """
        now = self.clock()
        finished = self.done - self._before
        elapsed = now - self._first if self._first else 0.0
        rate = finished / elapsed if elapsed > 0 else 0.0
        left = self.total - self.done - self.owed
        several = len(self._paces) > 1 or None
        oldest = min(list(self._running.values()), default=None)
        expected = slowest(self._paces, now) if self.stage == "running" and self._first else None
        return {
            "run": self.run,
            "stage": self.stage,
            "total": self.total,
            "done": self.done,
            "running": len(self._running),
            "waiting": max(0, left - len(self._running)),
            "owed": self.owed,
            "earlier": self.earlier,
            "per_minute": round(rate * 60, 2),
            "eta_seconds": None if expected is None or expected.seconds is None else round(expected.seconds),
            "slowest_arm": expected and several and {"arm": expected.arm, "left": expected.left},
            "prompt_tokens": self.prompt_tokens,
            "cached_tokens": self.cached_tokens,
            "completion_tokens": self.completion_tokens,
            "slowest": oldest and {"episode": oldest[1], "seconds": round(now - oldest[0], 1)},
            "started": self.started,
            "updated": now,
        }

    def write(self, folder: RunFolder, force: bool = False) -> None:
        """Write `progress.json`, at most once a second unless forced."""
        now = time.monotonic()
        if force or now - self._written >= WRITE_SECONDS:
            self._written = now
            # Replaced by rename without a sync: it is of no use after a crash.
            temporary = folder.progress.with_suffix(".tmp")
            temporary.write_bytes(orjson.dumps(self.snapshot(), option=orjson.OPT_INDENT_2))
            temporary.replace(folder.progress)


def line(facts: Mapping[str, Any]) -> str:
    """Return a snapshot as one line of text."""
    parts = [f"{facts['run'] or 'run'}: {facts['stage']}"]
    if facts["total"]:
        done = f"{facts['done']}/{facts['total']} done{beside(facts.get('earlier', 0))}"
        parts += [done, f"{facts['running']} running"]
        parts += [f"{facts['waiting']} waiting", f"{facts['owed']} owed"]
    if facts["per_minute"]:
        parts.append(f"{facts['per_minute']:g}/min")
    parts += _eta(facts["eta_seconds"], facts.get("slowest_arm"))
    if facts["prompt_tokens"]:
        parts.append(
            f"tokens {facts['prompt_tokens']:,} in ({facts['cached_tokens']:,} cached), "
            f"{facts['completion_tokens']:,} out"
        )
    if facts["slowest"]:
        parts.append(f"slowest {facts['slowest']['episode']} {duration(facts['slowest']['seconds'])}")
    return " · ".join(parts)


def beside(earlier: int) -> str:
    """Return what to say of episodes of the run that an invocation did not ask for, if there are any."""
    return f" and {earlier:,} episode{'s' * (earlier != 1)} of earlier invocations" if earlier else ""


def _eta(seconds: float | None, slowest: Mapping[str, Any] | None) -> list[str]:
    arm = slowest and f"{slowest['arm']}, {slowest['left']:,} left"
    if seconds is None:
        return [f"ETA unknown: none ended yet of arm {arm}"] if arm else []
    return [f"ETA {duration(seconds)}" + (f", slowest arm {arm}" if arm else "")]


def duration(seconds: float) -> str:
    """Return seconds as `3s`, `2m05s` or `1h02m`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    return f"{whole // 60}m{whole % 60:02}s" if whole < 3600 else f"{whole // 3600}h{whole % 3600 // 60:02}m"


class Lines:
    """Progress as lines of text, on a stream that is no terminal."""

    def __init__(self, progress: Progress, stream: TextIO) -> None:
        self._progress = progress
        self._stream = stream
        self._last: str | None = None

    def show(self) -> None:
        """Print a line: again and again while episodes run, but once for every other stage."""
        facts = self._progress.snapshot()
        if facts["stage"] == "running" or facts["stage"] != self._last:
            self.say(line(facts))
        self._last = facts["stage"]

    def say(self, text: str) -> None:
        """Print `text`."""
        print(text, file=self._stream, flush=True)


@contextmanager
def shown(progress: Progress, stream: TextIO | None = None) -> Iterator[Progress]:
    """Show `progress`, and what it says, while the context is open; on stderr.

    In a terminal it is live, else a line every 10 s.
    """
    stream = stream or sys.stderr
    console = Console(file=stream)
    if console.is_terminal:
        with Live(
            get_renderable=lambda: Text(line(progress.snapshot())), console=console, refresh_per_second=2
        ):
            progress.say = lambda text: console.print(Text(text))
            yield progress
        return
    over, lines = threading.Event(), Lines(progress, stream)
    progress.say = lines.say

    def print_lines() -> None:
        while not over.wait(LINE_SECONDS):
            lines.show()

    printer = threading.Thread(target=print_lines, name="progress", daemon=True)
    printer.start()
    try:
        yield progress
    finally:
        over.set()
        printer.join()
        lines.show()


def read_progress(folder: Path) -> dict[str, Any] | None:
    """Return the last snapshot that the run's driver wrote, if there is one."""
    try:
        facts: dict[str, Any] = orjson.loads(RunFolder(folder).progress.read_bytes())
        return facts
    except (OSError, orjson.JSONDecodeError):
        return None
