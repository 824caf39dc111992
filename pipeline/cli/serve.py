"""Start a backbone, say where it answers, and keep it up until Ctrl-C or SIGTERM ends it.

examples:
  longharness serve backbone=qwen serving=vllm_8gpu
  longharness serve backbone=qwen serving=ray_serve cluster=existing serving.gpus=8 serving.port=8000
  longharness serve backbone=scripted serving.script=FILE

Once it has answered a request, one line of JSON with its URLs goes to stdout: another run takes them by
`backbone=NAME serving=endpoint serving.urls=[…]`. Its logs lie below the folder root (outputs/serving). Exit
status 1: it did not come up, or stopped answering for good.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING

from pipeline.cli.arguments import add_overrides, print_config, print_json
from pipeline.errors import BackboneUnavailable, ConfigError

if TYPE_CHECKING:
    from pipeline.backbone.serving import Endpoint
    from pipeline.runs.spec import ArmSpec, RunSpec

LOOK = 5.0  # seconds between looks at whether the servers still listen


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the verb's arguments."""
    add_overrides(parser)


def run(arguments: Namespace) -> int:
    """Serve every backbone that the overrides name, until asked to end."""
    from pipeline.config import resolve

    spec = resolve(arguments.overrides, arguments.config_dirs)
    if arguments.cfg:
        print_config(spec.config)
        return 0
    arms = list({arm.backbone_name: arm for arm in spec.arms}.values())
    for arm in arms:
        if arm.serving._target_ == "pipeline.backbone.serving.endpoint.serve":
            raise ConfigError(
                f"backbone={arm.backbone_name} is an endpoint that others serve; choose how to serve it "
                "here, e.g. serving=vllm_1gpu or serving=ray_serve"
            )
    with ExitStack() as open_:
        if _joins_ray(spec, arms):
            from pipeline.runs.cluster import connected

            open_.enter_context(connected(spec.cluster))
        open_.enter_context(_terminable())  # after Ray's start, which sets a handler of its own
        endpoints = [_started(arm, spec, open_) for arm in arms]
        try:
            _watch(endpoints, max(getattr(arm.serving, "startup_timeout", 600.0) for arm in arms))
        except KeyboardInterrupt:
            print("longharness serve: ending", file=sys.stderr)
    return 0


def _started(arm: ArmSpec, spec: RunSpec, open_: ExitStack) -> Endpoint:
    """Start one backbone, to be ended with `open_`, and print its line."""
    from pipeline.plugins import locate

    logs = (spec.root / "serving" / arm.backbone_name).absolute()
    logs.mkdir(parents=True, exist_ok=True)
    print(f"longharness serve: starting {arm.backbone_name}; logs in {logs}", file=sys.stderr)
    endpoint: Endpoint = open_.enter_context(locate(arm.serving._target_)(arm.serving, arm.backbone, logs))
    print_json({"backbone": arm.backbone_name, **asdict(endpoint)})
    sys.stdout.flush()
    return endpoint


def _joins_ray(spec: RunSpec, arms: Sequence[ArmSpec]) -> bool:
    """Whether a Ray cluster is named, or needed by how a backbone is served."""
    from pipeline.backbone.serving.auto import INSIDE_A_JOB
    from pipeline.backbone.serving.config import Placement, RayServeConfig

    needed = any(
        isinstance(arm.serving, RayServeConfig) or getattr(arm.serving, "placement", None) is Placement.ray
        for arm in arms
    )
    return needed or spec.cluster.address != "local" or INSIDE_A_JOB in os.environ


def _watch(endpoints: Sequence[Endpoint], patience: float) -> None:
    """Return never. Raises `BackboneUnavailable` once a server has not listened for `patience` seconds."""
    urls = [url for endpoint in endpoints for url in endpoint.urls]
    seen = dict.fromkeys(urls, time.monotonic())
    while True:
        for url in urls:
            if _listens(url):
                seen[url] = time.monotonic()
            elif time.monotonic() - seen[url] > patience:
                raise BackboneUnavailable(f"{url} has not been there for {patience:.0f} s: read its log")
        time.sleep(LOOK)


def _listens(url: str) -> bool:
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    try:
        socket.create_connection((parts.hostname or "", parts.port or 80), timeout=LOOK).close()
    except OSError:
        return False
    return True


@contextmanager
def _terminable() -> Iterator[None]:
    """Treat SIGTERM as Ctrl-C."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
