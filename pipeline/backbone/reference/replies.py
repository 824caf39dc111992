"""The replies of the policy, in the forms of contract section 8: one JSON object each, or one tool call."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Operation = Mapping[str, Any]
BESIDE = ("conclusion", "notes")  # in a JSON reply beside the operation, in a call among its arguments


@dataclass(frozen=True)
class Reply:
    """An operation, why it is sent, and the conclusion update (or notes) that goes with it."""

    thought: str
    operation: Operation
    conclusion: Mapping[str, Any] | None = field(default=None)
    notes: str | None = None

    def render(self) -> str:
        """The reply as the text of a completion."""
        reply = {"thought": self.thought, "operation": self.operation, **self._beside()}
        return json.dumps(reply, ensure_ascii=False)

    def call(self) -> tuple[str, str]:
        """The reply as a tool call, said after the thought: the tool's name, and its arguments as JSON."""
        arguments = {key: value for key, value in self.operation.items() if key != "name"}
        return self.operation["name"], json.dumps({**arguments, **self._beside()}, ensure_ascii=False)

    def _beside(self) -> dict[str, Any]:
        beside = {name: getattr(self, name) for name in BESIDE}
        return {name: value for name, value in beside.items() if value is not None}


def search(query: str, documents: Sequence[str] = (), top_k: int = 10, order: str = "score") -> Operation:
    """Search, over documents that match any of the patterns (none: over all)."""
    operation: dict[str, Any] = {"name": "search", "query": query, "top_k": top_k}
    if documents:
        operation["documents"] = list(documents)
    if order != "score":
        operation["order"] = order
    return operation


def read(locations: Sequence[Mapping[str, Any]]) -> Operation:
    """Read passages or character ranges."""
    return {"name": "read", "locations": list(locations)}


def upsert(items: Sequence[tuple[str, Sequence[str]]]) -> Operation:
    """Add statements, each with its sources."""
    return {"name": "evidence", "upsert": [{"statement": text, "sources": list(ids)} for text, ids in items]}


def revise(evidence: str, statement: str, sources: Sequence[str]) -> Operation:
    """Replace an active statement."""
    replacement = {"statement": statement, "sources": list(sources)}
    return {"name": "evidence", "revise": {"id": evidence, "replacement": replacement}}


def compute(expression: str, cited: Mapping[str, Sequence[str]], places: Sequence[int] = ()) -> Operation:
    """Evaluate an expression; `cited` is the evidence (or, without a bank of it, the sources) it rests on.

    `places` are numbers of the expression that no document gives: where a figure stands in time.
    """
    operation: dict[str, Any] = {"name": "compute", "expression": expression}
    operation |= {key: list(ids) for key, ids in cited.items()}
    if places:
        operation["constants"] = [{"value": place, "why": "place in time"} for place in places]
    return operation


def concluded(
    established: Sequence[tuple[str, str]], guessed: Sequence[tuple[str, str]], gaps: Sequence[str]
) -> dict[str, Any]:
    """A conclusion update, from claims with the evidence of each."""
    claims = {"established": established, "hypotheses": guessed}
    given = {
        name: [{"claim": claim, "evidence": [evidence]} for claim, evidence in each]
        for name, each in claims.items()
        if each or name == "established"
    }
    return {**given, "unresolved": list(gaps)}


def final(answer: str, cited: Mapping[str, Sequence[str]]) -> Operation:
    """Answer, citing what it rests on."""
    return {"name": "final", "answer": answer, **{key: list(ids) for key, ids in cited.items()}}
