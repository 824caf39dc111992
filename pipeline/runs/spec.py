"""What a run is made of, once composed: its arms, tasks' sources and seeds, as plain typed values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipeline.backbone.config import BackboneConfig, JudgeConfig
from pipeline.corpus.config import CorpusConfig
from pipeline.runs.config import ActorsConfig, ClusterConfig, TasksConfig


@dataclass(frozen=True)
class ArmSpec:
    """One arm: a harness with a backbone on a benchmark.

    `harness`, `serving` and `benchmark` are config objects with a `_target_`; the `*_name` fields are the
    options they were chosen by, as tables show them.
    """

    name: str
    harness_name: str
    backbone_name: str
    benchmark_name: str
    harness: Any
    backbone: BackboneConfig
    serving: Any
    benchmark: Any
    corpus: CorpusConfig = field(default_factory=CorpusConfig)
    tasks: TasksConfig = field(default_factory=TasksConfig)


@dataclass(frozen=True)
class RunSpec:
    """A run: arms × their tasks × seeds, in the folder `root/name`. `config` is stored with it, verbatim.

    `judge` is asked once the episodes are there: no episode depends on it.
    """

    name: str
    root: Path
    arms: tuple[ArmSpec, ...]
    seeds: tuple[int, ...]
    cluster: ClusterConfig
    actors: ActorsConfig
    config: Mapping[str, Any] = field(default_factory=dict)
    judge: JudgeConfig = field(default_factory=JudgeConfig)
