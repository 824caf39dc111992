"""The Ray cluster of a run: one of its own on this machine, or one that is there."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from typing import Any

import ray
from ray.util.placement_group import placement_group_table
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from pipeline.backbone.serving.auto import INSIDE_A_JOB
from pipeline.errors import ConfigError, RunError
from pipeline.runs.config import ClusterConfig


@dataclass(frozen=True)
class Cluster:
    """A cluster that this process is connected to, and the node that it runs on."""

    node: str

    def cpus(self, node_local: bool) -> float:
        """Logical CPUs of the cluster, or of the driver's node alone, that no placement group holds.

        Servers hold theirs so: actors are not to wait for them.
        """
        nodes: list[dict[str, Any]] = ray.nodes()  # type: ignore[no-untyped-call]
        left = {
            node["NodeID"]: float(node["Resources"].get("CPU", 0.0))
            for node in nodes
            if node["Alive"] and (not node_local or node["NodeID"] == self.node)
        }
        for group in placement_group_table().values():
            if group["state"] == "CREATED":
                for index, node in group["bundles_to_node_id"].items():
                    if node in left:
                        left[node] -= group["bundles"][index].get("CPU", 0.0)
        return sum(max(0.0, cpus) for cpus in left.values())

    def here(self) -> Any:
        """Return the scheduling strategy that keeps an actor on the driver's node."""
        return NodeAffinitySchedulingStrategy(self.node, soft=False)


@contextmanager
def connected(config: ClusterConfig) -> Iterator[Cluster]:
    """Connect to the run's cluster; on exit leave it, or end it if it was started here.

    Inside a Ray job the job's cluster is joined, whatever `config.address` says. A connection that this
    process has already is used and left alone. Raises `ConfigError` if there is no cluster to join.
    """
    if ray.is_initialized():
        yield Cluster(ray.get_runtime_context().get_node_id())
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    with redirect_stdout(sys.stderr):  # Ray prints there what befalls workers; ours is for results
        _join_or_start(config)
        try:
            yield Cluster(ray.get_runtime_context().get_node_id())
        finally:
            ray.shutdown()


def _join_or_start(config: ClusterConfig) -> None:
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if config.address != "local" or INSIDE_A_JOB in os.environ:
        address = "auto" if config.address == "local" else config.address
        try:
            ray.init(address=address, **quiet)
        except (ConnectionError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
            raise ConfigError(f"cluster.address={address}: no Ray cluster to join: {error}") from error
        return
    _authenticate()
    _start(
        address="local",
        num_cpus=config.num_cpus,
        object_store_memory=config.object_store_bytes,
        include_dashboard=False,
        **quiet,
    )


def _start(**options: Any) -> None:
    """Start a cluster. A crowded machine may need longer than the 30 s that Ray waits: try again, twice."""
    for left in (2, 1, 0):
        try:
            ray.init(**options)
            return
        except Exception as error:  # Ray raises a bare Exception for this
            if "timed out during startup" not in str(error):
                raise
            if not left:
                raise RunError(f"Ray did not start on this machine: {error}") from error
            ray.shutdown()


def _authenticate() -> None:
    """Give the cluster a token of its own. Ray listens on all interfaces: the token is what protects it.

    Ray enables token authentication for a new cluster by itself where the mode is unset; without a token it
    would write one into the home folder, which makes later `ray` commands fail.
    """
    if not {"RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"} & os.environ.keys():
        os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)
