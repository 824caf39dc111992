"""`longharness serve`: a backbone that stays up for others until it is asked to end."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import pytest

from pipeline.cli import main
from tests.backbone.serving.processes import alive, descendants, within

START = 120.0


@contextmanager
def serving(root: Path, *words: str) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """The verb's process, and the line that it printed once the backbone was up."""
    command = [sys.executable, "-m", "pipeline", "serve", f"root={root}", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout and process.stderr
            line = process.stdout.readline()
            assert line, process.stderr.read()[-3_000:]
            yield process, json.loads(line)
        finally:
            process.kill()


def replied(said: dict[str, Any]) -> str:
    body = {"model": said["model"], "messages": [{"role": "user", "content": "hello"}], "max_tokens": 16}
    request = Request(
        f"{said['urls'][0]}/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urlopen(request, timeout=60) as response:
        found: str = json.load(response)["choices"][0]["message"]["content"]
    return found


def listens(said: dict[str, Any]) -> bool:
    parts = urlsplit(said["urls"][0])
    with socket.socket() as one:
        return one.connect_ex((parts.hostname or "", parts.port or 0)) == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_answers_until_a_signal_ends_it_with_all_its_processes(
    number: signal.Signals, tmp_path: Path
) -> None:
    with serving(tmp_path, "backbone=reference") as (process, said):
        assert (said["backbone"], said["model"]) == ("reference", "reference-policy")
        assert replied(said)
        servers = descendants(process.pid)
        assert len(servers) >= 2  # the server, and what ends it
        process.send_signal(number)
        assert process.wait(30) == 0
        assert not listens(said) and not any(map(alive, servers))


def test_killed_it_leaves_no_server_behind(tmp_path: Path) -> None:
    with serving(tmp_path, "backbone=reference") as (process, said):
        assert replied(said)
        os.kill(process.pid, signal.SIGKILL)
        assert within(30, lambda: not listens(said))


def test_an_endpoint_of_others_is_not_served_again(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["serve", "backbone=custom", "backbone.model=m", "serving.urls=[http://127.0.0.1:9/v1]"]
    assert main(words) == 2
    assert "choose how to serve it" in capsys.readouterr().err


def test_its_configuration_is_shown_without_starting_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "backbone=qwen", "serving=vllm_8gpu", "--cfg", "job"]) == 0
    assert "pipeline.backbone.serving.vllm.serve" in capsys.readouterr().out
