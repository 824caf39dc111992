"""What the tests look at from outside: rows without times, the journal, the processes that write it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pipeline.runs import journal, tables

CHANGING = {"attempt", "seconds", "first_token_s", "replica"}


def rows(folder: Path) -> dict[str, list[str]]:
    """All rows of all tables, in one order, without what differs between two runs."""
    return {
        name: sorted(
            repr([(key, value) for key, value in row.items() if key not in CHANGING])
            for row in tables.read(folder, name).to_pylist()
        )
        for name in tables.TABLES
    }


def in_flight(folder: Path) -> list[journal.Attempt]:
    """Attempts that have taken a turn and never ended."""
    return [a for a in journal.scan(folder / "journal") if a.turns and a.status is None]


def writers(folder: Path) -> dict[int, str]:
    """The processes that hold a segment of the run's journal open, with the segment's name."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            targets = [link.readlink() for link in (process / "fd").iterdir()]
        except OSError:
            continue
        for target in targets:
            if target.parent == folder / "journal":
                found[int(process.name)] = target.name
    return found


def wait_for(condition: Callable[[], Any], seconds: float = 240.0) -> Any:
    """Return what `condition` gives once it is true."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)
    return value
