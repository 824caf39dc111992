"""The harness's configuration: one set of switches describes every variant (contract, section 6)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
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


class Profile(StrEnum):
    """What the extensions default to: the method as published, or all that goes beyond it (section 7)."""

    paper = "paper"
    extended = "extended"


class Check(StrEnum):
    """What a check of an extension does: nothing, a warning, or a refusal."""

    off = "off"
    warn = "warn"
    enforce = "enforce"


class ActionMode(StrEnum):
    """How the operation is asked of the model.

    As JSON under a schema, as a native tool call, or as JSON in free text (contract, section 8).
    """

    json_schema = "json_schema"
    tools = "tools"
    text = "text"


class ToolChoice(StrEnum):
    """Whether a server must make the model call a tool, or lets it choose."""

    auto = "auto"
    required = "required"


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
    """How the reply is asked for and constrained.

    `tool_choice=required` is constrained decoding on most servers: arguments always parse, but a model has no
    room for a thought before its call, and some servers refuse it to a model that reasons. So the default is
    `auto`: models call tools in their own format, and a faulty call costs a turn.
    `max_string` caps every free string in the schema, in characters, `max_items` every list.
    """

    mode: ActionMode = ActionMode.json_schema
    tool_choice: ToolChoice = ToolChoice.auto
    max_string: int | None = None
    max_items: int | None = None


@dataclass
class SearchConfig:
    """Defaults of the search operation (contract 3.4)."""

    top_k: int = 10


@dataclass
class ExtensionsConfig:
    """What goes beyond the paper (contract, section 7). What is null is as the profile has it."""

    operands: Check | None = None
    grounding: Check | None = None
    stale_conclusions: Check | None = None
    answer: Check | None = None
    compaction: bool | None = None
    batch_revise: bool | None = None


@dataclass
class CompactionConfig:
    """When the oldest turns leave the prompt (contract 7.4).

    `window` is the model's, in its own tokens; `share` is how much of it a prompt may fill by the runtime's
    estimate. Tables of figures can take twice the tokens that are estimated.
    """

    window: int = 131_072
    share: float = 0.5


@dataclass
class HarnessConfig:
    """LongHarness and its variants. `_target_` names the class, so that an arm is a plug-in."""

    _target_: str = "pipeline.harness.LongHarness"
    switches: SwitchesConfig = field(default_factory=SwitchesConfig)
    budget: BudgetConfig = field(default_factory=BudgetConfig)
    search: SearchConfig = field(default_factory=SearchConfig)
    history: HistoryConfig = field(default_factory=HistoryConfig)
    action: ActionConfig = field(default_factory=ActionConfig)
    profile: Profile = Profile.paper
    extensions: ExtensionsConfig = field(default_factory=ExtensionsConfig)
    compaction: CompactionConfig = field(default_factory=CompactionConfig)
    conclusion_refs: ConclusionRefs = ConclusionRefs.refuse
    document_map_tokens: int = 4_000


@dataclass(frozen=True)
class Extensions:
    """The extensions that are in force: the profile's, but for those that the configuration sets."""

    operands: Check = Check.off
    grounding: Check = Check.off
    stale_conclusions: Check = Check.off
    answer: Check = Check.off
    compaction: bool = False
    batch_revise: bool = False


PROFILES = {
    Profile.paper: Extensions(),
    Profile.extended: Extensions(Check.warn, Check.warn, Check.enforce, Check.enforce, True, True),
}


def extensions(config: HarnessConfig) -> Extensions:
    """Return the extensions in force; a variant that can't revise has no batch revise."""
    given = {name: value for name, value in vars(config.extensions).items() if value is not None}
    found = replace(PROFILES[config.profile], **given)
    return replace(found, batch_revise=found.batch_revise and config.switches.revise)


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
    if config.extensions.batch_revise and not switches.revise:
        raise ConfigError("harness.extensions.batch_revise=true needs harness.switches.revise=true")
    if not switches.evidence_bank and config.extensions.grounding not in (None, Check.off):
        raise ConfigError("harness.extensions.grounding needs harness.switches.evidence_bank=true")
    holds = int(config.compaction.window * config.compaction.share)
    if extensions(config).compaction and holds < budget.tokens_per_read:
        raise ConfigError(
            f"harness.compaction: a prompt of {holds:,} tokens (window × share) can't hold one read of "
            f"{budget.tokens_per_read:,}: lower harness.budget.tokens_per_read, or raise window or share"
        )
    if not 0 < config.compaction.share <= 1:
        raise ConfigError(
            f"harness.compaction.share={config.compaction.share} must lie above 0, and be 1 at most"
        )
    least: dict[str, tuple[int | None, int]] = {
        "budget.turns": (budget.turns, 1),
        "budget.searches": (budget.searches, 0),
        "budget.read_tokens": (budget.read_tokens, 0),
        "budget.tokens_per_read": (budget.tokens_per_read, 1),
        "search.top_k": (config.search.top_k, 1),
        "compaction.window": (config.compaction.window, 1),
        "action.max_string": (config.action.max_string, 1),
        "action.max_items": (config.action.max_items, 1),
    }
    for key, (value, minimum) in least.items():
        if value is not None and value < minimum:
            raise ConfigError(f"harness.{key}={value} is too small: {minimum} is the least")
    if config.search.top_k > 50:
        raise ConfigError(f"harness.search.top_k={config.search.top_k} is too large: 50 is the most")
