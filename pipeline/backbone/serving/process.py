"""`serving=process`: a module as a server of its own, on loopback; and how any such process is kept."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from signal import SIGKILL

from pipeline.backbone.config import BackboneConfig, ProcessConfig
from pipeline.backbone.serving import Endpoint
from pipeline.backbone.serving.readiness import first_completion
from pipeline.errors import BackboneUnavailable, ConfigError

GRACE = 5.0  # seconds that a server has to end by itself
_SUPERVISE = Path(__file__).with_name("supervise.py")
_PORT = re.compile(rb'^\{"port": ?(\d+)\}\s*$', re.MULTILINE)
_LOG_TAIL = 1_500  # bytes of the log that an error repeats
_INTERPRETER_NEEDS = ("LD_LIBRARY_PATH",)


@contextmanager
def serve(serving: ProcessConfig, backbone: BackboneConfig, log_dir: Path) -> Iterator[Endpoint]:
    """Run `serving.module` and give its endpoint, once it has answered a request.

    The module is given no file, variable or folder of the run: it sees chat requests alone.
    Raises `ConfigError` if there is no such module, `BackboneUnavailable` if it doesn't come up.
    """
    if not _exists(serving.module):
        raise ConfigError(f"serving.module: there is no module {serving.module!r} to run")
    name = serving.module.rpartition(".")[2]
    with module_server(serving.module, (), backbone, log_dir / f"{name}.log", serving.startup_timeout) as it:
        yield it


@contextmanager
def module_server(
    module: str, options: Sequence[str], backbone: BackboneConfig, log: Path, timeout: float
) -> Iterator[Endpoint]:
    """Run a module that takes `--port 0`, binds a free port and prints it, with its output in `log`."""
    command = (sys.executable, "-I", "-m", module, "--port", "0", *options)
    environment = {name: os.environ[name] for name in _INTERPRETER_NEEDS if name in os.environ}
    with command_server(command, environment, backbone, log, timeout) as endpoint:
        yield endpoint


@contextmanager
def command_server(
    command: Sequence[str], environment: dict[str, str], backbone: BackboneConfig, log: Path, timeout: float
) -> Iterator[Endpoint]:
    """Run a command that listens on loopback and prints `{"port": N}`; give its endpoint once it answers.

    `timeout`, in seconds, is for all of its start. Raises `BackboneUnavailable` with the end of its log.
    """
    deadline = time.monotonic() + timeout
    log.unlink(missing_ok=True)  # an earlier server's port is not this one's
    with supervised(command, environment, log) as running:
        port = _awaited_port(running, log, deadline)
        endpoint = Endpoint((f"http://127.0.0.1:{port}/v1",), backbone.model, node_local=True)
        _await_completion(endpoint, backbone, running, log, deadline)
        yield endpoint


@contextmanager
def supervised(
    command: Sequence[str], environment: dict[str, str], log: Path, *, grace: float | None = None
) -> Iterator[Callable[[], bool]]:
    """Run `command` with all that it starts; they end with this block or with this process.

    Gives a function that says whether it still runs. Output is appended to `log`. Asked to end, the command
    has `grace` seconds (`GRACE` if None).
    """
    grace = GRACE if grace is None else grace
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        process = subprocess.Popen(
            (sys.executable, "-I", "-S", str(_SUPERVISE), str(os.getpid()), str(grace), *command),
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield lambda: process.poll() is None
    finally:
        process.terminate()
        try:
            process.wait(grace + 5.0)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, SIGKILL)
            process.wait()


def _exists(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ImportError:
        return False


def _awaited_port(running: Callable[[], bool], log: Path, deadline: float) -> int:
    while True:
        alive = running()
        if found := _PORT.search(log.read_bytes()):
            return int(found[1])
        _check(alive, log, deadline)
        time.sleep(0.02)


def _await_completion(
    endpoint: Endpoint, backbone: BackboneConfig, running: Callable[[], bool], log: Path, deadline: float
) -> None:
    while True:
        alive = running()
        try:
            first_completion(endpoint, backbone, timeout=max(1.0, deadline - time.monotonic()), patience=1.0)
            return
        except BackboneUnavailable:
            _check(alive, log, deadline)


def _check(alive: bool, log: Path, deadline: float) -> None:
    if alive and time.monotonic() < deadline:
        return
    raise unready(alive, log)


def unready(alive: bool, log: Path) -> BackboneUnavailable:
    """Return the error of a server that ended before it answered, or doesn't answer in time."""
    what = "did not answer in time (serving.startup_timeout)" if alive else "ended before it answered"
    tail = log.read_bytes()[-_LOG_TAIL:].decode("utf-8", "replace").strip()
    return BackboneUnavailable(f"the server {what}; its log, {log}, ends:\n{tail}")
