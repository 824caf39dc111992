"""The six variants: a variant is a set of switches on the same runtime (contract, section 6)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from pipeline.errors import ConfigError
from pipeline.harness.config import ConclusionForm, HarnessConfig, SwitchesConfig

VARIANTS: Mapping[str, SwitchesConfig] = MappingProxyType(
    {
        "full": SwitchesConfig(),
        "no_state": SwitchesConfig(
            evidence_bank=False, revise=False, conclusion=ConclusionForm.none, guidance=False
        ),
        "no_coevolution": SwitchesConfig(conclusion=ConclusionForm.none, guidance=False),
        "append_only": SwitchesConfig(revise=False),
        "no_guidance": SwitchesConfig(guidance=False),
        "notes": SwitchesConfig(conclusion=ConclusionForm.notes),
    }
)


def variant(name: str) -> HarnessConfig:
    """Return the configuration of a variant, all else at its default.

    Raises `ConfigError` if there is none of that name.
    """
    if name not in VARIANTS:
        raise ConfigError(f"there is no variant {name!r}: there are {', '.join(VARIANTS)}")
    return HarnessConfig(variant=name, switches=VARIANTS[name])


def check(config: HarnessConfig) -> None:
    """Check that a configuration describes a runtime. Raises `ConfigError`, naming key and value."""
    switches, budget = config.switches, config.budget
    if not switches.evidence_bank and switches.revise:
        raise ConfigError("harness.switches.revise=true needs harness.switches.evidence_bank=true")
    if not switches.evidence_bank and switches.conclusion is ConclusionForm.structured:
        raise ConfigError(
            "harness.switches.conclusion=structured needs harness.switches.evidence_bank=true: "
            "claims cite evidence"
        )
    if switches.guidance and switches.conclusion is ConclusionForm.none:
        raise ConfigError("harness.switches.guidance=true needs a conclusion to be guided by")
    least = {
        "budget.turns": (budget.turns, 1),
        "budget.searches": (budget.searches, 0),
        "budget.read_tokens": (budget.read_tokens, 0),
        "budget.tokens_per_read": (budget.tokens_per_read, 1),
        "search.top_k": (config.search.top_k, 1),
        "action.max_string": (1 if config.action.max_string is None else config.action.max_string, 1),
    }
    for key, (value, minimum) in least.items():
        if value < minimum:
            raise ConfigError(f"harness.{key}={value} is too small: {minimum} is the least")
    if config.search.top_k > 50:
        raise ConfigError(f"harness.search.top_k={config.search.top_k} is too large: 50 is the most")
