"""A small benchmark over a few documents, and a chat server that answers it by a fixed policy."""

from __future__ import annotations

import json
import os
import re
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from pipeline.backbone.config import BackboneConfig, ClientConfig, EndpointConfig
from pipeline.benchmarks.tasks import Benchmark, CorpusSource, Gold, Task
from pipeline.harness import LongHarness, Trace
from pipeline.harness.config import BudgetConfig, HarnessConfig
from pipeline.protocols import AnswerFormat, TaskView
from pipeline.runs.config import ActorsConfig, ClusterConfig, TasksConfig
from pipeline.runs.spec import ArmSpec, RunSpec

TURNS = 5
"""Turns of an episode under the server's policy."""


@dataclass
class SampleConfig:
    _target_: str = "tests.runs.sample.load"
    folder: str = ""
    tasks: int = 6
    corpora: int = 1
    question: str = "What were the outlays of department {n} in 1950?"


@dataclass
class DeadlyConfig(HarnessConfig):
    _target_: str = "tests.runs.sample.Deadly"
    trigger: str = ""


class Deadly(LongHarness):
    """Kills the process that replays an episode, while the file `trigger` is there."""

    def replay(self, *arguments: Any) -> Trace:
        assert isinstance(self.config, DeadlyConfig)
        if Path(self.config.trigger).exists():
            os.kill(os.getpid(), signal.SIGKILL)
        return super().replay(*arguments)


def write_documents(folder: Path, corpora: int = 1) -> Path:
    for corpus in range(corpora):
        (folder / f"c{corpus}").mkdir(parents=True, exist_ok=True)
        for n in range(6):
            text = (
                f"Report {n} of volume {corpus}.\n\nOutlays of department {n} in 1950 were {1000 + 7 * n}.\n"
            )
            (folder / f"c{corpus}" / f"report_{n}.txt").write_text(text * 3)
    return folder


def load(config: SampleConfig) -> Benchmark:
    names = [f"c{n}" for n in range(config.corpora)]
    tasks = tuple(
        Task(
            TaskView(f"t{n}", config.question.format(n=n), AnswerFormat("line")),
            names[n % len(names)],
            Gold(str(1000 + 7 * n), (f"report_{n}.txt",)),
            {"kind": "even" if n % 2 == 0 else "odd"},
        )
        for n in range(config.tasks)
    )
    corpora = {name: CorpusSource(name, (Path(config.folder) / name,)) for name in names}
    return Benchmark("sample", tasks, corpora, ("pipeline.benchmarks.scorers.answer",))


def reply(messages: list[dict[str, str]]) -> dict[str, Any]:
    """The policy: search, read the first hit, state what it says, conclude, answer with its number."""
    turn = sum(message["role"] == "assistant" for message in messages)
    seen = [message["content"] for message in messages if message["role"] == "user"]
    department = re.search(r"department (\d+)", seen[0])
    number = department[1] if department else "0"
    if turn == 0:
        gap = {"unresolved": [f"outlays of department {number}"]}
        return {"operation": {"name": "search", "query": f"outlays department {number}"}, "conclusion": gap}
    if turn == 1:
        passage = re.search(r"^1\. (\S+) \[", seen[1], re.MULTILINE)
        return {"operation": {"name": "read", "locations": [{"passage": passage and passage[1]}]}}
    if turn == 2:
        item = {"statement": f"Outlays of department {number} are given.", "sources": ["s1"]}
        return {"operation": {"name": "evidence", "upsert": [item]}}
    if turn == 3:
        claim = {"established": [{"claim": f"Department {number} is found.", "evidence": ["e1"]}]}
        compute = {"name": "compute", "expression": f"1000 + 7 * {number}", "evidence": ["e1"]}
        return {"operation": compute, "conclusion": claim}
    value = re.findall(r"c1 = (\d+)", seen[4])
    return {"operation": {"name": "final", "answer": value[0] if value else "none", "evidence": ["e1"]}}


