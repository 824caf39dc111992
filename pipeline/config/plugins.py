"""Plug-ins of others: the schema of their configuration is the dataclass that their callable asks for."""

from __future__ import annotations

import inspect
from dataclasses import is_dataclass
from typing import get_type_hints

from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException

from pipeline.config.messages import wrong_value
from pipeline.errors import ConfigError
from pipeline.plugins import locate


def typed(config: DictConfig, group: str) -> None:
    """Give `config.group` its schema, if it is a plain mapping with a `_target_`.

    Raises `ConfigError` where the target can't be imported, asks for no dataclass, or lacks a field.
    """
    node = config[group]
    if OmegaConf.get_type(node) is not dict:
        return
    if "_target_" not in node:
        raise ConfigError(f"{group}: a configuration needs _target_, the import path of its plug-in")
    schema = schema_of(node._target_, group)
    try:
        with open_dict(config):
            config[group] = OmegaConf.merge(OmegaConf.structured(schema), node)
    except OmegaConfBaseException as error:
        raise wrong_value(error, f"{group} ({node._target_})") from error


def schema_of(target: str, group: str) -> type:
    """Return the dataclass that annotates the first parameter of the callable at `target`."""
    plugin = locate(target)
    function = plugin.__init__ if inspect.isclass(plugin) else plugin
    parameters = [p for p in inspect.signature(function).parameters if p != "self"]
    schema = get_type_hints(function).get(parameters[0]) if parameters else None
    if not (inspect.isclass(schema) and is_dataclass(schema) and "_target_" in schema.__dataclass_fields__):
        raise ConfigError(
            f"{group}: {target} must annotate its first parameter with a dataclass that has a field _target_"
        )
    return schema
