"""The command and the environment of one `vllm serve`: what the configuration and the model make of it."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.backbone.config import BackboneConfig, SamplingConfig
from pipeline.backbone.serving.config import OnGPUs
from pipeline.errors import ConfigError

VENV = "LONGHARNESS_VLLM_VENV"
_INSTALL = "python3 -m venv .venv-vllm && .venv-vllm/bin/pip install 'vllm>=0.26'"
_OF_THE_RUN = {
    "host": "the run chooses it",
    "uds": "the run chooses where it listens",
    "port": "set serving.port",
    "model": "set backbone.server.weights",
    "served-model-name": "set backbone.model",
    "tensor-parallel-size": "set serving.tensor_parallel",
    "tp": "set serving.tensor_parallel",
    "api-key": "name the variable that holds it in serving.api_key_env",
}
_GENERATION = ("top_k", "min_p", "repetition_penalty")  # what vLLM takes as defaults

# What reaches the server of this process' environment. All else, keys of other services above all, does not.
_PASSED = {
    *("PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH", "CC", "CXX"),
    *("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE"),
}
_PASSED_PREFIXES = (
    *(
        "VLLM_",
        "HF_",
        "HUGGINGFACE_",
        "TRANSFORMERS_",
        "CUDA",
        "NVIDIA_",
        "NCCL_",
        "UCX_",
        "TORCH",
        "PYTORCH_",
    ),
    *("TRITON_", "FLASHINFER_", "OMP_", "MKL_", "ROCR_", "HIP_", "GLOO_", "XDG_"),
)


@dataclass(frozen=True)
class Size:
    """How many replicas there are and over how many GPUs each is split; 0 where they take none."""

    replicas: int
    gpus_each: int

    @property
    def gpus(self) -> int:
        """Of all replicas together."""
        return self.replicas * self.gpus_each


def sized(serving: OnGPUs, backbone: BackboneConfig) -> Size:
    """Return how `serving.gpus` are spent. Raises `ConfigError` where they don't make whole replicas."""
    split = serving.tensor_parallel or backbone.server.tensor_parallel
    for name, value, least in (
        ("tensor_parallel", split, 1),
        ("replicas", serving.replicas, 1),
        ("max_model_len", serving.max_model_len, 1),
        ("gpus", serving.gpus, 0),
        ("cpus", serving.cpus, 0),
    ):
        if value is not None and value < least:
            raise ConfigError(f"serving.{name}={value} is too small: {least} is the least")
    if serving.gpus == 0:
        return Size(serving.replicas or 1, 0)
    gpus = serving.gpus or split * (serving.replicas or 1)
    if serving.replicas is None and gpus % split and gpus > split:
        raise ConfigError(
            f"serving.gpus={gpus}: replicas of {backbone.model} take {split} GPUs each, which leaves "
            f"{gpus % split} idle: give a multiple of {split}, or say how many serving.replicas there are"
        )
    replicas = serving.replicas or gpus // split
    if not replicas or replicas * split > gpus:
        raise ConfigError(
            f"serving.gpus={gpus}: {max(replicas, 1)} replicas of {backbone.model}, split over {split} GPUs "
            f"each, need {max(replicas, 1) * split}: give more GPUs, fewer serving.replicas, or a smaller "
            "model (backbone=qwen_1gpu and glm_1gpu take one GPU)"
        )
    return Size(replicas, split)


def executable(configured: Sequence[str] | None) -> tuple[str, ...]:
    """How vLLM is called on this machine, `serve` and its flags not included.

    Raises `ConfigError`, with the way to install it, where there is none.
    """
    if configured:
        if shutil.which(configured[0]) is None:
            raise ConfigError(f"serving.command: there is no program {configured[0]!r} on this machine")
        return (str(Path(shutil.which(configured[0]) or configured[0]).absolute()), *configured[1:])
    environments = (os.environ.get(VENV), ".venv-vllm")
    folders = [Path(sys.executable).parent, *(Path(venv) / "bin" for venv in environments if venv)]
    for folder in folders:
        if os.access(folder / "vllm", os.X_OK):
            return (str((folder / "vllm").absolute()),)
    if found := shutil.which("vllm"):
        return (found,)
    raise ConfigError(
        f"serving=vllm: there is no vLLM here. Install it in an environment of its own: {_INSTALL} "
        f"(or name that environment in {VENV}, or the program in serving.command)"
    )


