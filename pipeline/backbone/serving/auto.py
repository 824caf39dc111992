"""`serving=auto`: Ray Serve LLM where a Ray cluster with GPUs serves, else `vllm serve` beside the run.

The rule, in one place: a run that joins a cluster which was there before it (`cluster=existing`, an address,
or a Ray job) and whose replicas take GPUs that the cluster has is served by Ray Serve. A cluster that the run
starts for itself dies with it: there, and without one, `vllm serve` has fewer parts.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path

import ray

from pipeline.backbone.config import BackboneConfig
from pipeline.backbone.serving import Endpoint, ray_serve, vllm
from pipeline.backbone.serving.config import AutoConfig, OnGPUs, RayServeConfig, VLLMConfig
from pipeline.backbone.serving.vllm_command import sized

INSIDE_A_JOB = "RAY_JOB_CONFIG_JSON_ENV_VAR"


@contextmanager
def serve(serving: AutoConfig, backbone: BackboneConfig, log_dir: Path) -> Iterator[Endpoint]:
    """Serve by what `chosen` says. Raises as that does."""
    gpus = ray.cluster_resources().get("GPU", 0.0) if ray.is_initialized() else 0.0  # type: ignore[no-untyped-call]
    joined = serving.cluster != "local" or INSIDE_A_JOB in os.environ
    by = chosen(serving, backbone, joined=joined, gpus=gpus)
    module = ray_serve if isinstance(by, RayServeConfig) else vllm
    with module.serve(by, backbone, log_dir) as endpoint:
        yield endpoint


def chosen(
    serving: AutoConfig, backbone: BackboneConfig, *, joined: bool, gpus: float
) -> RayServeConfig | VLLMConfig:
    """Return what serves, for a run that `joined` a cluster or started its own, of so many GPUs."""
    shared = {field.name: getattr(serving, field.name) for field in fields(OnGPUs)}
    if joined and gpus and sized(serving, backbone).gpus:
        return RayServeConfig(**shared)
    return VLLMConfig(**shared)
