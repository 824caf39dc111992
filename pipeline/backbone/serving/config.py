"""The configuration of `serving=vllm`, and of what a server is told of its model, whoever starts it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class Placement(Enum):
    """Where replicas run: `ray` on any node of the run's Ray cluster, `local` as processes of this machine.

    `auto` is `ray` where the run has a Ray cluster with GPUs and replicas take some, else `local`.
    """

    auto = "auto"
    ray = "ray"
    local = "local"


@dataclass
class ServerConfig:
    """What a server that a run starts is told of a model; endpoints were told by whoever started them.

    `weights` is what is loaded: a name on the model hub or a folder, seen from where the server runs; `null`
    is the model's own name. `revision` pins it. `tensor_parallel` is over how many GPUs one replica is split,
    `max_model_len` the context window in tokens (`null`: the model's own). The parsers are vLLM's names of
    them. `flags` are further ones of `vllm serve`, without their dashes: `true` gives `--flag`, `false`
    `--no-flag`, a mapping JSON, a list several values, and `null` takes out a flag that would be there.
    """

    weights: str | None = None
    revision: str | None = None
    tensor_parallel: int = 1
    max_model_len: int | None = None
    tool_call_parser: str | None = None
    reasoning_parser: str | None = None
    flags: dict[str, Any] = field(default_factory=dict)


@dataclass
class VLLMConfig:
    """`vllm serve`, started by the run: `gpus` in all, over replicas of the model's own size.

    `command` is how vLLM is called; `null` looks for `vllm` beside this interpreter, in the environment that
    $LONGHARNESS_VLLM_VENV names, in `.venv-vllm`, and on the PATH. `gpus=null` takes one replica's worth,
    `gpus=0` none (a CPU build). `replicas`, `tensor_parallel` and `max_model_len` follow from `gpus` and
    `backbone.server` where they are null. `cpus` are logical ones that each replica holds in a Ray cluster.

    `flags` come after those of the model, `env` are variables for the server (no secrets: they are stored
    with the run). `hf_home` is where weights are kept, on every node that serves; `null` leaves it to each.
    The server asks for the key that the variable `api_key_env` holds on its node, if one is named.
    `startup_timeout` is in seconds, download and compilation included. A replica that ends is started anew up
    to `restarts` times in a row; it counts as back once it has run for ten minutes. `batch_invariant` makes
    replies independent of what else is in a batch.
    """

    _target_: str = "pipeline.backbone.serving.vllm.serve"
    command: list[str] | None = None
    placement: Placement = Placement.auto
    gpus: int | None = None
    replicas: int | None = None
    tensor_parallel: int | None = None
    max_model_len: int | None = None
    cpus: float = 1.0
    port: int | None = None
    flags: dict[str, Any] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    hf_home: str | None = None
    api_key_env: str | None = None
    batch_invariant: bool = False
    startup_timeout: float = 1_800.0
    restarts: int = 5


@dataclass
class ScriptedConfig:
    """Replies from a script, without a model: `script` is a file of JSON Lines, one reply a turn.

    `pipeline/backbone/scripted/script.py` describes its lines.
    """

    _target_: str = "pipeline.backbone.serving.scripted.serve"
    script: str = ""
    startup_timeout: float = 60.0
