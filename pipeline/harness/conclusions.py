"""The Conclusion State: claims that cite evidence, open gaps, and checks of updates (contract 2.3 to 2.5)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import orjson
from pydantic import ValidationError

from pipeline.harness.config import ConclusionRefs
from pipeline.harness.evidence import Entry, EvidenceBank
from pipeline.harness.forms import explain, shown
from pipeline.harness.operations import ConclusionUpdate, EstablishedClaim, Hypothesis
from pipeline.harness.turn import Fault

CODE = "invalid_conclusion"
_LISTED = 50  # faults of an update that its refusal lists


@dataclass(frozen=True)
class Claim:
    """A claim and the ids of the evidence that it cites."""

    text: str
    evidence: tuple[str, ...]

    def inactive(self, bank: EvidenceBank) -> tuple[Entry, ...]:
        """The entries that it cites and that are no longer active."""
        found = (bank.get(evidence_id) for evidence_id in self.evidence)
        return tuple(entry for entry in found if entry and entry.status != "active")

    @cached_property
    def line(self) -> str:
        """The claim in the rendered state: one line."""
        return f"- {' '.join(self.text.splitlines())} [{', '.join(self.evidence)}]"


@dataclass(frozen=True)
class Conclusion:
    """The three lists. Immutable: an update gives a new conclusion."""

    established: tuple[Claim, ...] = ()
    hypotheses: tuple[Claim, ...] = ()
    unresolved: tuple[str, ...] = ()

    def claims(self) -> Iterator[tuple[str, int, Claim]]:
        """Yield every claim with its list's name and its index there."""
        for name, claims in (("established", self.established), ("hypotheses", self.hypotheses)):
            for index, claim in enumerate(claims):
                yield name, index, claim

    def citing(self, evidence_id: str) -> tuple[tuple[str, int, Claim], ...]:
        """The claims that cite an entry (contract 3.17)."""
        return tuple(found for found in self.claims() if evidence_id in found[2].evidence)

    def as_json(self, bank: EvidenceBank) -> dict[str, Any]:
        """The conclusion as a trace shows it: each claim with its inactive ids (contract, section 9)."""
        lists: dict[str, Any] = {"established": [], "hypotheses": [], "unresolved": list(self.unresolved)}
        for name, _, claim in self.claims():
            stale = [entry.id for entry in claim.inactive(bank)]
            lists[name].append({"claim": claim.text, "evidence": list(claim.evidence), "stale": stale})
        return lists

    @cached_property
    def encoded(self) -> bytes:
        """Canonical JSON, serialised once: what a claim cites is part of it, what became of that is not."""
        facts = {
            "established": [[claim.text, list(claim.evidence)] for claim in self.established],
            "hypotheses": [[claim.text, list(claim.evidence)] for claim in self.hypotheses],
            "unresolved": list(self.unresolved),
        }
        return orjson.dumps(facts, option=orjson.OPT_SORT_KEYS)

    def merge(self, update: ConclusionUpdate) -> Conclusion:
        """Return the conclusion with lists replaced by those that `update` gives (contract 2.3)."""
        merged = self
        if update.established is not None:
            merged = replace(merged, established=_claims(update.established))
        if update.hypotheses is not None:
            merged = replace(merged, hypotheses=_claims(update.hypotheses))
        if update.unresolved is not None:
            merged = replace(merged, unresolved=tuple(update.unresolved))
        return merged


def _claims(sent: Sequence[EstablishedClaim | Hypothesis]) -> tuple[Claim, ...]:
    return tuple(Claim(claim.claim, tuple(claim.evidence or ())) for claim in sent)


def read_update(sent: object, bank: EvidenceBank) -> ConclusionUpdate | Fault:
    """Check the shape of an update (contract 2.4): return it, or a fault that lists all that is wrong."""
    try:
        return ConclusionUpdate.model_validate(sent)
    except ValidationError as error:
        return _fault(
            [explain(ConclusionUpdate, each, "conclusion") for each in error.errors(include_url=False)], bank
        )


def check_references(
    update: ConclusionUpdate, bank: EvidenceBank, refs: ConclusionRefs
) -> tuple[Fault | None, tuple[Fault, ...]]:
    """Check what the claims of an update cite (contract 2.5, 3.16).

    Returns the fault that refuses the update whole, if there is one, and warnings: with
    `conclusion_refs=flag` a claim that cites an inactive entry is merged and flagged.
    """
    faults: list[str] = []
    flags: list[Fault] = []
    for name, index, claim in update.claims():
        where = f"{name}[{index}] {shown(claim.claim)}"
        if name == "established" and not claim.evidence:
            faults.append(f"{where} cites no evidence: cite an active id, or make it a hypothesis")
        for evidence_id in dict.fromkeys(claim.evidence or ()):
            entry = bank.get(evidence_id)
            if entry is None:
                faults.append(f"{where}: there is no evidence {shown(evidence_id)}")
            elif entry.status != "active" and refs is ConclusionRefs.flag:
                flags.append(Fault("inactive_evidence", f"{where}: {bank.fate(entry)}"))
            elif entry.status != "active":
                faults.append(f"{where}: {bank.fate(entry)}")
    return (_fault(faults, bank) if faults else None), tuple(flags)


def _fault(faults: Sequence[str], bank: EvidenceBank) -> Fault:
    if bank.active:
        claim = {"claim": "…", "evidence": [bank.active[-1].id]}
        example: dict[str, Any] = {"established": [claim], "unresolved": ["…"]}
    else:
        example = {"hypotheses": [{"claim": "…", "evidence": []}], "unresolved": ["…"]}
    minimal = orjson.dumps({"conclusion": example}).decode()
    more = f"; and {len(faults) - _LISTED} more" if len(faults) > _LISTED else ""
    listed = "; ".join(faults[:_LISTED])
    return Fault(CODE, f"nothing of the update was merged: {listed}{more}. A valid example: {minimal}")
