"""The configuration of a trace: small, since a trace is started once for every case of a suite."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from hydra.core.override_parser.types import Override
from omegaconf import MISSING, OmegaConf

from pipeline.config.compose import apply, compose, parse, refuse_negative, register
from pipeline.corpus.config import CorpusConfig
from pipeline.errors import ConfigError
from pipeline.harness.config import HarnessConfig


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


def compose_trace(overrides: Sequence[str], config_dirs: Sequence[Path]) -> TraceConfig:
    """Compose `conf/trace.yaml`; see `pipeline.config.compose_harness`."""
    register({"trace": TraceConfig, "longharness": HarnessConfig})
    selections: list[Override] = []
    values: list[Override] = []
    for override in parse(overrides):
        chosen = override.key_or_group == "harness"
        if chosen and not isinstance(override.value(), str):
            raise ConfigError(f"{override.input_line}: a trace runs one harness")
        (selections if chosen else values).append(override)
    config = compose("trace", [o.input_line or "" for o in selections], config_dirs).config
    for override in values:
        apply(config, override)
    for key in ("harness", "corpus"):
        refuse_negative(OmegaConf.to_container(config[key], resolve=True), key)
    trace = OmegaConf.to_object(config)
    assert isinstance(trace, TraceConfig)
    return trace