def flags(serving: OnGPUs, backbone: BackboneConfig, gpus_each: int) -> dict[str, Any]:
    """Return the server's flags by name; what the user gives wins over the model's, and that over ours.

    Raises `ConfigError` for a flag that is the run's to choose.
    """
    server = backbone.server
    ours: dict[str, Any] = {
        "served-model-name": backbone.model,
        "revision": server.revision,
        "max-model-len": serving.max_model_len or server.max_model_len,
        "enable-prefix-caching": True,
        "enable-prompt-tokens-details": True,
        "tool-call-parser": server.tool_call_parser,
        "enable-auto-tool-choice": True if server.tool_call_parser else None,
        "reasoning-parser": server.reasoning_parser,
        "override-generation-config": _generation(backbone.sampling, backbone.max_tokens),
    }
    if gpus_each:
        ours["tensor-parallel-size"] = gpus_each
    for owner, given in (("backbone.server.flags", server.flags), ("serving.flags", serving.flags)):
        for name, value in given.items():
            flag = name.lstrip("-").replace("_", "-")
            if flag in _OF_THE_RUN:
                raise ConfigError(f"{owner}.{name}: {_OF_THE_RUN[flag]}")
            ours[flag] = value
    return ours


def command(
    program: Sequence[str], model: str, host: str, port: int, named: Mapping[str, Any]
) -> tuple[str, ...]:
    """Return the whole command line."""
    words = [*program, "serve", model, "--host", host, "--port", str(port)]
    for name, value in named.items():
        words += _words(name, value)
    return tuple(words)


def environment(serving: OnGPUs, inherited: Mapping[str, str]) -> dict[str, str]:
    """Return the server's variables: of `inherited` what a server needs, and what the configuration says.

    Raises `ConfigError` if the variable that holds the API key is not set.
    """
    found = {
        name: value
        for name, value in inherited.items()
        if name in _PASSED or name.startswith(_PASSED_PREFIXES)
    }
    found.pop("VLLM_API_KEY", None)
    if serving.api_key_env:
        if not inherited.get(serving.api_key_env):
            raise ConfigError(
                f"serving.api_key_env: the variable {serving.api_key_env} is not set on this node"
            )
        found["VLLM_API_KEY"] = inherited[serving.api_key_env]
    return found | settings(serving)


def settings(serving: OnGPUs) -> dict[str, str]:
    """Return the variables that the configuration gives a server, whoever starts it; none is a secret."""
    found = {"VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}
    if serving.hf_home:
        found["HF_HOME"] = str(Path(serving.hf_home).expanduser().absolute())
    if serving.batch_invariant:
        found["VLLM_BATCH_INVARIANT"] = "1"
    return found | dict(serving.env)


def _generation(sampling: SamplingConfig, max_tokens: int) -> dict[str, Any]:
    """Sampling for those who send none, as command-line agents do."""
    told = {"temperature": sampling.temperature, "top_p": sampling.top_p, "max_new_tokens": max_tokens}
    told |= {name: sampling.extra.get(name) for name in _GENERATION}
    return {name: value for name, value in told.items() if value is not None}


def _words(name: str, value: Any) -> list[str]:
    if value is None:
        return []
    if value is True or value is False:
        return [f"--{name}" if value else f"--no-{name}"]
    if isinstance(value, Mapping):
        return [f"--{name}", json.dumps(dict(value), sort_keys=True)]
    if isinstance(value, list | tuple):
        return [f"--{name}", *map(str, value)]
    return [f"--{name}", str(value)]
