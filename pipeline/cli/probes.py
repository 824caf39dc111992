"""What `doctor` looks at beside the machine: the backbones, the benchmark and the judge of a run."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson

from pipeline.backbone.config import BackboneConfig, EndpointConfig, JudgeConfig
from pipeline.backbone.probing import Finding, Needs, probe
from pipeline.backbone.serving import Endpoint
from pipeline.backbone.serving.endpoint import running
from pipeline.backbone.serving.fit import History
from pipeline.corpus import documents
from pipeline.errors import BackboneUnavailable, LongHarnessError, ModelRequestFailed
from pipeline.plugins import locate
from pipeline.runs.freeze import plain
from pipeline.runs.spec import ArmSpec, RunSpec


def named(overrides: Sequence[str], *groups: str) -> bool:
    """Tell whether one of the overrides is of one of the config groups."""
    keys = [override.partition("=")[0].lstrip("+").partition(".")[0] for override in overrides]
    return any(key in groups for key in keys)


def backbones(arms: Sequence[ArmSpec]) -> Iterator[Finding]:
    """Start or reach every distinct backbone of the arms, and probe it."""
    seen = set()
    for arm in arms:
        key = orjson.dumps([plain(arm.serving), plain(arm.backbone)], option=orjson.OPT_SORT_KEYS)
        if key not in seen:
            seen.add(key)
            yield from _backbone(arm)


def _backbone(arm: ArmSpec) -> Iterator[Finding]:
    of, needs = arm.backbone_name, _needs(arm.harness)
    try:
        if isinstance(arm.serving, EndpointConfig):  # is there, or isn't: nothing to wait for
            serving = arm.serving
            endpoint = running(serving.urls, arm.backbone.model, serving.api_key_env, "serving")
            yield from probe(of, endpoint, arm.backbone, needs)
            return
        with tempfile.TemporaryDirectory() as logs:
            serve = locate(arm.serving._target_)
            with serve(arm.serving, arm.backbone, Path(logs)) as endpoint:
                yield from probe(of, endpoint, arm.backbone, needs)
    except (BackboneUnavailable, ModelRequestFailed) as error:
        yield Finding(of, "started", False, str(error), "read what its log says above, and mend that")
    except LongHarnessError as error:  # a key that isn't set, a program that isn't installed
        yield Finding(of, "configured", False, str(error), "the message says what to set")


def _needs(harness: Any) -> Needs:
    """What an arm's harness asks of its backbone; of a harness of another kind, the usual."""
    budget, action = getattr(harness, "budget", None), getattr(harness, "action", None)
    tools = getattr(action, "mode", None) == "tools"
    if budget is None:
        return Needs(tools=tools)
    history = History(
        budget.turns, budget.searches, budget.read_tokens, getattr(harness, "document_map_tokens", 0)
    )
    return Needs(history, tools)


def benchmarks(arms: Sequence[ArmSpec]) -> Iterator[Finding]:
    """Load every distinct benchmark of the arms, and count what it has."""
    seen = set()
    for arm in arms:
        key = orjson.dumps(plain(arm.benchmark), option=orjson.OPT_SORT_KEYS)
        if key not in seen:
            seen.add(key)
            yield from _benchmark(arm)


def _benchmark(arm: ArmSpec) -> Iterator[Finding]:
    of = arm.benchmark_name
    try:
        benchmark = locate(arm.benchmark._target_)(arm.benchmark)
    except (LongHarnessError, OSError) as error:
        yield Finding(of, "questions", False, str(error), "the message says which file is missing or wrong")
        return
    yield Finding(of, "questions", bool(benchmark.tasks), f"{len(benchmark.tasks):,} questions")
    used = {task.corpus for task in benchmark.tasks}
    files, size = 0, 0
    for corpus in sorted(used):
        try:
            found = documents.scan(benchmark.corpora[corpus].folders)
            files, size = files + len(found), size + sum(file.path.stat().st_size for file in found)
        except (LongHarnessError, OSError) as error:
            yield Finding(of, f"corpus {corpus}", False, str(error), "restore these documents")
    yield Finding(of, "documents", files > 0, f"{files:,} documents in {len(used):,} corpora, {size:,} bytes")
    if benchmark.revision:
        yield Finding(of, "revision", None, benchmark.revision, "these are not the published data")


def judge(spec: RunSpec) -> Iterator[Finding]:
    """Ask the judge once."""
    config: JudgeConfig = spec.judge
    of = f"judge {config.name}"
    if config.model is None:
        yield Finding(of, "model", None, "none is named", "judge=endpoint judge.model=… judge.urls=[…]")
        return
    backbone = BackboneConfig(
        config.name,
        config.model,
        max_tokens=config.max_tokens,
        client=config.client,
        sampling=config.sampling,
    )
    try:
        endpoint: Endpoint = running(config.urls, config.model, config.api_key_env, "judge")
        yield from probe(of, endpoint, backbone)
    except LongHarnessError as error:
        yield Finding(of, "configured", False, str(error), "the message says what to set")
