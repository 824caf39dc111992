"""One driver for a run folder: whoever holds its lease.

`lease.json` names the holder: host, process id, start time of the process (ids are used again), heartbeat. A
dead holder's lease is taken over: on the same host when no such process lives, from another host when the
heartbeat is older than a minute.
"""

from __future__ import annotations

import fcntl
import logging
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import orjson

from pipeline.errors import RunError
from pipeline.runs.folder import RunFolder

log = logging.getLogger(__name__)

HEARTBEAT_SECONDS = 10.0
STALE_SECONDS = 60.0


class Lease:
    """The right to drive the run in `folder`, held while the context is open.

    `lost` once another driver took it over, or may do so since it can't be renewed.
    """

    def __init__(self, folder: RunFolder) -> None:
        self._path = folder.lease
        self._me = {"host": socket.gethostname(), "pid": os.getpid(), "started": process_start(os.getpid())}
        self._released = threading.Event()
        self.lost = False
        self._heart = threading.Thread(target=self._beat, name="lease-heartbeat", daemon=True)

    def __enter__(self) -> Lease:
        """Take the lease. Raises `RunError` if a living driver holds it."""
        with _locked(self._path) as file:
            holder = _parse(file)
            if holder is not None and holder_lives(holder):
                raise RunError(_held(self._path.parent, holder))
            self._write(file)
        self._heart.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the lease back."""
        self._released.set()
        self._heart.join()
        with _locked(self._path) as file:
            if self._is_mine(_parse(file)):
                self._path.unlink()

    def _beat(self) -> None:
        last = time.monotonic()
        while not (self.lost or self._released.wait(HEARTBEAT_SECONDS)):
            try:
                with _locked(self._path) as file:
                    self.lost = not self._is_mine(_parse(file))  # taken for dead, from another host
                    if not self.lost:
                        self._write(file)
                last = time.monotonic()
            except OSError as error:  # a disk full or away: others will take this process for dead
                log.warning("the lease %s can't be renewed: %s", self._path, error)
                self.lost = time.monotonic() - last >= STALE_SECONDS

    def _write(self, file: IO[bytes]) -> None:
        file.seek(0)
        file.truncate()
        file.write(orjson.dumps(self._me | {"heartbeat": time.time()}))
        file.flush()

    def _is_mine(self, holder: dict[str, Any] | None) -> bool:
        return holder is not None and all(holder[key] == value for key, value in self._me.items())


def refuse_if_held(folder: RunFolder) -> None:
    """Raise `RunError` if a living driver holds the run: early, before work that needs no lease."""
    holder = current(folder)
    if holder is not None:
        raise RunError(_held(folder.path, holder))


def current(folder: RunFolder) -> dict[str, Any] | None:
    """Return the living holder of the run's lease, or None."""
    if not folder.lease.exists():
        return None
    with folder.lease.open("rb") as file:
        holder = _parse(file)
    return holder if holder is not None and holder_lives(holder) else None


def holder_lives(holder: dict[str, Any]) -> bool:
    """Whether the process that a lease names still lives; from another host, by its heartbeat."""
    if holder["host"] == socket.gethostname():
        return process_start(int(holder["pid"])) == str(holder["started"])
    return time.time() - float(holder["heartbeat"]) < STALE_SECONDS


def process_start(pid: int) -> str | None:
    """When process `pid` was started (boot id, and clock ticks since boot), or None if it is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return None
    # The name, in parentheses, may hold spaces and parentheses. After it: state, …, start time as the 20th.
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] == "Z" else f"{boot}:{fields[19]}"


def _held(path: Path, holder: dict[str, Any]) -> str:
    return (
        f"{path} is being driven by process {holder['pid']} on {holder['host']}: "
        "wait for it to end, stop it, or choose another run name"
    )


@contextmanager
def _locked(path: Path) -> Iterator[IO[bytes]]:
    """Open the lease file, alone. A file that its holder has just removed is opened anew."""
    while True:
        with path.open("a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            try:
                same = path.stat().st_ino == os.fstat(file.fileno()).st_ino
            except FileNotFoundError:
                same = False
            if same:
                yield file
                return


def _parse(file: IO[bytes]) -> dict[str, Any] | None:
    """Return the holder that the lease names; None if the file is new, torn by a crash, or names nobody."""
    file.seek(0)
    try:
        holder: dict[str, Any] = orjson.loads(file.read())
        int(holder["pid"]), float(holder["heartbeat"]), holder["started"], holder["host"]
    except (ValueError, TypeError, KeyError):
        return None
    return holder
