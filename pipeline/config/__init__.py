"""Configuration: Hydra's composition over typed schemas, to the values that a run or a trace is made of."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipeline.backbone.config import JudgeConfig
    from pipeline.config.trace import TraceConfig
    from pipeline.runs.spec import RunSpec

__all__ = ["compose_harness", "compose_judge", "resolve"]


def compose_harness(overrides: Sequence[str] = (), config_dirs: Sequence[Path] = ()) -> TraceConfig:
    """Compose a harness, its corpus and `task.answer_format` from overrides such as `harness=notes`.

    Raises `ConfigError` for what can't be composed, naming the nearest key or option.
    """
    from pipeline.config.trace import compose_trace

    return compose_trace(overrides, config_dirs)


def compose_judge(
    stored: Path | None, overrides: Sequence[str] = (), config_dirs: Sequence[Path] = ()
) -> JudgeConfig:
    """Compose the judge from overrides such as `judge=gpt` or `judge.repeats=1`.

    Without `judge=…` they change the judge of a run's `stored` configuration; without that there is none.
    Raises `ConfigError` for what can't be composed, and for an override of anything else.
    """
    from pipeline.config.judge import compose

    return compose(stored, overrides, config_dirs)


def resolve(overrides: Sequence[str] = (), config_dirs: Sequence[Path] = ()) -> RunSpec:
    """Compose a run from overrides such as `harness=[longharness,notes]`, `seeds=3`, `tasks.limit=10`.

    Lists of `harness`, `backbone` and `benchmark` are expanded to arms, each composed alone; a key of one of
    these groups reaches every arm that has it. Raises `ConfigError`, before anything has started.
    """
    from pipeline.config.arms import resolve as resolve_arms

    return resolve_arms(overrides, config_dirs)
