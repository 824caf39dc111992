"""Configuration: Hydra's composition over typed schemas, to the values that a run or a trace is made of."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipeline.config.schemas import TraceConfig

__all__ = ["compose_harness"]


def compose_harness(overrides: Sequence[str] = (), config_dirs: Sequence[Path] = ()) -> TraceConfig:
    """Compose a harness, its corpus and `task.answer_format` from overrides such as `harness=notes`.

    Raises `ConfigError` for what can't be composed, naming the nearest key or option.
    """
    from pipeline.config.trace import compose_trace

    return compose_trace(overrides, config_dirs)