class Server:
    """The chat server: answers after `delay` seconds, and counts requests; a word in a question fails it.

    While it is `away` it drops connections; while it is `narrow`, long prompts don't fit; to a question with
    the words `otherwise` it states otherwise what it read. `asked_by` counts requests by question;
    `most_in_flight` is the most prompt tokens that were in it at a time, of two or more.
    """

    def __init__(self) -> None:
        self.delay = 0.0
        self.asked = 0
        self.down = False
        self.narrow = True
        self.unavailable = "UNAVAILABLE"
        self.otherwise = ""
        self.away = False
        self.dropped = 0
        self.asked_by: dict[str, int] = {}
        self.in_flight: list[int] = []
        self.most_in_flight = 0
        self._lock = threading.Lock()
        self.url = ""

    def answer(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        text = " ".join(message["content"] for message in body["messages"])
        with self._lock:
            self.asked += 1
            if found := re.search(r"department \d+", text):
                self.asked_by[found[0]] = self.asked_by.get(found[0], 0) + 1
            self.in_flight.append(len(text) // 4)
            if len(self.in_flight) > 1:
                self.most_in_flight = max(self.most_in_flight, sum(self.in_flight))
        time.sleep(self.delay)
        try:
            return self._answer(body, text)
        finally:
            with self._lock:
                self.in_flight.remove(len(text) // 4)

    def _answer(self, body: dict[str, Any], text: str) -> tuple[int, dict[str, Any]]:
        if self.down or self.unavailable in text:
            return 503, {"error": {"message": "not now"}}
        if self.narrow and "OVERLONG" in text and "[turn 2]" in text:
            said = (
                "This model's maximum context length is 10 tokens. However, your prompt contains at least 11"
            )
            return 400, {"error": {"message": said, "type": "BadRequestError", "param": "input_tokens"}}
        content = json.dumps(reply(body["messages"]))
        if self.otherwise and self.otherwise in text:
            content = content.replace("are given.", "stand there.")
        message = {"role": "assistant", "content": content}
        usage = {"prompt_tokens": len(text) // 4, "completion_tokens": len(content) // 4}
        return 200, {
            "id": "x",
            "object": "chat.completion",
            "model": body["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": usage | {"total_tokens": sum(usage.values())},
        }


@contextmanager
def serving() -> Iterator[Server]:
    server = Server()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if server.away:
                server.dropped += 1
                self.close_connection = True
                return
            status, answer = server.answer(body)
            content = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            with suppress(BrokenPipeError, ConnectionResetError):  # whoever asked was killed
                self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        http.daemon_threads = True
        threading.Thread(target=http.serve_forever, daemon=True).start()
        server.url = f"http://127.0.0.1:{http.server_address[1]}/v1"
        yield server
        http.shutdown()


def arm(name: str, folder: Path, url: str, harness: HarnessConfig | None = None, **sample: Any) -> ArmSpec:
    tasks = sample.pop("select", None) or TasksConfig()
    client = ClientConfig(attempts=1, patience=0.0, backoff=0.01, max_backoff=0.02)
    return ArmSpec(
        name=name,
        harness_name="longharness",
        backbone_name="sample",
        benchmark_name="sample",
        harness=harness or HarnessConfig(budget=BudgetConfig(turns=20)),
        backbone=BackboneConfig(name="sample", model="policy", language_model=False, client=client),
        serving=EndpointConfig(urls=[url], startup_timeout=5.0),
        benchmark=SampleConfig(folder=str(folder), **sample),
        tasks=tasks,
    )


def spec(
    root: Path, arms: list[ArmSpec], name: str = "run", seeds: tuple[int, ...] = (0,), **actors: Any
) -> RunSpec:
    return RunSpec(
        name=name,
        root=root,
        arms=tuple(arms),
        seeds=seeds,
        cluster=ClusterConfig(num_cpus=2),
        actors=ActorsConfig(**{"count": 1, "episodes": 4, "cpus": 0.5} | actors),
        config={"name": name},
    )
