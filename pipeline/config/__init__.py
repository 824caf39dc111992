"""Configuration: Hydra's composition over typed schemas, to the values that a run or a trace is made of."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipeline.config.trace import TraceConfig
    from pipeline.runs.spec import RunSpec

__all__ = ["compose_harness", "resolve"]


def compose_harness(overrides: Sequence[str] = (), config_dirs: Sequence[Path] = ()) -> TraceConfig:
    """Compose a harness, its corpus and `task.answer_format` from overrides such as `harness=notes`.

    Raises `ConfigError` for what can't be composed, naming the nearest key or option.
    """
    from pipeline.config.trace import compose_trace

    return compose_trace(overrides, config_dirs)


def resolve(overrides: Sequence[str] = (), config_dirs: Sequence[Path] = ()) -> RunSpec:
    """Compose a run from overrides such as `harness=[longharness,notes]`, `seeds=3`, `tasks.limit=10`.

    Lists of `harness`, `backbone` and `benchmark` are expanded to arms, each composed alone; a key of one of
    these groups reaches every arm that has it. Raises `ConfigError`, before anything has started.
    """
    from pipeline.config.arms import resolve as resolve_arms

    return resolve_arms(overrides, config_dirs)
