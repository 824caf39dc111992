"""Hydra's composition, wrapped: which folders are searched, how overrides are read, applied and refused."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from hydra import compose as hydra_compose
from hydra import initialize_config_dir
from hydra.core.config_store import ConfigStore
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException
from omegaconf import DictConfig, ListConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException

from pipeline.config.messages import failed_composition, unknown_key, unreadable, wrong_value
from pipeline.errors import ConfigError

LISTED = ("harness", "backbone", "benchmark")
GROUPS = (*LISTED, "serving", "cluster", "judge", "experiment")


@dataclass(frozen=True)
class Composed:
    """A composed configuration, and by which option of each group."""

    config: DictConfig
    choices: Mapping[str, str]


def config_folder() -> Path:
    """The folder of our own configurations: in the source tree, or in the installed package."""
    package = Path(__file__).resolve().parent.parent
    for folder in (package / "conf", package.parent / "conf"):
        if (folder / "config.yaml").is_file():
            return folder
    raise ConfigError(f"no conf/ folder beside or in {package}: the installation is broken, install it again")


def parse(overrides: Sequence[str]) -> list[Override]:
    """Read overrides by Hydra's grammar. Raises `ConfigError` for one that isn't `key=value`."""
    parser = OverridesParser.create()
    parsed = []
    for line in overrides:
        try:
            parsed.append(parser.parse_override(line))
        except HydraException as error:
            raise unreadable(line, error) from error
    for override in parsed:
        refuse(override)
    return parsed


def refuse(override: Override) -> None:
    """Raise `ConfigError` for the forms of Hydra's grammar that mean nothing here."""
    line, key = override.input_line, override.key_or_group
    if override.is_sweep_override():
        raise ConfigError(f"{line}: write a list: {key}=[…,…]")
    if override.is_delete():
        raise ConfigError(f"{line}: a key can't be deleted; set it to null or to its default")
    if key in GROUPS and not isinstance(override.value(), str | list if key in LISTED else str):
        raise ConfigError(f"{line}: {key} takes the name of an option; single values are {key}.KEY=…")


def register(schemas: Mapping[str, Any]) -> None:
    """Put schemas in Hydra's store, where `/schema@_here_: NAME` in a defaults list finds them."""
    store = ConfigStore.instance()
    for name, schema in schemas.items():
        store.store(group="schema", name=name, node=schema)


def option_names(override: Override) -> list[str]:
    """Return the options that an override lists, one or many. Raises `ConfigError` if it lists none."""
    value = override.value()
    options = value if isinstance(value, list) else [value]
    if not options or not all(isinstance(option, str) and option for option in options):
        raise ConfigError(f"{override.input_line}: list the names of options: {override.key_or_group}=[a,b]")
    return list(map(str, options))


def is_selection(override: Override) -> bool:
    """Tell whether an override chooses options (`harness=notes`) rather than a value."""
    return override.key_or_group in GROUPS or override.key_or_group.startswith("hydra.")


def compose(name: str, selections: Sequence[str], config_dirs: Sequence[Path] = ()) -> Composed:
    """Compose the primary config `name` with the options in `selections`; `config_dirs` are searched too."""
    searched = search_path(config_dirs)
    try:
        with initialize_config_dir(str(config_folder()), version_base="1.3"):
            config = hydra_compose(name, [*selections, *searched], return_hydra_config=True)
    except (HydraException, OmegaConfBaseException, yaml.YAMLError) as error:
        raise failed_composition(error, selections) from error
    choices = {k: v for k, v in config.hydra.runtime.choices.items() if k in GROUPS and v}
    OmegaConf.set_readonly(config, False)
    with open_dict(config):
        del config["hydra"]
    return Composed(config, choices)


def search_path(config_dirs: Sequence[Path]) -> list[str]:
    """Return the override that has Hydra search `config_dirs` as well."""
    for folder in config_dirs:
        if not folder.is_dir():
            raise ConfigError(f"--config-dir {folder}: there is no such folder")
    names = [str(folder.resolve()).replace("'", r"\'") for folder in config_dirs]
    quoted = [f"'file://{name}'" for name in names]
    return [f"hydra.searchpath=[{','.join(quoted)}]"] if quoted else []


def has_key(config: DictConfig, key: str) -> bool:
    """Tell whether the dotted `key` may be set: it is there, or lies in a free mapping."""
    node: Any = config
    for part in key.split("."):
        if isinstance(node, DictConfig) and not node._is_none():
            if part not in map(str, node):  # a value still missing is a key too
                return OmegaConf.get_type(node) is dict and node is not config
            node = node._get_node(part)
        else:
            return isinstance(node, DictConfig | ListConfig)
    return True


def apply(config: DictConfig, override: Override) -> None:
    """Set a value in place. Raises `ConfigError` for an unknown key or a value of the wrong type."""
    key, line = override.key_or_group, override.input_line or ""
    if not has_key(config, key):
        raise unknown_key(key, config, line)
    try:
        OmegaConf.update(config, key, override.value(), merge=True, force_add=True)
    except OmegaConfBaseException as error:
        raise wrong_value(error, line) from error


def refuse_negative(value: Any, key: str) -> None:
    """Raise `ConfigError` for a number below zero, or none at all: none of ours has a meaning there."""
    if isinstance(value, dict):
        for name, inner in value.items():
            refuse_negative(inner, f"{key}.{name}")
    elif isinstance(value, int | float) and value < 0:
        raise ConfigError(f"{key}={value}: it can't be negative")
    elif isinstance(value, float) and not math.isfinite(value):
        raise ConfigError(f"{key}={value}: it must be a finite number")
