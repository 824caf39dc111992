"""Plug-ins by import path: a config's `_target_` names a callable that takes the config itself."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from pipeline.errors import ConfigError


def locate(target: str) -> Any:
    """Return the object at the dotted path `target`, e.g. `pipeline.harness.LongHarness`.

    Raises `ConfigError` if there is no such module or name.
    """
    module, _, name = target.rpartition(".")
    if not module:
        raise ConfigError(f"_target_ {target!r} is no import path: write package.module.name")
    try:
        return getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        raise ConfigError(f"_target_ {target!r}: there is no module {error.name!r} to import") from error
    except AttributeError as error:
        raise ConfigError(f"_target_ {target!r}: module {module!r} has no {name!r}") from error
