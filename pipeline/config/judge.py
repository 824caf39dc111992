"""The judge by itself: of a run's stored configuration, changed or replaced by overrides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from omegaconf import MISSING, DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from pipeline.backbone.config import JudgeConfig
from pipeline.config.arms import judge_config
from pipeline.config.compose import apply, is_selection, parse, register
from pipeline.config.compose import compose as composed
from pipeline.config.messages import wrong_value
from pipeline.config.schemas import run_schemas
from pipeline.errors import ConfigError, RunError


@dataclass
class ScoreConfig:
    """What `longharness score` composes: who judges."""

    judge: Any = MISSING


def compose(stored: Path | None, overrides: Sequence[str], config_dirs: Sequence[Path]) -> JudgeConfig:
    """Compose the judge; see `pipeline.config.compose_judge`."""
    parsed = parse(overrides)
    for override in parsed:
        if override.key_or_group.partition(".")[0] != "judge":
            raise ConfigError(f"{override.input_line}: scoring takes overrides of the judge alone (judge=…)")
    chosen = [override.input_line or "" for override in parsed if is_selection(override)]
    register(run_schemas() | {"score": ScoreConfig})
    try:
        config = composed("score", chosen, config_dirs).config if chosen else _stored(stored)
        for override in parsed:
            if not is_selection(override):
                apply(config, override)
        return judge_config(config)
    except OmegaConfBaseException as error:
        raise wrong_value(error, "judge") from error


def _stored(path: Path | None) -> DictConfig:
    try:
        text = "" if path is None or not path.exists() else path.read_text("utf-8")
        found = (yaml.safe_load(text) or {}).get("judge") or {}
    except (OSError, ValueError, AttributeError, yaml.YAMLError) as error:
        raise RunError(f"{path} can't be read: {error}; restore it, or say who judges: judge=…") from error
    return OmegaConf.create({"judge": OmegaConf.merge(OmegaConf.structured(JudgeConfig), found)})
