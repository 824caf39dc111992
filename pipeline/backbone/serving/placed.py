"""Replicas on the nodes of a Ray cluster: one actor each holds GPUs and keeps a server up beside them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import ray
from ray.exceptions import GetTimeoutError, RayActorError, RayError, RayTaskError
from ray.util import get_node_ip_address
from ray.util.placement_group import (
    PlacementGroup,
    placement_group,
    placement_group_table,
    remove_placement_group,
)
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from pipeline.backbone.serving.config import VLLMConfig
from pipeline.backbone.serving.replica import GRACE, Replica
from pipeline.errors import BackboneUnavailable, ConfigError, LongHarnessError

if TYPE_CHECKING:
    from pipeline.backbone.serving.vllm import ReplicaPlan

LOOPBACK = "127.0.0.1"
_ANSWER = 300.0  # seconds that an actor, on however busy a node, has to answer
_PLACED = 60.0  # seconds that Ray has to place all replicas, once it is known that they fit


class ReplicaActor:
    """Runs one replica on its node. It dies with the driver, and the server with it."""

    def __init__(self) -> None:
        self._running = ExitStack()
        self._replica: Replica | None = None

    def start(self, plan: ReplicaPlan, loopback: bool) -> str:
        """Start the server and return where it will answer. Raises `ConfigError` as `plan.start` does."""
        if not plan.log_dir.is_dir():
            raise ConfigError(
                f"{plan.log_dir} is not to be seen from this node: "
                "the run folder must be on a shared file system"
            )
        host = LOOPBACK if loopback else get_node_ip_address()  # type: ignore[no-untyped-call]
        self._replica = self._running.enter_context(plan.start(host, os.environ))
        return self._replica.url

    def check(self) -> None:
        """Raise `BackboneUnavailable` if the server has ended for good."""
        if self._replica:
            self._replica.check()

    def confirm(self) -> None:
        """The server has answered: from now on it is started anew when it ends."""
        if self._replica:
            self._replica.confirm()

    def stop(self) -> None:
        """End the server and all that it started."""
        self._running.close()


class Placed:
    """The driver's side of one replica."""

    def __init__(self, actor: Any, number: int, address: Any, deadline: float) -> None:
        """`address` is the promise of the server's; it is waited for until `deadline`."""
        self._actor = actor
        self._number = number
        self.url: str = self._got(address, max(_ANSWER, deadline - time.monotonic()))

    def check(self) -> None:
        """Raise `BackboneUnavailable` if it has ended for good, or its node is gone."""
        self._got(self._actor.check.remote(), _ANSWER)

    def confirm(self) -> None:
        """Say that it has answered."""
        self._got(self._actor.confirm.remote(), _ANSWER)

    def _got(self, promise: Any, timeout: float) -> Any:
        try:
            return ray.get(promise, timeout=timeout)
        except RayTaskError as error:
            raise (error.cause if isinstance(error.cause, LongHarnessError) else error) from None
        except RayActorError as error:
            raise BackboneUnavailable(f"replica {self._number}: its Ray actor is gone: {error}") from error
        except GetTimeoutError as error:
            raise BackboneUnavailable(f"replica {self._number}: its Ray actor does not answer") from error


@contextmanager
def placed(
    plans: Sequence[ReplicaPlan], serving: VLLMConfig, deadline: float
) -> Iterator[tuple[list[Placed], bool]]:
    """Place one actor for each plan, on any nodes; give them, and whether all are on loopback.

    Only where the cluster is one machine do the servers listen on loopback; else on their nodes' addresses,
    where `serving.api_key_env` protects them. Raises `ConfigError` where they don't fit into the cluster.
    """
    bundle = {"CPU": serving.cpus, "GPU": float(plans[0].gpus)}
    bundle = {name: amount for name, amount in bundle.items() if amount}
    nodes: list[dict[str, Any]] = [node for node in ray.nodes() if node["Alive"]]  # type: ignore[no-untyped-call]
    check_room(bundle, len(plans), nodes)
    loopback = len(nodes) == 1
    with ExitStack() as open_:
        group = open_.enter_context(_group([bundle] * len(plans), deadline))
        actors: list[Any] = []
        addresses: list[Any] = []
        for number, plan in enumerate(plans):
            actor: Any = ray.remote(ReplicaActor).options(
                num_cpus=bundle.get("CPU", 0),
                num_gpus=bundle.get("GPU", 0),
                max_restarts=0,
                scheduling_strategy=PlacementGroupSchedulingStrategy(
                    group, placement_group_bundle_index=number
                ),
            )
            actors.append(actor.remote())
            addresses.append(actors[-1].start.remote(plan, loopback))
        open_.callback(_end, actors)
        started = zip(actors, range(len(actors)), addresses, strict=True)
        yield [Placed(*one, deadline) for one in started], loopback


@contextmanager
def _group(bundles: list[dict[str, float]], deadline: float) -> Iterator[PlacementGroup]:
    group = placement_group(bundles, strategy="PACK", name=f"{_ours()}{uuid4().hex[:8]}")
    try:
        if not group.wait(timeout_seconds=max(_PLACED, deadline - time.monotonic())):
            raise BackboneUnavailable(
                f"Ray found no room for {len(bundles)} replicas of {bundles[0]} in time: other work holds it"
            )
        yield group
    finally:
        with suppress(RayError):
            remove_placement_group(group)


def _ours() -> str:
    """What the names of this run's placement groups begin with."""
    return f"longharness-{ray.get_runtime_context().get_job_id()}-"


def _held_gpus() -> float:
    """The GPUs that other servers of this run hold."""
    groups = (group for group in placement_group_table().values() if group["state"] == "CREATED")
    ours = [group for group in groups if group["name"].startswith(_ours())]
    return float(sum(bundle.get("GPU", 0.0) for group in ours for bundle in group["bundles"].values()))


def check_room(bundle: dict[str, float], count: int, nodes: Sequence[dict[str, Any]]) -> None:
    """Raise `ConfigError` if the cluster, were it idle, had no room for so many bundles and an episode."""
    room = sum(
        min(
            (int(node["Resources"].get(name, 0.0) / amount) for name, amount in bundle.items()), default=count
        )
        for node in nodes
    )
    cpus = sum(node["Resources"].get("CPU", 0.0) for node in nodes)
    if cpus - count * bundle.get("CPU", 0.0) < 1.0:
        raise ConfigError(
            f"serving.cpus: {count} replicas would hold {count * bundle['CPU']:g} of the cluster's {cpus:g} "
            "CPUs and leave none for episodes: give less"
        )
    gpus, held = sum(node["Resources"].get("GPU", 0.0) for node in nodes), _held_gpus()
    if bundle.get("GPU") and gpus - held < count * bundle["GPU"] <= gpus:
        raise ConfigError(
            f"serving.gpus: {count * bundle['GPU']:g} are needed, and the run's other backbones hold "
            f"{held:g} of the cluster's {gpus:g}: give each a share, or run one arm after the other"
        )
    if room < count:
        has = ", ".join(
            f"{node['Resources'].get('GPU', 0):g} GPUs and {node['Resources'].get('CPU', 0):g} CPUs"
            for node in nodes
        )
        raise ConfigError(
            f"serving: {count} replicas of {bundle} don't fit into the cluster, whose nodes have {has}: "
            "a replica lies on one node; give fewer serving.gpus or serving.cpus"
        )


def _end(actors: Sequence[Any]) -> None:
    with suppress(RayError, GetTimeoutError):
        ray.get([actor.stop.remote() for actor in actors], timeout=GRACE + 10.0)
    for actor in actors:
        ray.kill(actor)
