"""The schema of a run's configuration. Every package owns the dataclass of its part; here is the whole."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from omegaconf import MISSING

from pipeline.backbone.config import (
    BackboneConfig,
    EmbeddedConfig,
    EndpointConfig,
    JudgeConfig,
    ProcessConfig,
)
from pipeline.backbone.serving.config import AutoConfig, RayServeConfig, ScriptedConfig, VLLMConfig
from pipeline.benchmarks.aa_lcr.config import AALCRConfig
from pipeline.benchmarks.custom import CustomConfig
from pipeline.benchmarks.ledgerqa.config import LedgerQAConfig
from pipeline.benchmarks.longbench_v2.config import LongBenchV2Config
from pipeline.benchmarks.officeqa import OfficeQAConfig
from pipeline.corpus.config import CorpusConfig
from pipeline.harness.config import HarnessConfig
from pipeline.runs.config import ActorsConfig, ClusterConfig, TasksConfig


@dataclass
class ArmConfig:
    """One arm in full: the options of its groups (`null`: the run's own) and overrides for it alone."""

    name: str | None = None
    harness: str | None = None
    backbone: str | None = None
    benchmark: str | None = None
    overrides: list[str] = field(default_factory=list)


@dataclass
class RunConfig:
    """What `longharness evaluate` composes, once for each arm.

    `seeds=3` means 0, 1, 2; `seeds=[3]` is seed 3. `run=null` names the run by its contents, so that the
    same command resumes it. `arms`, if given, lists the arms in full.
    """

    harness: Any = MISSING
    backbone: Any = MISSING
    serving: Any = MISSING
    benchmark: Any = MISSING
    corpus: CorpusConfig = field(default_factory=CorpusConfig)
    tasks: TasksConfig = field(default_factory=TasksConfig)
    cluster: ClusterConfig = field(default_factory=ClusterConfig)
    actors: ActorsConfig = field(default_factory=ActorsConfig)
    judge: Any = MISSING
    seeds: Any = 1
    arms: list[ArmConfig] = field(default_factory=list)
    run: str | None = None
    root: str = "outputs"


def run_schemas() -> dict[str, Any]:
    """The schemas that `/schema@_here_: NAME` may name in a configuration of a run.

    A backbone's model, an endpoint's URLs and a benchmark's documents have no default here: an option names
    them, or the user does.
    """
    return {
        "run": RunConfig,
        "longharness": HarnessConfig,
        "backbone": BackboneConfig(model=MISSING),
        "endpoint": EndpointConfig(urls=MISSING),
        "process": ProcessConfig,
        "embedded": EmbeddedConfig,
        "vllm": VLLMConfig,
        "ray_serve": RayServeConfig,
        "auto": AutoConfig,
        "scripted": ScriptedConfig(script=MISSING),
        "ledgerqa": LedgerQAConfig,
        "aa_lcr": AALCRConfig,
        "longbench_v2": LongBenchV2Config,
        "custom": CustomConfig,
        "officeqa": OfficeQAConfig(documents=MISSING),
        "cluster": ClusterConfig,
        "no_judge": JudgeConfig,
        "judge": JudgeConfig(model=MISSING, urls=MISSING),
    }
