"""Errors of a configuration, said so that they can be mended: what, where, and the nearest right one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches

import yaml
from hydra.errors import HydraException, MissingConfigException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, OmegaConfBaseException

from pipeline.errors import ConfigError

UNKNOWN = (ConfigAttributeError, ConfigKeyError)


def nearest(word: str, options: Iterable[str]) -> str:
    """Return `; nearest: OPTION` for the option that `word` most likely meant, or nothing."""
    close = get_close_matches(word, list(options), n=1, cutoff=0.5)
    return f"; nearest: {close[0]}" if close else ""


def keys(config: DictConfig, prefix: str = "") -> Iterator[str]:
    """Yield every dotted key of `config`, those of inner nodes first."""
    for key in map(str, config):
        path = f"{prefix}{key}"
        yield path
        node = None if OmegaConf.is_missing(config, key) else config._get_node(key)
        if isinstance(node, DictConfig) and not node._is_none() and not node._is_interpolation():
            yield from keys(node, f"{path}.")


def unknown_key(key: str, config: DictConfig, where: str) -> ConfigError:
    """Name the key most like `key`: a sibling, one of the same name elsewhere, or a similar one."""
    known = list(keys(config))
    parent, _, last = key.rpartition(".")
    siblings = [k.rpartition(".")[2] for k in known if k.rpartition(".")[0] == parent]
    dot = f"{parent}." if parent else ""
    close = [f"{dot}{name}" for name in get_close_matches(last, siblings, n=1, cutoff=0.7)]
    # The judge's keys are namesakes of a backbone's and its serving's, and never meant by these.
    close = close or [k for k in known if k.rpartition(".")[2] == last and not k.startswith("judge.")][:1]
    if close:
        hint = f"; nearest: {close[0]}"
    elif siblings and parent:
        hint = f"; {parent} has: {', '.join(siblings)}"
    else:
        hint = nearest(key, known) or f"; keys: {', '.join(map(str, config))}"
    return ConfigError(f"{where}: there is no key {key!r}{hint}")


def unknown_option(group: str, option: str, options: Sequence[str], where: str) -> ConfigError:
    """Name the option of `group` most like `option`, and all there are."""
    if not options:
        return ConfigError(f"{where}: there is no config group {group!r}")
    found = f"{nearest(option, options)}; {group} has: {', '.join(options)}"
    return ConfigError(f"{where}: there is no {group} {option!r}{found}")


def wrong_value(error: OmegaConfBaseException, where: str) -> ConfigError:
    """Say what OmegaConf refused, without its internals; for an unknown key, which one was meant."""
    message = str(error.msg or error).splitlines()[0].strip()
    fields = getattr(error.object_type, "__dataclass_fields__", {})
    hint = nearest(str(error.key), fields) if isinstance(error, UNKNOWN) else ""
    if "'False'" in message and "off" in message:
        hint = "; YAML reads an unquoted off as false: write 'off'"
    return ConfigError(f"{where}: {message}{hint}" + (f" (key {error.full_key})" if error.full_key else ""))


def failed_composition(error: Exception, overrides: Sequence[str]) -> ConfigError:
    """Turn what Hydra, OmegaConf or YAML raised while composing into one readable error."""
    given = " ".join(overrides) or "the default configuration"
    if isinstance(error, MissingConfigException) and error.missing_cfg_file:
        group, _, option = str(error.missing_cfg_file).rpartition("/")
        where = next((o for o in overrides if o.partition("=")[0].lstrip("+") == group), given)
        return unknown_option(group, option, [o for o in error.options or [] if o], where)
    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark
        place = f"{mark.name}, line {mark.line + 1}, column {mark.column + 1}" if mark else given
        return ConfigError(f"{place}: not valid YAML: {error.problem}")
    cause = error if isinstance(error, OmegaConfBaseException) else error.__cause__ or error.__context__
    if isinstance(error, HydraException) and isinstance(cause, OmegaConfBaseException):
        first = str(error).splitlines()[0]
        place = first.split("'")[1] + ".yaml" if first.startswith("In '") else given
        return wrong_value(cause, place)
    return ConfigError(f"{given}: {' '.join(str(error).split())}")


def unreadable(override: str, error: Exception) -> ConfigError:
    """Say which override can't be read, and how to quote it."""
    return ConfigError(
        f"override {override!r} can't be read: {str(error).splitlines()[0]}; "
        "write key=value, and quote what holds spaces or special characters: 'key=\"a b\"'"
    )
