"""The configuration of a run: what is run how often, on which cluster, and where its folder lies."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class TasksConfig:
    """Which tasks are run: the first `limit`, those named in `ids`, those whose fields match `where`.

    `retry_status` has finished episodes that ended so run once more, each as a new attempt that takes the
    place of the old one: `[model_request_failed]` after the window was too small.
    """

    limit: int | None = None
    ids: list[str] = field(default_factory=list)
    where: dict[str, str] = field(default_factory=dict)
    retry_status: list[str] = field(default_factory=list)


@dataclass
class ClusterConfig:
    """The Ray cluster: `address=local` starts one here; `auto` or `ray://…` joins a running one."""

    address: str = "local"
    num_cpus: int | None = None
    object_store_bytes: int | None = None


@dataclass
class ActorsConfig:
    """Episode actors. `count=null` is one for each CPU of the cluster; each holds `episodes` at a time."""

    count: int | None = None
    episodes: int = 1
    cpus: float = 1.0
    attempts: int = 3
