"""What `vllm serve` is called with: flags, GPUs and variables that follow from the configuration."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.backbone.config import BackboneConfig, SamplingConfig
from pipeline.backbone.serving.config import ServerConfig, VLLMConfig
from pipeline.backbone.serving.vllm_command import (
    Size,
    command,
    environment,
    executable,
    flags,
    sized,
)
from pipeline.config import resolve
from pipeline.errors import ConfigError


def backbone(**server: Any) -> BackboneConfig:
    return BackboneConfig(model="org/model", max_tokens=100, server=ServerConfig(**server))


@pytest.mark.parametrize(
    ("serving", "split", "size"),
    [
        ({}, 1, Size(1, 1)),
        ({}, 4, Size(1, 4)),
        ({"gpus": 8}, 4, Size(2, 4)),
        ({"gpus": 8}, 1, Size(8, 1)),
        ({"gpus": 8, "tensor_parallel": 2, "replicas": 3}, 4, Size(3, 2)),
        ({"replicas": 2}, 4, Size(2, 4)),
        ({"gpus": 0}, 4, Size(1, 0)),
        ({"gpus": 0, "replicas": 2}, 1, Size(2, 0)),
    ],
)
def test_gpus_are_spent_on_whole_replicas(serving: dict[str, Any], split: int, size: Size) -> None:
    assert sized(VLLMConfig(**serving), backbone(tensor_parallel=split)) == size


@pytest.mark.parametrize(
    "serving", [{"gpus": 4}, {"gpus": 11}, {"gpus": 8, "replicas": 2}, {"gpus": -1}, {"replicas": 0}]
)
def test_gpus_that_make_no_whole_replica_are_refused(serving: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"serving\.(gpus|replicas)"):
        sized(VLLMConfig(**serving), backbone(tensor_parallel=8))


def words(serving: VLLMConfig, model: BackboneConfig, gpus: int = 0) -> str:
    return " ".join(command(("vllm",), "org/model", "127.0.0.1", 8001, flags(serving, model, gpus)))


def test_the_prefix_cache_and_its_counts_are_on() -> None:
    said = words(VLLMConfig(), backbone())
    assert said.startswith("vllm serve org/model --host 127.0.0.1 --port 8001 ")
    assert "--enable-prefix-caching --enable-prompt-tokens-details" in said
    assert "--tensor-parallel-size" not in said and "--reasoning-parser" not in said


def test_a_models_parsers_window_and_split_reach_the_server() -> None:
    model = backbone(tool_call_parser="hermes", reasoning_parser="qwen3", max_model_len=4096, revision="abc")
    said = words(VLLMConfig(), model, gpus=4)
    for part in (
        "--tool-call-parser hermes --enable-auto-tool-choice --reasoning-parser qwen3",
        "--max-model-len 4096",
        "--revision abc",
        "--tensor-parallel-size 4",
    ):
        assert part in said
    assert "--max-model-len 2048" in words(VLLMConfig(max_model_len=2048), model)


def test_what_the_user_gives_wins_over_the_model_and_over_us() -> None:
    model = backbone(flags={"dtype": "float16", "compilation-config": {"level": 3}})
    serving = VLLMConfig(
        flags={
            "dtype": "float32",
            "enable_prefix_caching": False,
            "enforce-eager": True,
            "middleware": ["a", "b"],
        }
    )
    said = words(serving, model)
    assert "--dtype float32" in said and "float16" not in said
    assert "--no-enable-prefix-caching" in said and "--enforce-eager" in said
    assert '--compilation-config {"level": 3}' in said and "--middleware a b" in said
    dropped = words(VLLMConfig(flags={"enable-prompt-tokens-details": None}), model)
    assert "details" not in dropped


def test_those_who_send_no_sampling_get_the_backbones() -> None:
    model = backbone()
    model.sampling = SamplingConfig(temperature=0.6, extra={"top_k": 20, "chat_template_kwargs": {"x": 1}})
    told = flags(VLLMConfig(), model, 0)["override-generation-config"]
    assert told == {"temperature": 0.6, "top_k": 20, "max_new_tokens": 100}


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("port", "serving.port"),
        ("--host", "the run chooses it"),
        ("tensor_parallel_size", "serving.tensor_parallel"),
        ("-tp", "serving.tensor_parallel"),
        ("api-key", "serving.api_key_env"),
        ("served_model_name", "backbone.model"),
    ],
)
def test_flags_that_are_the_runs_are_refused(name: str, remedy: str) -> None:
    with pytest.raises(ConfigError, match=rf"serving\.flags\.{name}: .*{remedy}"):
        flags(VLLMConfig(flags={name: 1}), backbone(), 0)


def test_the_server_sees_no_key_but_its_own() -> None:
    inherited = {
        "PATH": "/bin",
        "OPENAI_API_KEY": "sk-1",
        "VLLM_API_KEY": "sk-2",
        "MINE": "sk-3",
        "HF_TOKEN": "hf",
    }
    found = environment(VLLMConfig(hf_home="/cache", env={"A": "b"}, batch_invariant=True), inherited)
    assert {"PATH": "/bin", "HF_TOKEN": "hf", "HF_HOME": "/cache", "A": "b"}.items() <= found.items()
    assert found["VLLM_BATCH_INVARIANT"] == "1"
    assert "sk-" not in json.dumps(found)
    assert environment(VLLMConfig(api_key_env="MINE"), inherited)["VLLM_API_KEY"] == "sk-3"
    with pytest.raises(ConfigError, match="NOT_SET"):
        environment(VLLMConfig(api_key_env="NOT_SET"), inherited)


def test_vllm_is_looked_for_in_an_environment_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("LONGHARNESS_VLLM_VENV", raising=False)
    with pytest.raises(ConfigError, match=r"pip install 'vllm>="):
        executable(None)
    made = []
    for venv in (".venv-vllm", "elsewhere"):
        made.append(tmp_path / venv / "bin" / "vllm")
        made[-1].parent.mkdir(parents=True)
        made[-1].write_text("#!/bin/sh\n")
        made[-1].chmod(0o755)
    assert executable(None) == (str(made[0]),)
    monkeypatch.setenv("LONGHARNESS_VLLM_VENV", "elsewhere")
    assert executable(None) == (str(made[1]),)


def test_a_command_that_is_not_there_is_named() -> None:
    with pytest.raises(ConfigError, match="no-such-program"):
        executable(["no-such-program"])


PRESETS = [
    ("qwen", "vllm_8gpu", Size(2, 4), 262_144),
    ("glm", "vllm_8gpu", Size(1, 8), 262_144),
    ("qwen_1gpu", "vllm_1gpu", Size(1, 1), 131_072),
    ("glm_1gpu", "vllm_1gpu", Size(1, 1), 131_072),
    ("glm_1gpu", "vllm_8gpu", Size(8, 1), 202_752),
]


@pytest.mark.parametrize(("model", "serving", "size", "window"), PRESETS)
def test_the_presets_fill_their_gpus(model: str, serving: str, size: Size, window: int) -> None:
    (arm,) = resolve([f"backbone={model}", f"serving={serving}"]).arms
    assert sized(arm.serving, arm.backbone) == size
    named = flags(arm.serving, arm.backbone, size.gpus_each)
    assert named["max-model-len"] == window
    assert named["tool-call-parser"] and named["reasoning-parser"]


def test_a_model_of_eight_gpus_is_refused_on_one() -> None:
    (arm,) = resolve(["backbone=glm", "serving=vllm_1gpu"]).arms
    with pytest.raises(ConfigError, match="glm_1gpu"):
        sized(arm.serving, arm.backbone)


@pytest.mark.parametrize("name", ["gpt", "gemini", "deepseek", "kimi"])
def test_a_commercial_backbone_names_its_url_and_the_variable_of_its_key(name: str) -> None:
    (arm,) = resolve([f"backbone={name}"]).arms
    (url,) = arm.serving.urls
    assert url.startswith("https://") and arm.serving.api_key_env.endswith("_API_KEY")
    assert arm.backbone.sampling.extra["seed"] is None


def test_thinking_is_switched_off_by_one_key() -> None:
    (arm,) = resolve(["backbone=qwen", "serving.urls=[http://h/v1]", "backbone.thinking=false"]).arms
    assert arm.backbone.sampling.extra["chat_template_kwargs"] == {"enable_thinking": False}
