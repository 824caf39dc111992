"""How far a run is: kept by the driver, shown on its terminal, and written for `longharness status`."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

import orjson
from rich.console import Console
from rich.live import Live
from rich.text import Text

from pipeline.protocols import Usage
from pipeline.runs.folder import RunFolder

LINE_SECONDS = 10.0
WRITE_SECONDS = 1.0


@dataclass
class Progress:
    """Counts of one invocation. `total` episodes are planned; `done` ones were finished, before or now.

    `owed` ones were given up for now: their worker died too often, or their backbone was unavailable.
    """

    run: str = ""
    stage: str = "planning"
    total: int = 0
    done: int = 0
    owed: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    started: float = field(default_factory=time.time)
    _before: int = 0
    _first: float | None = None
    _running: dict[str, tuple[float, str]] = field(default_factory=dict)
    _written: float = 0.0

    def planned(self, run: str, total: int, done: int) -> None:
        """Take down how many episodes there are, and were done before."""
        self.run, self.total, self.done, self._before = run, total, done, done

    def episode_started(self, planned: Mapping[str, Any]) -> None:
        """An episode began to run."""
        now = time.time()
        self._first = self._first or now
        self._running[planned["episode_id"]] = (
            now,
            f"{planned['arm']} {planned['task_id']} seed {planned['seed']}",
        )

    def episode_stopped(self, episode: str, usage: Usage, done: bool) -> None:
        """An attempt ended; `done` if it has a result."""
        self._running.pop(episode, None)
        self.done += done
        self.prompt_tokens += usage.prompt
        self.cached_tokens += usage.cached
        self.completion_tokens += usage.completion

    def snapshot(self) -> dict[str, Any]:
        """Return what `progress.json` holds: rates in episodes a minute, times in seconds."""
        now = time.time()
        finished = self.done - self._before
        elapsed = now - self._first if self._first else 0.0
        rate = finished / elapsed if elapsed > 0 else 0.0
        left = self.total - self.done - self.owed
        slowest = min(list(self._running.values()), default=None)
        return {
            "run": self.run,
            "stage": self.stage,
            "total": self.total,
            "done": self.done,
            "running": len(self._running),
            "waiting": max(0, left - len(self._running)),
            "owed": self.owed,
            "per_minute": round(rate * 60, 2),
            "eta_seconds": round(left / rate) if rate and self.stage == "running" else None,
            "prompt_tokens": self.prompt_tokens,
            "cached_tokens": self.cached_tokens,
            "completion_tokens": self.completion_tokens,
            "slowest": slowest and {"episode": slowest[1], "seconds": round(now - slowest[0], 1)},
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
        parts += [f"{facts['done']}/{facts['total']} done", f"{facts['running']} running"]
        parts += [f"{facts['waiting']} waiting", f"{facts['owed']} owed"]
    if facts["per_minute"]:
        parts.append(f"{facts['per_minute']:g}/min")
    if facts["eta_seconds"] is not None:
        parts.append(f"ETA {duration(facts['eta_seconds'])}")
    if facts["prompt_tokens"]:
        parts.append(
            f"tokens {facts['prompt_tokens']:,} in ({facts['cached_tokens']:,} cached), "
            f"{facts['completion_tokens']:,} out"
        )
    if facts["slowest"]:
        parts.append(f"slowest {facts['slowest']['episode']} {duration(facts['slowest']['seconds'])}")
    return " · ".join(parts)


def duration(seconds: float) -> str:
    """Return seconds as `3s`, `2m05s` or `1h02m`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    return f"{whole // 60}m{whole % 60:02}s" if whole < 3600 else f"{whole // 3600}h{whole % 3600 // 60:02}m"


@contextmanager
def shown(progress: Progress, stream: TextIO | None = None) -> Iterator[Progress]:
    """Show `progress` while the context is open, live in a terminal, else a line every 10 s; on stderr."""
    stream = stream or sys.stderr
    console = Console(file=stream)
    if console.is_terminal:
        with Live(
            get_renderable=lambda: Text(line(progress.snapshot())), console=console, refresh_per_second=2
        ):
            yield progress
        return
    over = threading.Event()

    def print_lines() -> None:
        while not over.wait(LINE_SECONDS):
            print(line(progress.snapshot()), file=stream, flush=True)

    printer = threading.Thread(target=print_lines, name="progress", daemon=True)
    printer.start()
    try:
        yield progress
    finally:
        over.set()
        printer.join()
        print(line(progress.snapshot()), file=stream, flush=True)


def read_progress(folder: Path) -> dict[str, Any] | None:
    """Return the last snapshot that the run's driver wrote, if there is one."""
    try:
        facts: dict[str, Any] = orjson.loads(RunFolder(folder).progress.read_bytes())
        return facts
    except (OSError, orjson.JSONDecodeError):
        return None
