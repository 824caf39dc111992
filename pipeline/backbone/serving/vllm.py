"""`serving=vllm`: `vllm serve`, started by the run on Ray-placed GPUs or on this machine, and kept up.

vLLM is never imported: it runs as a process of its own, in its own environment if it has one.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pipeline.backbone.config import BackboneConfig
from pipeline.backbone.serving import Endpoint
from pipeline.backbone.serving.config import Placement, VLLMConfig
from pipeline.backbone.serving.readiness import first_completion
from pipeline.backbone.serving.replica import Replica, await_all
from pipeline.backbone.serving.vllm_command import Size, command, environment, executable, flags, sized
from pipeline.errors import ConfigError

LOOPBACK = "127.0.0.1"
_VISIBLE = "CUDA_VISIBLE_DEVICES"


class Kept(Protocol):
    """A replica, wherever it runs."""

    @property
    def url(self) -> str:
        """Where it answers, to `/v1`."""
        ...

    def check(self) -> None:
        """Raise `BackboneUnavailable` if it has ended for good."""
        ...

    def confirm(self) -> None:
        """Say that it has answered: from now on it is started anew when it ends."""
        ...


@dataclass(frozen=True)
class ReplicaPlan:
    """What one replica is made of: where its log lies, and the GPUs it is split over."""

    serving: VLLMConfig
    backbone: BackboneConfig
    number: int
    gpus: int
    log_dir: Path

    def start(self, host: str, variables: Mapping[str, str]) -> Replica:
        """Return the replica, to be entered on the machine where it is to run.

        Raises `ConfigError` if vLLM, the port or the API key's variable is missing there.
        """
        serving, backbone = self.serving, self.backbone
        program, named = executable(serving.command), flags(serving, backbone, self.gpus)
        model = backbone.server.weights or backbone.model
        return Replica(
            lambda port: command(program, model, host, port, named),
            environment(serving, variables),
            host,
            self.log_dir / f"vllm-{self.number}.log",
            port=None if serving.port is None else serving.port + self.number,
            restarts=serving.restarts,
        )


@contextmanager
def serve(serving: VLLMConfig, backbone: BackboneConfig, log_dir: Path) -> Iterator[Endpoint]:
    """Start the replicas and give their endpoint, once each has answered a request.

    Raises `ConfigError` where there is no vLLM, or not the GPUs that are asked for, and
    `BackboneUnavailable`, with the end of its log, if a replica doesn't come up.
    """
    size = sized(serving, backbone)
    plans = [ReplicaPlan(serving, backbone, n, size.gpus_each, log_dir) for n in range(size.replicas)]
    deadline = time.monotonic() + serving.startup_timeout
    with ExitStack() as open_:
        kept: Sequence[Kept]
        if _on_ray(serving.placement, size):
            from pipeline.backbone.serving.placed import placed

            kept, node_local = open_.enter_context(placed(plans, serving, deadline))
        else:
            kept, node_local = [open_.enter_context(one) for one in _here(plans, size)], True
        urls = tuple(replica.url for replica in kept)
        endpoint = Endpoint(
            urls,
            backbone.model,
            serving.api_key_env,
            node_local=node_local,
            metrics=tuple(f"{url.removesuffix('/v1')}/metrics" for url in urls),
        )

        def check() -> None:
            for replica in kept:
                replica.check()

        await_all(
            check,
            lambda left: first_completion(endpoint, backbone, timeout=left, patience=1.0),
            deadline,
            serving.startup_timeout,
        )
        for replica in kept:
            replica.confirm()
        yield endpoint


def _on_ray(placement: Placement, size: Size) -> bool:
    """Whether replicas are placed by Ray. Raises `ConfigError` if they must be and there is no cluster."""
    if placement is Placement.local:
        return False
    import ray

    joined = ray.is_initialized()
    if placement is Placement.ray:
        if not joined:
            raise ConfigError("serving.placement=ray: this process has joined no Ray cluster")
        return True
    resources = ray.cluster_resources() if joined else {}  # type: ignore[no-untyped-call]
    return bool(size.gpus and resources.get("GPU"))


def _here(plans: Sequence[ReplicaPlan], size: Size) -> list[Replica]:
    """Return the replicas as processes of this machine, each with GPUs of its own."""
    if not size.gpus:
        return [plan.start(LOOPBACK, os.environ) for plan in plans]
    devices = visible_gpus()
    if len(devices) < size.gpus:
        raise ConfigError(
            f"serving.gpus: {size.gpus} are needed, {len(devices)} are visible on this machine; "
            "serving.gpus=0 is for a vLLM that was built for the CPU"
        )
    each = size.gpus_each
    return [
        plan.start(LOOPBACK, dict(os.environ) | {_VISIBLE: ",".join(devices[n * each : (n + 1) * each])})
        for n, plan in enumerate(plans)
    ]


def visible_gpus() -> list[str]:
    """The GPUs that this process may use, as CUDA_VISIBLE_DEVICES names them."""
    if _VISIBLE in os.environ:
        return [name.strip() for name in os.environ[_VISIBLE].split(",") if name.strip()]
    folder = Path("/proc/driver/nvidia/gpus")
    return [str(n) for n in range(len(list(folder.iterdir())))] if folder.is_dir() else []
