"""Run a server for as long as the process that asked for it lives, then end it with all its children.

    python -I -S supervise.py PARENT_PID GRACE COMMAND…

It leads a process group of its own, so that a signal reaches the server and whatever that started. It holds
the server's standard input open, gives it an empty working folder, and ends it when asked to (SIGTERM) or
when the parent is gone, however that died. It knows the standard library alone: it starts in milliseconds.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import tempfile

_POLL = 0.5  # seconds between looks at whether the parent lives
_PR_SET_PDEATHSIG = 1
_WAKING = {signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP}


def main(parent: int, grace: float, command: list[str]) -> None:
    """Run `command`; once asked to end it has `grace` seconds, then its group is killed, this process too."""
    libc = ctypes.CDLL(None)
    signal.pthread_sigmask(signal.SIG_BLOCK, _WAKING)

    def in_child() -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # should this process be killed alone

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        server = subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, preexec_fn=in_child)
        while server.poll() is None and os.getppid() == parent:
            woken = signal.sigtimedwait(_WAKING, _POLL)
            if woken is not None and woken.si_signo != signal.SIGCHLD:
                break
        if server.poll() is None:
            server.terminate()
            try:
                server.wait(grace)
            except subprocess.TimeoutExpired:
                server.kill()
        else:
            print(f"the server ended by itself, with status {server.returncode}", file=sys.stderr, flush=True)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]), sys.argv[3:])
