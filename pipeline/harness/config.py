"""The harness's configuration: one set of switches describes every variant (contract, section 6)."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


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
    variant: str = "full"
    switches: SwitchesConfig = field(default_factory=SwitchesConfig)
    budget: BudgetConfig = field(default_factory=BudgetConfig)
    search: SearchConfig = field(default_factory=SearchConfig)
    history: HistoryConfig = field(default_factory=HistoryConfig)
    action: ActionConfig = field(default_factory=ActionConfig)
    conclusion_refs: ConclusionRefs = ConclusionRefs.refuse
    document_map_tokens: int = 4_000
