"""Evaluate expressions, each in a process of its own with a second of CPU time and 100 MB of memory.

`python -m tests.calculator.confined` reads a JSON list of expressions from standard input and writes a JSON
list of what became of each: its value's text, `refused: …`, or else `raised …`, `killed by …`, or `did …` if
it imported, executed or opened something.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pipeline.calculator import evaluate
from pipeline.errors import InvalidOperation

CPU_SECONDS = 1
MEMORY = 100_000_000
FORBIDDEN = ("compile", "exec", "import", "open", "os.", "socket.", "subprocess.", "ctypes.", "code.")


def outcome(expression: str) -> str:
    """Evaluate `expression` in a forked process; return what became of it."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        told = _confined(expression).encode("utf-8", "backslashreplace")
        os.write(writer, told[:2_000])
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        told = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return told.decode() if status == 0 else f"killed by {signal.Signals(-status).name}"


def _confined(expression: str) -> str:
    done: list[str] = []
    active = True

    def watch(event: str, arguments: Sequence[Any]) -> None:
        if active and event.startswith(FORBIDDEN):
            done.append(f"{event} {arguments!r:.80}")

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 1))
    sys.addaudithook(watch)
    try:
        told = evaluate(expression).text
    except InvalidOperation as refused:
        told = f"refused: {refused.message}" if refused.code == "expression_error" else refused.code
    except BaseException as error:  # noqa: BLE001 - that nothing else is raised is what the test is for
        told = f"raised {type(error).__name__}: {error}"
    active = False
    return f"did {'; '.join(done)}" if done else told


def main() -> None:
    json.dump([outcome(expression) for expression in json.load(sys.stdin)], sys.stdout)


if __name__ == "__main__":
    main()
