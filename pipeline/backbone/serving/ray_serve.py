"""`serving=ray_serve`: Ray Serve LLM on the run's Ray cluster, deployed by the run and taken down after it.

A process of its own, in the environment that has Ray Serve and vLLM, joins the cluster, deploys, and waits to
be asked to end; this run's end asks it, however that comes. Neither Serve nor vLLM is imported here.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from uuid import uuid4

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from pipeline.backbone.config import BackboneConfig
from pipeline.backbone.serving import Endpoint
from pipeline.backbone.serving.config import RayServeConfig
from pipeline.backbone.serving.placed import LOOPBACK, check_room
from pipeline.backbone.serving.process import supervised, unready
from pipeline.backbone.serving.ray_serve_plan import GRACE, Address, serve_config
from pipeline.backbone.serving.readiness import first_completion
from pipeline.backbone.serving.replica import Port, await_all
from pipeline.backbone.serving.vllm_command import VENV, settings, sized
from pipeline.errors import ConfigError

_APP = Path(__file__).with_name("ray_serve_app.py")
_URLS = re.compile(rb'^(\{"urls": .*\})\s*$', re.MULTILINE)
_LOOK = 0.2  # seconds between looks at the log
_END = GRACE + 50.0  # seconds that Ray Serve has to take all down
_HEAD = "node:__internal_head__"
_PASSED = {"PATH", "HOME", "USER", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH"}
_RAYS_OWN = ("RAY_AUTH_", "RAY_TLS_", "RAY_USE_TLS", "RAY_USAGE_STATS_", "RAY_TMPDIR")  # to join its cluster
_INSTALL = "python3 -m venv .venv-vllm && .venv-vllm/bin/pip install 'ray[llm]==RAY'"


@contextmanager
def serve(serving: RayServeConfig, backbone: BackboneConfig, log_dir: Path) -> Iterator[Endpoint]:
    """Deploy the replicas and give their endpoint, once each has answered a request.

    A Serve that the cluster runs already is used, and left with whatever else it serves. Raises `ConfigError`
    where there is no Ray cluster, no environment that serves, or not the GPUs that are asked for, and
    `BackboneUnavailable`, with the end of its log, if it doesn't come up.
    """
    if not ray.is_initialized():
        raise ConfigError("serving=ray_serve: this process has joined no Ray cluster (cluster.address)")
    python, size = interpreter(serving.python), sized(serving, backbone)
    nodes: list[dict[str, Any]] = [node for node in ray.nodes() if node["Alive"]]  # type: ignore[no-untyped-call]
    bundle = {"CPU": serving.cpus, "GPU": float(size.gpus_each)}
    check_room({name: amount for name, amount in bundle.items() if amount}, size.replicas, nodes)
    address, node_local = _address(serving.port, nodes), len(nodes) == 1
    config = serve_config(serving, backbone, size, address, f"longharness-{uuid4().hex[:8]}")
    plan, log = log_dir / "ray_serve.json", log_dir / "ray_serve.log"
    plan.write_text(json.dumps(config | {"address": ray.get_runtime_context().gcs_address}, indent=1))
    deadline = time.monotonic() + serving.startup_timeout
    log.unlink(missing_ok=True)  # an earlier deployment's URLs are not this one's
    variables = environment(os.environ, settings(serving))
    with supervised((python, "-I", str(_APP), str(plan.absolute())), variables, log, grace=_END) as running:
        urls = _awaited_urls(running, log, deadline)
        endpoint = Endpoint(
            urls,
            backbone.model,
            serving.api_key_env,
            node_local=node_local,
            metrics=tuple(f"{url.removesuffix('/v1')}/metrics" for url in urls),
        )

        def check() -> None:
            if not running():
                raise unready(False, log)

        await_all(
            check,
            lambda left: first_completion(endpoint, backbone, timeout=left, patience=1.0),
            deadline,
            serving.startup_timeout,
        )
        yield endpoint


def interpreter(configured: str | None) -> str:
    """Return the Python of the environment that serves. Raises `ConfigError`, with a remedy, without one."""
    if configured is None and find_spec("vllm") and find_spec("starlette"):
        return sys.executable
    environments = [venv for venv in (os.environ.get(VENV), ".venv-vllm") if venv]
    candidates = [configured] if configured else [f"{venv}/bin/python" for venv in environments]
    for candidate in candidates:
        if os.access(candidate, os.X_OK):
            return str(Path(candidate).absolute())
    where = (
        f"serving.python: there is no {configured}" if configured else "serving=ray_serve: no vLLM is here"
    )
    raise ConfigError(
        f"{where}. It needs an environment with Ray Serve LLM, on every node: "
        f"{_INSTALL.replace('RAY', ray.__version__)} (or name that environment in {VENV}, or its "
        "interpreter in serving.python)"
    )


def environment(inherited: Mapping[str, str], server: Mapping[str, str]) -> dict[str, str]:
    """Return the deploying process' variables: what it needs to join the cluster, no other keys."""
    passed = {k: v for k, v in inherited.items() if k in _PASSED or k.startswith(_RAYS_OWN)}
    return passed | dict(server)


def _address(port: int | None, nodes: list[dict[str, Any]]) -> Address:
    """Where the proxy shall listen: on loopback if the cluster is one machine, else on the head's address."""
    if len(nodes) == 1:
        return Address(LOOPBACK, _free_port(LOOPBACK, port))
    head = next(node for node in nodes if _HEAD in node["Resources"])
    there = NodeAffinitySchedulingStrategy(head["NodeID"], soft=False)
    asked = ray.remote(_free_port).options(num_cpus=0, scheduling_strategy=there)
    host: str = head["NodeManagerAddress"]
    return Address(host, ray.get(asked.remote(host, port)))


def _free_port(host: str, wanted: int | None) -> int:
    port = Port(host, wanted)
    port.close()
    return port.number


def _awaited_urls(running: Callable[[], bool], log: Path, deadline: float) -> tuple[str, ...]:
    while True:
        alive = running()
        if found := _URLS.search(log.read_bytes()):
            return tuple(json.loads(found[1])["urls"])
        if not alive or time.monotonic() > deadline:
            raise unready(alive, log)
        time.sleep(_LOOK)
