"""The typed schemas that configurations are composed over, and the store that Hydra finds them in.

Every package owns the dataclass of its part; here are only those of the whole.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from hydra.core.config_store import ConfigStore
from omegaconf import MISSING

from pipeline.backbone.config import BackboneConfig
from pipeline.corpus.config import CorpusConfig
from pipeline.harness.config import HarnessConfig
from pipeline.plugins import locate
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
    backbone: BackboneConfig = MISSING
    serving: Any = MISSING
    benchmark: Any = MISSING
    corpus: CorpusConfig = field(default_factory=CorpusConfig)
    tasks: TasksConfig = field(default_factory=TasksConfig)
    cluster: ClusterConfig = field(default_factory=ClusterConfig)
    actors: ActorsConfig = field(default_factory=ActorsConfig)
    seeds: Any = 1
    arms: list[ArmConfig] = field(default_factory=list)
    run: str | None = None
    root: str = "outputs"


class AnswerForm(StrEnum):
    """The forms of an answer that a trace can ask for (contract 3.21)."""

    line = "line"
    letter = "letter"
    text = "text"


@dataclass
class TaskConfig:
    """The task of a trace: it has no question, only the form of its answer."""

    answer_format: AnswerForm = AnswerForm.line


@dataclass
class TraceConfig:
    """What `longharness trace` composes: a harness over a folder of documents, without a model."""

    harness: HarnessConfig = MISSING
    corpus: CorpusConfig = field(default_factory=CorpusConfig)
    task: TaskConfig = field(default_factory=TaskConfig)


TRACE_SCHEMAS = {
    "trace": "pipeline.config.schemas.TraceConfig",
    "longharness": "pipeline.harness.config.HarnessConfig",
}
RUN_SCHEMAS = {
    "run": "pipeline.config.schemas.RunConfig",
    "longharness": "pipeline.harness.config.HarnessConfig",
    "backbone": "pipeline.backbone.config.BackboneConfig",
    "cluster": "pipeline.runs.config.ClusterConfig",
}


def register(schemas: Iterable[tuple[str, str]]) -> None:
    """Put `schemas` (name, import path) in Hydra's store, where `/schema@_here_: NAME` finds them."""
    store = ConfigStore.instance()
    for name, path in schemas:
        store.store(group="schema", name=name, node=locate(path))
