"""Config objects as JSON and back, so that a run folder alone says what its arms were."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from pipeline.plugins import locate


def plain(value: Any) -> Any:
    """Return a config object as what JSON holds: dataclasses as objects, enums by value, paths as strings."""
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value


def frozen(config: Any) -> dict[str, Any]:
    """Return a config dataclass as JSON that names its type."""
    kind = type(config)
    return {"_type_": f"{kind.__module__}.{kind.__qualname__}", **plain(config)}


def thawed(record: Mapping[str, Any]) -> Any:
    """Return the config object that `frozen` gave `record` for.

    Raises `ConfigError` if its type is gone, and OmegaConf's errors if its fields are others now.
    """
    data = {key: value for key, value in record.items() if key != "_type_"}
    return OmegaConf.to_object(OmegaConf.merge(OmegaConf.structured(locate(record["_type_"])), data))
