"""The policy as a process of its own: it announces its port, speaks the chat API, ends with its input."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipeline.backbone.client import ChatClient
from pipeline.backbone.config import BackboneConfig, ClientConfig
from pipeline.backbone.serving import Endpoint
from pipeline.benchmarks.scorers.officeqa import score_answer
from pipeline.benchmarks.tasks import Task
from pipeline.corpus import Corpus
from pipeline.harness.config import ActionConfig, ActionMode, HarnessConfig
from pipeline.protocols import Message, Request
from tests.backbone.episodes import run_episode
from tests.backbone.reference.episodes import episode
from tests.conftest import ROOT


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The base URL of a server in an empty folder, with an environment that only finds the package."""
    process = subprocess.Popen(
        [sys.executable, "-m", "pipeline.backbone.reference", "--port", "0"],
        cwd=tmp_path_factory.mktemp("empty"),
        env={"PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin and process.stdout
    port = json.loads(process.stdout.readline())["port"]
    yield f"http://127.0.0.1:{port}"
    process.stdin.close()
    assert process.wait(20) == 0


def ask(url: str, body: object | None = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=20) as response:
        return json.load(response)


def test_it_says_that_it_is_no_language_model(url: str) -> None:
    (model,) = ask(f"{url}/v1/models")["data"]
    assert model["id"] == "reference-policy"
    assert "not a language model" in model["description"]


async def test_it_replies_over_http_as_in_process(url: str, built: list[Task], ledger: Corpus) -> None:
    _, backbone = await episode(built[0].view, ledger)
    for body, reply in zip(backbone.bodies, backbone.replies, strict=True):
        completion = ask(f"{url}/v1/chat/completions", body)
        assert completion["model"] == "reference-policy"
        assert completion["choices"][0]["message"]["content"] == reply
        assert completion["usage"]["prompt_tokens"] > 0


async def test_tool_calls_go_over_http_into_a_record_that_replays(
    url: str, built: list[Task], ledger: Corpus
) -> None:
    harness = HarnessConfig(action=ActionConfig(ActionMode.tools))
    endpoint, backbone = Endpoint((f"{url}/v1",), "reference-policy"), BackboneConfig()
    run = await run_episode(endpoint, backbone, harness, ledger, built[0].view, seed=0)  # and replays it
    assert score_answer(built[0].gold.answer, run.outcome.answer or "", 0.0)
    assert run.valid == len(run.trace.turns)
    for completion in run.recorded.completions:
        assert completion.finish == "tool_calls" and completion.tool_calls
        assert json.loads(completion.text)["operation"]["name"] == completion.tool_calls[0].name


def test_it_answers_whoever_asks_whether_it_is_up(url: str) -> None:
    body = {"messages": [{"role": "user", "content": "Reply with one word."}], "max_tokens": 8}
    (choice,) = ask(f"{url}/v1/chat/completions", body)["choices"]
    assert choice["message"]["content"] == "ready"


@pytest.mark.parametrize("tools", [(), ("search",)])
async def test_it_streams_the_reply_that_it_gives_whole(url: str, tools: tuple[str, ...]) -> None:
    content = "Question:\nHow many?\n\nAnswer format:\nOne line.\n\nDocuments (1):\na.txt"
    request = Request(
        (Message("system", "Reply."), Message("user", content)),
        400,
        tools=tuple({"type": "function", "function": {"name": name}} for name in tools),
    )
    replies = []
    for stream in (True, False):
        backbone = BackboneConfig(client=ClientConfig(stream=stream))
        async with ChatClient(Endpoint((f"{url}/v1",), "reference-policy"), backbone) as client:
            replies.append(await client.complete(request))
    streamed, whole = replies
    assert streamed.requests[0].first_token_s is not None and whole.requests[0].first_token_s is None
    for name in ("text", "tool_calls", "finish", "usage", "model"):
        assert getattr(streamed, name) == getattr(whole, name)
    assert bool(whole.tool_calls) == bool(tools)


def test_a_reply_is_cut_at_max_tokens(url: str) -> None:
    content = "Question:\nHow many?\n\nAnswer format:\nOne line.\n\nDocuments (1):\na.txt"
    messages = [{"role": "system", "content": "Reply."}, {"role": "user", "content": content}]
    body = {"messages": messages, "max_tokens": 5}
    (choice,) = ask(f"{url}/v1/chat/completions", body)["choices"]
    assert choice["finish_reason"] == "length"
    assert len(choice["message"]["content"]) <= 20
    tools = [{"type": "function", "function": {"name": "search"}}]
    (choice,) = ask(f"{url}/v1/chat/completions", {**body, "max_tokens": 15, "tools": tools})["choices"]
    (call,) = choice["message"]["tool_calls"]
    assert (choice["finish_reason"], call["function"]["name"]) == ("length", "search")
    assert len(choice["message"]["content"] + call["function"]["arguments"]) <= 60


@pytest.mark.parametrize(
    "body",
    [
        {"messages": "none"},
        {"messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hello"}]},
        {"messages": [], "stream": True, "response_format": {}},
        ["no object"],
    ],
)
def test_a_request_that_is_none_of_the_harness_is_refused(url: str, body: object) -> None:
    with pytest.raises(urllib.error.HTTPError) as refused:
        ask(f"{url}/v1/chat/completions", body)
    assert refused.value.code == 400
    assert json.load(refused.value)["error"]["type"] == "invalid_request_error"


def test_it_imports_nothing_of_the_project_but_itself() -> None:
    """Run in a fresh interpreter: what importing the server brings in, parent packages aside."""
    code = (
        "import sys, pipeline.backbone.reference.server\n"
        "print(*(name for name in sys.modules if name.split('.')[0] == 'pipeline'))"
    )
    shown = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    names = [name for name in shown.stdout.split() if not name.startswith("pipeline.backbone.reference")]
    parents = {"pipeline", "pipeline.backbone"}
    source = Path(ROOT / "pipeline" / "backbone" / "__init__.py").read_text()
    allowed = parents if "import" not in source else {*parents, *names}
    assert set(names) <= allowed
