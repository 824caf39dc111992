"""Run a server for as long as the process that asked for it lives, then end it with all its children.

    python -I -S supervise.py PARENT_PID GRACE COMMAND…

It leads a process group of its own, so that a signal reaches the server and whatever that started; a process
that left the group, or was left by its parent, becomes its child and ends with the rest. It holds the
server's standard input open, gives it an empty working folder, and ends it when asked to (SIGTERM) or when
the parent is gone, however that died. It knows the standard library alone: it starts in milliseconds.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

_POLL = 0.5  # seconds between looks at whether the parent lives
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_WAKING = {signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP}


def main(parent: int, grace: float, command: list[str]) -> None:
    """Run `command`; once asked to end it has `grace` seconds, then all of it is killed, this process too.

    There are two of this process, each of which ends the rest when the other is killed: who only kills the
    children of a process that ends, as Ray does, would else leave the server's own children behind.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, _WAKING)
    _adopt_orphans()
    outer = os.getpid()
    inner = os.fork()
    if not inner:
        _adopt_orphans()
        _supervise(outer, grace, command)
    while not _ended(inner):
        woken = signal.sigtimedwait(_WAKING, _POLL)
        asked = woken is not None and woken.si_signo != signal.SIGCHLD
        if asked or os.getppid() != parent:
            os.kill(inner, signal.SIGTERM)
    _end_all()


def _supervise(parent: int, grace: float, command: list[str]) -> None:
    libc = ctypes.CDLL(None)

    def in_child() -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # should this process be killed alone

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        server = subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, preexec_fn=in_child)
        while server.poll() is None and os.getppid() == parent:
            woken = signal.sigtimedwait(_WAKING, _POLL)
            if woken is not None and woken.si_signo != signal.SIGCHLD:
                break
            _reap_others(server.pid)
        if server.poll() is None:
            server.terminate()
            try:
                server.wait(grace)
            except subprocess.TimeoutExpired:
                server.kill()
        else:
            print(f"the server ended by itself, with status {server.returncode}", file=sys.stderr, flush=True)
        _kill_descendants()
    _end_all()


def _adopt_orphans() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _ended(pid: int) -> bool:
    """Whether the child has ended; others that were left to this process are collected."""
    with suppress(ChildProcessError):
        while found := os.waitpid(-1, os.WNOHANG)[0]:
            if found == pid:
                return True
    return False


def _end_all() -> None:
    _kill_descendants()
    os.killpg(0, signal.SIGKILL)


def _reap_others(server: int) -> None:
    """Collect the dead that were left to this process; the server's own end is for its handle to see."""
    with suppress(ChildProcessError):
        while found := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            if found.si_pid == server:
                return
            os.waitpid(found.si_pid, 0)


def _kill_descendants() -> None:
    """Kill all that the server started, of other groups and sessions too: until nothing is left.

    Whatever loses its parent by that becomes a child of this process, and is found in the next round.
    """
    while found := _descendants():
        for pid in found:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def _descendants() -> set[int]:
    parents = {}
    for entry in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
            if state not in "ZX":
                parents[int(entry.name)] = int(parent)
    found: set[int] = set()
    level = {os.getpid()}
    while level := {pid for pid, parent in parents.items() if parent in level}:
        found |= level
    return found


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]), sys.argv[3:])
