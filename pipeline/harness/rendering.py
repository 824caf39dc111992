"""The rendered state, which ends every prompt, and the turns that have left it (contract 5.3, 7.4)."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.harness.conclusions import Claim, Conclusion
from pipeline.harness.config import Check, HarnessConfig, extensions
from pipeline.harness.evidence import EvidenceBank
from pipeline.harness.state import Exchange, State

_EARLIER = "=== earlier turns, in short; the exact range of a source costs no budget again ==="
_STUBS = 100  # turns that the prompt tells of by a stub each


def tail(state: State, config: HarnessConfig) -> str:
    """Render the current state: the only part of the prompt that is not append-only (contract 5.3)."""
    beyond = extensions(config)
    lines = ["=== state ==="]
    if config.switches.evidence_bank:
        lines += _list("Active evidence", state.evidence.rendered)
    if state.conclusion is not None:
        bank = state.evidence if beyond.stale_conclusions is not Check.off else None
        lines += ["Conclusion:", *_conclusion(state.conclusion, bank)]
    if state.notes is not None:
        lines += _list("Notes", "\n".join(f"| {line}" for line in state.notes.splitlines()))
    lines += _list("Sources", state.sources.rendered)
    if beyond.answer is not Check.off or beyond.compaction:
        lines += _list("Computes", "\n".join([computed.line for computed in state.computes]))
    return "\n".join([*lines, state.budget.line])


def _conclusion(conclusion: Conclusion, bank: EvidenceBank | None) -> list[str]:
    established = [_claim(claim, bank) for claim in conclusion.established]
    hypotheses = [_claim(claim, bank) for claim in conclusion.hypotheses]
    unresolved = [f"- {' '.join(gap.splitlines())}" for gap in conclusion.unresolved]
    lists = {"established": established, "hypotheses": hypotheses, "unresolved": unresolved}
    return [line for name, items in lists.items() for line in _list(name, "\n".join(items))]


def _claim(claim: Claim, bank: EvidenceBank | None) -> str:
    """A claim's line; with a `bank` it is marked if it cites what is no longer active (contract 7.3)."""
    inactive = claim.inactive(bank) if bank else ()
    if bank is None or not inactive:
        return claim.line
    return f"{claim.line} STALE: {'; '.join(bank.fate(entry) for entry in inactive)}"


def stubs(exchanges: Sequence[Exchange]) -> str:
    """Tell of turns that have left the prompt, one line each; of the oldest of many in one (7.4)."""
    if not exchanges:
        return ""
    lines = [exchange.stub for exchange in exchanges]
    older = len(lines) - _STUBS
    if older > 0:
        lines[:older] = [f"[turns 1 to {older}] what came of them is in the state below"]
    return "\n".join([_EARLIER, *lines])


def _list(name: str, lines: str) -> list[str]:
    return [f"{name}:", lines] if lines else [f"{name}: none"]
