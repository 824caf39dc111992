"""The configuration of the servers that a run starts, and of what they are told of their model."""

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
class OnGPUs:
    """What every way to serve a model on GPUs takes: `gpus` in all, over replicas of the model's own size.

    `gpus=null` takes one replica's worth, `gpus=0` none (a CPU build of vLLM). `replicas`, `tensor_parallel`
    and `max_model_len` follow from `gpus` and `backbone.server` where they are null. `cpus` are logical ones
    that each replica holds in a Ray cluster. `port` is a free one where it is null.

    `flags` come after those of the model, `env` are variables for the server (no secrets: they are stored
    with the run). `hf_home` is where weights are kept, on every node that serves; `null` leaves it to each.
    `api_key_env` names the variable that holds the key that the server asks for. `batch_invariant` makes
    replies independent of what else is in a batch. `startup_timeout` is in seconds, download and compilation
    included.
    """

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


@dataclass
class VLLMConfig(OnGPUs):
    """`vllm serve`, started by the run.

    `command` is how vLLM is called; `null` looks for `vllm` beside this interpreter, in the environment that
    $LONGHARNESS_VLLM_VENV names, in `.venv-vllm`, and on the PATH. The server asks for the key that
    `api_key_env` holds on its node, if one is named. A replica that ends is started anew up to `restarts`
    times in a row; it counts as back once it has run for ten minutes.
    """

    _target_: str = "pipeline.backbone.serving.vllm.serve"
    command: list[str] | None = None
    placement: Placement = Placement.auto
    restarts: int = 5


@dataclass
class RayServeConfig(OnGPUs):
    """Ray Serve LLM, deployed by the run on its Ray cluster; Ray Serve starts a replica that died anew.

    `python` is the interpreter of the environment with `ray[llm]`, on every node that serves, of the same
    versions of Ray and Python as the cluster; `null` takes this one, if it has vLLM, else that of
    $LONGHARNESS_VLLM_VENV or `.venv-vllm`. The servers ask for the key in VLLM_API_KEY, if that is set where
    the nodes were started: then `api_key_env` names the variable that holds it for the run. Three checks of
    its health in a row that take longer than `health_timeout` seconds, or fail, and a replica is replaced.
    """

    _target_: str = "pipeline.backbone.serving.ray_serve.serve"
    python: str | None = None
    health_timeout: float = 60.0


@dataclass
class AutoConfig(OnGPUs):
    """`ray_serve` where the run joins a Ray cluster with GPUs that was there before it, else `vllm`.

    `cluster` is the run's `cluster.address`; inside a Ray job, the job's cluster is the one that is joined.
    """

    _target_: str = "pipeline.backbone.serving.auto.serve"
    cluster: str = "local"


@dataclass
class ScriptedConfig:
    """Replies from a script, without a model: `script` is a file of JSON Lines, one reply a turn.

    `pipeline/backbone/scripted/script.py` describes its lines.
    """

    _target_: str = "pipeline.backbone.serving.scripted.serve"
    script: str = ""
    startup_timeout: float = 60.0
