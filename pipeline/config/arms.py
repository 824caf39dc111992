"""From overrides to arms: lists of options are expanded first, then every arm is composed alone."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from hydra.core.override_parser.types import Override
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from pipeline.backbone.config import BackboneConfig, JudgeConfig
from pipeline.config.compose import (
    LISTED,
    Composed,
    apply,
    compose,
    has_key,
    is_selection,
    option_names,
    parse,
    refuse_negative,
    register,
)
from pipeline.config.messages import unknown_key, wrong_value
from pipeline.config.plugins import typed
from pipeline.config.schemas import run_schemas
from pipeline.errors import ConfigError
from pipeline.runs.spec import ArmSpec, RunSpec

PLUGINS = ("harness", "serving", "benchmark")
OWN = ("harness", "corpus", "tasks", "cluster", "actors")
SERVED = ("backbone", "judge")
MOST_SEEDS, MOST_BYTES = 10_000, 200  # of one run, of its name: a folder's name has 255 at most
ASIDES = ("price", "rates", "retry_status")
OF_ARM = (*LISTED, "serving", "corpus", "tasks")


@dataclass(frozen=True)
class ArmPlan:
    """One arm before composition: the options chosen for it, and overrides for it alone."""

    options: Mapping[str, str]
    name: str | None = None
    overrides: Sequence[Override] = ()


@dataclass
class Composer:
    """Composes arms. `common` reach every arm; equal selections are composed once."""

    common: Sequence[Override]
    config_dirs: Sequence[Path]
    used: set[str] = field(default_factory=set)
    composed: dict[tuple[str, ...], Composed] = field(default_factory=dict)

    def arm(self, plan: ArmPlan) -> Composed:
        """Compose one arm; its own overrides come before those of the command line, which win."""
        chosen = [f"{group}={option}" for group, option in plan.options.items()]
        own = [o.input_line or "" for o in (*plan.overrides, *self.common) if is_selection(o)]
        base = self.base((*chosen, *own))
        config = base.config.copy()
        for override in (o for o in plan.overrides if not is_selection(o)):
            apply(config, override)
        for override in (o for o in self.common if not is_selection(o)):
            group = override.key_or_group.partition(".")[0]
            if group not in (*LISTED, "serving") or has_key(config, override.key_or_group):
                apply(config, override)
                self.used.add(override.input_line or "")
        return Composed(config, base.choices)

    def base(self, selections: tuple[str, ...]) -> Composed:
        """Compose options alone, with the fields that a plug-in's own dataclass adds."""
        if selections not in self.composed:
            base = compose("config", selections, self.config_dirs)
            for group in PLUGINS:
                typed(base.config, group)
            self.composed[selections] = base
        return self.composed[selections]

    def check_all_used(self, arms: Sequence[Composed]) -> None:
        """Raise `ConfigError` for an override that no arm has a key for."""
        for override in self.common:
            line = override.input_line or ""
            if not is_selection(override) and line not in self.used:
                where = line if len(arms) == 1 else f"{line} (in none of the {len(arms)} arms)"
                raise unknown_key(override.key_or_group, arms[0].config, where)


def resolve(overrides: Sequence[str], config_dirs: Sequence[Path] = ()) -> RunSpec:
    """Compose a run; see `pipeline.config.resolve`."""
    register(run_schemas())
    try:
        return composed_run(parse(overrides), config_dirs)
    except OmegaConfBaseException as error:  # an interpolation is resolved where its value is first used
        raise wrong_value(error, "configuration") from error


def composed_run(parsed: Sequence[Override], config_dirs: Sequence[Path]) -> RunSpec:
    """Expand the lists among the overrides and compose every arm."""
    listed: dict[str, list[str]] = {}
    for override in (o for o in parsed if o.key_or_group in LISTED):
        if override.key_or_group in listed:
            raise ConfigError(f"{override.input_line}: {override.key_or_group} is given twice; write a list")
        listed[override.key_or_group] = option_names(override)
    composer = Composer([o for o in parsed if o.key_or_group not in listed], config_dirs)
    first = composer.arm(ArmPlan({group: options[0] for group, options in listed.items()}))
    plans = arm_plans(first, listed)
    composer.used.clear()
    arms = [composer.arm(plan) for plan in plans]
    composer.check_all_used(arms)
    return run_spec(first, arms, names(plans, arms))


