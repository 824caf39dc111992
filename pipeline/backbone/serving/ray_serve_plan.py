"""What Ray Serve is told to deploy: a Serve configuration, made of ours. `conf/ray_serve/` holds two of them.

Where Ray Serve LLM's own defaults (2.60) harm a run of fixed size, the plan says otherwise:

- One application a replica, each with a path of its own. Ray Serve's routers know nothing of episodes: by
  default they spread the turns of one over all replicas, and the prefix-aware one piles first turns up on
  one. A run places episodes itself.
- `num_replicas` is fixed. Under an `autoscaling_config`, Ray Serve LLM aims at 1e9 requests in flight a
  replica unless told otherwise: it would never scale.
- `health_check_timeout_s` is 10 there, which a busy replica can miss three times in a row.
- vLLM's own routes are served (`ray_serve_app.application`) instead of the ingress that lacks
  `/v1/responses` and `/v1/messages`; its metrics go to `/metrics`, too, and not to Ray's alone.
- No request is logged, by access logs neither.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipeline.backbone.config import BackboneConfig
from pipeline.backbone.serving.config import RayServeConfig
from pipeline.backbone.serving.vllm_command import Size, flags, settings

IMPORT_PATH = "pipeline.backbone.serving.ray_serve_app:application"
GRACE = 10.0
"""Seconds that a replica has to finish what it has in hand when it is taken down."""
_OF_THE_MODEL = ("served-model-name", "tensor-parallel-size")  # said elsewhere in an LLMConfig


@dataclass(frozen=True)
class Address:
    """Where Serve's proxy on the head node listens."""

    host: str
    port: int


def serve_config(
    serving: RayServeConfig, backbone: BackboneConfig, size: Size, address: Address, prefix: str
) -> dict[str, Any]:
    """Return the configuration of `size.replicas` applications, named `prefix` and a number.

    Raises `ConfigError` for a flag that is the run's to choose.
    """
    variables = settings(serving)
    config = llm_config(serving, backbone, size.gpus_each, variables)
    names = [f"{prefix}-{number}" for number in range(size.replicas)]
    return {
        "proxy_location": "HeadOnly",
        "http_options": {"host": address.host, "port": address.port},
        "logging_config": {"enable_access_log": False},
        "applications": [
            {
                "name": name,
                "route_prefix": f"/{name}",
                "import_path": IMPORT_PATH,
                "runtime_env": {"env_vars": variables},
                "args": config,
            }
            for name in names
        ],
    }


def llm_config(
    serving: RayServeConfig, backbone: BackboneConfig, gpus: int, variables: Mapping[str, str]
) -> dict[str, Any]:
    """Return the fields of the `LLMConfig` of one replica, over so many GPUs of one node."""
    named = flags(serving, backbone, gpus)
    engine = {
        name.replace("-", "_"): value
        for name, value in named.items()
        if value is not None and name not in _OF_THE_MODEL
    }
    bundle = {"GPU": 1.0} if gpus else {}
    found: dict[str, Any] = {
        "model_loading_config": {
            "model_id": backbone.model,
            "model_source": backbone.server.weights or backbone.model,
        },
        "engine_kwargs": {**engine, "tensor_parallel_size": max(gpus, 1), "disable_log_stats": False},
        "log_engine_metrics": False,
        "placement_group_config": {
            "bundles": [{"CPU": serving.cpus} | bundle, *([bundle] * (gpus - 1))],
            "strategy": "STRICT_PACK",
        },
        "deployment_config": {
            "num_replicas": 1,
            "health_check_timeout_s": serving.health_timeout,
            "graceful_shutdown_timeout_s": GRACE,
            "ray_actor_options": {"num_cpus": 0},
        },
        "runtime_env": {"env_vars": dict(variables)},
    }
    return found if gpus else found | {"accelerator_config": {"kind": "cpu"}}
