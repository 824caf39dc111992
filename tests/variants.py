"""The contract's table of variants (section 6), as tests expect it: switches on one runtime."""

from __future__ import annotations

from copy import deepcopy

from pipeline.harness.config import ConclusionForm, HarnessConfig, SwitchesConfig

VARIANTS = {
    "full": SwitchesConfig(),
    "no_state": SwitchesConfig(
        evidence_bank=False, revise=False, conclusion=ConclusionForm.none, guidance=False
    ),
    "no_coevolution": SwitchesConfig(conclusion=ConclusionForm.none, guidance=False),
    "append_only": SwitchesConfig(revise=False),
    "no_guidance": SwitchesConfig(guidance=False),
    "notes": SwitchesConfig(conclusion=ConclusionForm.notes),
}


def variant(name: str) -> HarnessConfig:
    """The configuration of a variant, all else at its default."""
    return HarnessConfig(switches=deepcopy(VARIANTS[name]))