def arm_plans(root: Composed, listed: Mapping[str, Sequence[str]]) -> list[ArmPlan]:
    """Return the arms that `arms` gives in full, else the product of the listed options."""
    if not root.config.arms:
        return [ArmPlan(dict(zip(listed, options, strict=True))) for options in product(*listed.values())]
    if listed:
        raise ConfigError(
            f"{', '.join(listed)} and arms are both given: the arms of experiment="
            f"{root.choices.get('experiment')} are listed in full; add arms=[] to choose your own"
        )
    return [full_plan(number, arm) for number, arm in enumerate(root.config.arms)]


def full_plan(number: int, arm: DictConfig) -> ArmPlan:
    """Read one entry of `arms`; its overrides may touch what belongs to an arm alone."""
    options = {group: arm[group] for group in LISTED if arm[group]}
    overrides = parse(list(arm.overrides))
    for override in overrides:
        group = override.key_or_group.partition(".")[0]
        if group not in OF_ARM or override.key_or_group in LISTED:
            raise ConfigError(
                f"arms[{number}]: {override.input_line} is no override of one arm: write it beside arms, "
                f"or a key of {', '.join(OF_ARM)}"
            )
    return ArmPlan(options, arm.name, overrides)


def names(plans: Sequence[ArmPlan], arms: Sequence[Composed]) -> list[str]:
    """Name the arms HARNESS+BACKBONE, and @BENCHMARK where there are several. Raises if two are equal."""
    several = len({arm.choices["benchmark"] for arm in arms}) > 1
    found = []
    for plan, arm in zip(plans, arms, strict=True):
        c = arm.choices
        name = f"{c['harness']}+{c['backbone']}" + (f"@{c['benchmark']}" if several else "")
        found.append(plan.name or name)
    for name in found:
        if found.count(name) > 1:
            raise ConfigError(f"two arms are named {name!r}: list each option once, or give arms names")
    return found


def arm_spec(arm: Composed, name: str) -> ArmSpec:
    """Return the typed values of one composed arm."""
    c = arm.choices
    values = {key: objects(arm.config, key) for key in OF_ARM}
    _check(values["backbone"])
    return ArmSpec(name, c["harness"], c["backbone"], c["benchmark"], **values)


def _check(backbone: BackboneConfig) -> None:
    traffic, window = backbone.traffic, backbone.window
    for key, value in (
        ("max_tokens", backbone.max_tokens),
        ("window", 1 if window is None else window),
        ("client.attempts", backbone.client.attempts),
        ("traffic.breaker_failures", traffic.breaker_failures),
        ("traffic.ramp", traffic.ramp),
    ):
        if value < 1:
            raise ConfigError(f"backbone.{key}={value} is too small: 1 is the least")
    if traffic.kv_share > 1:
        raise ConfigError(f"backbone.traffic.kv_share={traffic.kv_share}: it is a share, from 0 to 1")
    if traffic.metrics_interval <= 0:
        raise ConfigError(f"backbone.traffic.metrics_interval={traffic.metrics_interval}: give some seconds")


def objects(config: DictConfig, key: str) -> Any:
    """Return the config object at `key`. Raises `ConfigError` for a value that is missing or negative."""
    node = config[key]
    if missing := OmegaConf.missing_keys(node):
        names = " ".join(f"{name}=…" for name in sorted(missing))
        raise ConfigError(f"{key} needs values that only you can give: {names}")
    if key in OWN or key in SERVED:
        plain = OmegaConf.to_container(node, resolve=True)
        assert isinstance(plain, dict)
        plain.pop("sampling", None)  # is the server's: a penalty may be negative
        refuse_negative(plain, key)
    return OmegaConf.to_object(node)


