"""Ray Serve's side of `serving=ray_serve`: runs where Ray Serve LLM and vLLM are, and knows no more.

    python ray_serve_app.py PLAN.json     (deploys what the file says, until it is asked to end)

A plan is a Serve configuration, as `serve deploy` reads them, with the cluster's address beside it. Each of
its applications is one replica of the model: whoever asks chooses the replica by its path, so that an episode
stays where its prompt is cached.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CONTROLLER = ("SERVE_CONTROLLER_ACTOR", "serve")  # Ray Serve's own names: an actor and its namespace
_UNSPECIFIED = ("0.0.0.0", "::")
_ENDING = (signal.SIGTERM, signal.SIGINT)


def application(args: Mapping[str, Any]) -> Any:
    """Build a Serve application of one LLM deployment, by the fields of an `LLMConfig`.

    vLLM's own routes answer: chat completions, responses and messages, metrics, and errors as vLLM says them.
    The ingress of `build_openai_app` has the first alone, wraps errors, and logs each prompt.
    """
    from ray import serve
    from ray.serve.llm import LLMConfig, LLMServer, build_llm_deployment

    server = serve.ingress()(LLMServer)
    return build_llm_deployment(LLMConfig.model_validate(dict(args)), deployment_cls=server)


def main(plan_file: Path) -> None:
    """Deploy the plan, print `{"urls": [...]}` once Serve runs it, and take it down when asked to end."""
    plan = json.loads(plan_file.read_text(encoding="utf-8"))
    for app in plan["applications"]:
        os.environ.update(app["runtime_env"]["env_vars"])  # Ray Serve LLM reads some as it is imported
    import ray

    # Workers run in this environment, whichever one the cluster was started from.
    ray.init(address=plan["address"], runtime_env={"py_executable": sys.executable}, log_to_driver=True)
    for number in _ENDING:  # after Ray's start, which sets handlers of its own
        signal.signal(number, _leave)
    with _serving(plan) as urls:
        print(json.dumps({"urls": urls}), flush=True)
        while True:
            signal.pause()


def _leave(number: int, frame: object) -> None:
    raise SystemExit(0)


@contextmanager
def _serving(plan: Mapping[str, Any]) -> Iterator[list[str]]:
    from ray import serve
    from ray.serve.api import RunTarget

    names = [app["name"] for app in plan["applications"]]
    ours = not _runs()
    try:
        if ours:
            serve.start(
                proxy_location=plan["proxy_location"],
                http_options=plan["http_options"],
                logging_config=plan["logging_config"],
            )
        targets = [
            RunTarget(application(app["args"]), app["name"], app["route_prefix"], plan["logging_config"])
            for app in plan["applications"]
        ]
        serve.run_many(targets, wait_for_applications_running=True)
        root = _root(ours, plan["http_options"])
        yield [f"{root}{app['route_prefix']}/v1" for app in plan["applications"]]
    finally:
        for number in _ENDING:
            signal.signal(number, signal.SIG_IGN)
        _end(names, ours)


def _runs() -> bool:
    """Whether the cluster has a Serve already."""
    import ray

    try:
        ray.get_actor(*CONTROLLER)
    except ValueError:
        return False
    return True


def _root(ours: bool, http_options: Mapping[str, Any]) -> str:
    """Where Serve's proxy on the head node answers; a Serve that ran before keeps its own address."""
    host, port = http_options["host"], http_options["port"]
    if not ours:
        from ray.serve.context import _get_global_client

        client = _get_global_client()
        assert client is not None  # it raises
        host, port = client.http_config.host, client.http_config.port
        if host in _UNSPECIFIED:
            host = http_options["host"]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _end(names: Sequence[str], ours: bool) -> None:
    """Take down these applications, and Serve itself if it was started here and nobody else uses it."""
    from ray import serve

    if not _runs():
        return
    others = serve.status().applications.keys() - set(names)
    if ours and not others:
        serve.shutdown()  # type: ignore[no-untyped-call]
        return
    for name in names:
        serve.delete(name)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
