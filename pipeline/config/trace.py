"""The configuration of a trace: small, since a trace is started once for every case of a suite."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from omegaconf import OmegaConf

from pipeline.config.compose import apply, compose, is_selection, parse
from pipeline.config.schemas import TRACE_SCHEMAS, TraceConfig, register


def compose_trace(overrides: Sequence[str], config_dirs: Sequence[Path]) -> TraceConfig:
    """Compose `conf/trace.yaml`; see `pipeline.config.compose_harness`."""
    register(TRACE_SCHEMAS.items())
    parsed = parse(overrides)
    selections = [o.input_line or "" for o in parsed if is_selection(o)]
    config = compose("trace", selections, config_dirs).config
    for override in parsed:
        if not is_selection(override):
            apply(config, override)
    trace = OmegaConf.to_object(config)
    assert isinstance(trace, TraceConfig)
    return trace
