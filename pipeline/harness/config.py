"""The harness's configuration: one set of switches describes every variant (contract, section 6)."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from pipeline.errors import ConfigError


class ConclusionForm(StrEnum):
    """What the Conclusion State is in a variant."""

    structured = "structured"
    notes = "notes"
    none = "none"


class Reasoning(StrEnum):
    """How much of the model's own reasoning re-enters the prompt (contract 5.2)."""

    none = "none"
    thought = "thought"
    full = "full"


class ConclusionRefs(StrEnum):
    """What happens to a claim that cites inactive evidence (contract 3.16)."""

    refuse = "refuse"
    flag = "flag"


class ActionMode(StrEnum):
    """How the operation is asked of the model: constrained by a JSON schema, or parsed from free text."""

    json_schema = "json_schema"
    text = "text"


@dataclass
class BudgetConfig:
    """What an episode may spend (contract 4.1); tokens are estimates (contract 4.5)."""

    turns: int = 200
    searches: int = 60
    read_tokens: int = 1_000_000
    tokens_per_read: int = 16_384


@dataclass
class SwitchesConfig:
    """What a variant has. The five ablations differ from `full` in these alone."""

    evidence_bank: bool = True
    revise: bool = True
    conclusion: ConclusionForm = ConclusionForm.structured
    guidance: bool = True


@dataclass
class HistoryConfig:
    """What of the history re-enters the prompt; all of it is recorded."""

    reasoning: Reasoning = Reasoning.thought


@dataclass
class ActionConfig:
    """How the reply is constrained. `max_string` caps every free string in the schema, in characters."""

    mode: ActionMode = ActionMode.json_schema
    max_string: int | None = None


@dataclass
class SearchConfig:
    """Defaults of the search operation (contract 3.4)."""

    top_k: int = 10


@dataclass
class HarnessConfig:
    """LongHarness and its variants. `_target_` names the class, so that an arm is a plug-in."""

    _target_: str = "pipeline.harness.LongHarness"
    switches: SwitchesConfig = field(default_factory=SwitchesConfig)
    budget: BudgetConfig = field(default_factory=BudgetConfig)
    search: SearchConfig = field(default_factory=SearchConfig)
    history: HistoryConfig = field(default_factory=HistoryConfig)
    action: ActionConfig = field(default_factory=ActionConfig)
    conclusion_refs: ConclusionRefs = ConclusionRefs.refuse
    document_map_tokens: int = 4_000


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
