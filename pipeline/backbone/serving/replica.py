"""One replica of a server that the run keeps up: a process that is started anew when it ends."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from pipeline.backbone.serving.process import supervised, unready
from pipeline.errors import BackboneUnavailable, ConfigError

_log = logging.getLogger(__name__)

GRACE = 10.0  # seconds that a server with work in hand has to end by itself
STEADY = 600.0
"""Seconds after which a server that was started anew counts as back."""
LONGEST = 60.0  # seconds between two starts
_LOOK = 0.2  # seconds between looks at the process


class Port:
    """A port of `host` that stays this process' own, also while no server of the replica listens on it.

    A socket is bound to it and never listens. A server that says `SO_REUSEADDR`, as vLLM and most others do,
    may bind it too and listen; but it is given to nobody who asks for any free port, and no connection leaves
    from it.
    """

    def __init__(self, host: str, wanted: int | None) -> None:
        """Take the port `wanted`, or a free one. Raises `ConfigError` if it is taken."""
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._socket = socket.socket(family, socket.SOCK_STREAM)
        try:
            self._socket.bind((host, wanted or 0))  # before it may be shared: what is in use is refused
        except OSError as error:
            self._socket.close()
            raise ConfigError(f"serving.port: {host}:{wanted} is not free ({error.strerror})") from error
        for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):
            self._socket.setsockopt(socket.SOL_SOCKET, option, 1)
        self.number: int = self._socket.getsockname()[1]

    def close(self) -> None:
        """Give it back."""
        self._socket.close()


class Replica:
    """A server of this machine, kept up from `__enter__` to `__exit__`.

    Until `confirm` says that it has answered, its end is final: a wrong flag would only fail again. From then
    on it is started anew, after waits that double from a second, up to `restarts` times in a row.
    """

    def __init__(
        self,
        command: Callable[[int], Sequence[str]],
        environment: Mapping[str, str],
        host: str,
        log: Path,
        *,
        port: int | None = None,
        restarts: int = 5,
    ) -> None:
        """`command` makes the command line for a port of `host`. Raises `ConfigError` for a taken `port`."""
        self._port = Port(host, port)
        self._command = command(self._port.number)
        self._environment = dict(environment)
        self._restarts = restarts
        self._stop, self._confirmed, self._over = threading.Event(), threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._keep_up, name=log.stem, daemon=True)
        self.host, self.log = host, log

    @property
    def url(self) -> str:
        """Where it answers, to `/v1`; the same after a restart."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self._port.number}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        self._port.close()

    def check(self) -> None:
        """Raise `BackboneUnavailable`, with the end of its log, if it will not be started again."""
        if self._over.is_set() and not self._stop.is_set():
            raise unready(False, self.log)

    def confirm(self) -> None:
        """Say that it has answered."""
        self._confirmed.set()

    def _keep_up(self) -> None:
        failed, again = 0, True
        while again:
            lasted = self._once()
            failed = 1 if lasted > STEADY else failed + 1
            again = self._confirmed.is_set() and not self._stop.is_set() and failed <= self._restarts
            if again:
                wait = min(LONGEST, 2.0 ** (failed - 1))
                self._say(
                    f"it ended after {lasted:.0f} s; start {failed} of {self._restarts} anew in {wait:.0f} s"
                )
                again = not self._stop.wait(wait)
        self._over.set()
        if not self._stop.is_set():
            self._say("it is given up")

    def _once(self) -> float:
        """Run the server to its end, or until it is asked to end; return how many seconds it ran."""
        started = time.monotonic()
        self._say(" ".join(self._command))
        with supervised(self._command, self._environment, self.log, grace=GRACE) as running:
            while running() and not self._stop.wait(_LOOK):
                pass
        return time.monotonic() - started

    def _say(self, text: str) -> None:
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("a", encoding="utf-8") as log:
            log.write(f"--- {datetime.now(UTC).isoformat(timespec='seconds')} {text}\n")
        if self._confirmed.is_set() and not self._stop.is_set():
            _log.warning("%s: %s", self.log.stem, text)


def await_all(
    check: Callable[[], None], complete: Callable[[float], None], deadline: float, seconds: float
) -> None:
    """Return once `complete` does, which is given the seconds left; repeat it until `deadline`.

    `check` raises if there is nothing to wait for any more. Raises `BackboneUnavailable` after the deadline.
    """
    while True:
        try:
            complete(max(1.0, deadline - time.monotonic()))
            return
        except BackboneUnavailable as error:
            check()
            if time.monotonic() > deadline:
                raise BackboneUnavailable(
                    f"no answer within {seconds:.0f} s (serving.startup_timeout): {error}", error.requests
                ) from error
            time.sleep(_LOOK)