def run_spec(root: Composed, arms: Sequence[Composed], named: Sequence[str]) -> RunSpec:
    """Put the run together, and name it by its contents if it has no name."""
    config = root.config
    chosen = seeds(config.seeds)
    specs = tuple(map(arm_spec, arms, named))
    contents: dict[str, Any] = {"seeds": list(chosen), "arms": list(map(arm_shown, arms, named))}
    named_by = {**contents, "arms": [without_asides(arm) for arm in contents["arms"]]}
    digest = hashlib.sha256(json.dumps(named_by, sort_keys=True).encode()).hexdigest()[:8]
    subject = root.choices.get("experiment") or "+".join(dict.fromkeys(a.benchmark_name for a in specs))
    name = config.run or f"{subject}-{digest}"
    check_name(name)
    where = {"run": name, "root": config.root, **shown(config, ("cluster", "actors", "judge"))}
    cluster, actors = objects(config, "cluster"), objects(config, "actors")
    judge = judge_config(config)
    return RunSpec(name, Path(config.root), specs, chosen, cluster, actors, {**where, **contents}, judge)


def judge_config(config: DictConfig) -> JudgeConfig:
    """Return the judge of a composed configuration. Raises `ConfigError` for a value out of range."""
    judge: JudgeConfig = objects(config, "judge")
    for key, value in (
        ("repeats", judge.repeats),
        ("concurrency", judge.concurrency),
        ("max_tokens", judge.max_tokens),
        ("client.attempts", judge.client.attempts),
    ):
        if value < 1:
            raise ConfigError(f"judge.{key}={value} is too small: 1 is the least")
    if judge.max_unscored > 1:
        raise ConfigError(f"judge.max_unscored={judge.max_unscored}: it is a share, from 0 to 1")
    if judge.model is not None and not judge.urls:
        raise ConfigError(
            "judge.urls is empty: give the server's base URL, e.g. judge.urls=[http://HOST:8000/v1]"
        )
    return judge


def check_name(name: str) -> None:
    """Raise `ConfigError` for a run's name that can't be, or hardly be, the name of a folder."""
    if "/" in name or name in (".", ".."):
        raise ConfigError(f"run={name}: a run's name is the name of one folder; root=… says where it lies")
    if not name.isprintable() or name != name.strip() or len(name.encode()) > MOST_BYTES:
        raise ConfigError(
            f"run={name[:80]!r}: give a name of at most {MOST_BYTES} bytes, without control characters and "
            "without spaces around it"
        )


def arm_shown(arm: Composed, name: str) -> dict[str, Any]:
    """Return one arm as it is stored: its name, the options it was chosen by, and every value."""
    options = {group: arm.choices[group] for group in (*LISTED, "serving")}
    return {"name": name, "options": options, **shown(arm.config, OF_ARM)}


def without_asides(arm: Mapping[str, Any]) -> dict[str, Any]:
    """Return an arm as it is stored, but for what makes no other run of it: prices, rates, what is rerun."""
    return {
        **arm,
        "backbone": {key: value for key, value in arm["backbone"].items() if key not in ASIDES},
        "tasks": {key: value for key, value in arm["tasks"].items() if key not in ASIDES},
    }


def shown(config: DictConfig, keys: Sequence[str]) -> dict[str, Any]:
    """Return the values at `keys` as JSON and YAML hold them."""
    plain = {key: OmegaConf.to_container(config[key], resolve=True, enum_to_str=True) for key in keys}
    found: dict[str, Any] = json.loads(json.dumps(plain, default=str))
    return found


def seeds(value: Any) -> tuple[int, ...]:
    """Read `seeds`: a count means 0 … count - 1, a list names the seeds themselves."""
    many = value if isinstance(value, int) else len(value) if OmegaConf.is_list(value) else 0
    if many > MOST_SEEDS:
        raise ConfigError(
            f"seeds: {many} are too many, {MOST_SEEDS} are the most; seeds=[{many}] is one seed"
        )
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return tuple(range(value))
    listed = list(value) if OmegaConf.is_list(value) else []
    if not listed or any(isinstance(s, bool) or not isinstance(s, int) or not 0 <= s < 2**63 for s in listed):
        raise ConfigError(
            f"seeds={value}: give how many (seeds=3 means 0, 1, 2) or a list of them (seeds=[3] is seed 3), "
            "whole numbers from 0"
        )
    if len(set(listed)) < len(listed):
        raise ConfigError(f"seeds={value}: a seed is listed twice")
    return tuple(listed)
