"""The dependency view: what an answer rests on, from the log alone (contract 7.5).

answer → computes → evidence → sources.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pipeline.figures import figures, rounds_to

ANSWER = "answer"


@dataclass(frozen=True)
class Provenance:
    """A graph: what each node is, and what it rests on, both in the order in which they came about.

    Nodes are `answer`, computes (`c1`), evidence (`e1`) and sources (`s1`).
    """

    nodes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    edges: tuple[tuple[str, str], ...] = ()

    def rests_on(self, node: str) -> tuple[str, ...]:
        """Return what `node` rests on directly."""
        return tuple(below for above, below in self.edges if above == node)

    def reached(self) -> frozenset[str]:
        """Return all that the answer rests on, itself included; empty without an answer."""
        found, open_nodes = set[str](), [ANSWER] if ANSWER in self.nodes else []
        while open_nodes:
            node = open_nodes.pop()
            if node not in found:
                found.add(node)
                open_nodes += self.rests_on(node)
        return frozenset(found)

    def as_json(self) -> dict[str, Any]:
        """The graph as plain values, for other programs."""
        return {
            "nodes": [{"id": node, **facts} for node, facts in self.nodes.items()],
            "edges": [{"from": above, "to": below} for above, below in self.edges],
        }

    def lines(self) -> Iterator[str]:
        """Yield the graph as a person reads it: a tree below the answer, then what it does not rest on."""
        if ANSWER in self.nodes:
            yield from self._tree(ANSWER, 0, set())
        elif self.nodes:
            yield "no answer"
        aside = [node for node in self.nodes if node not in self.reached()]
        if aside:
            yield "not part of it:"
            yield from (f"  {self._line(node)}" for node in aside)

    def _tree(self, node: str, depth: int, shown: set[str]) -> Iterator[str]:
        mark = ""
        if node in shown and self.rests_on(node):
            mark = " (above)"
        elif node in self.nodes[ANSWER]["by_value"]:
            mark = " (by its value: the answer names no compute)"
        yield f"{'  ' * depth}{self._line(node)}{mark}"
        if node not in shown:
            shown.add(node)
            for below in self.rests_on(node):
                yield from self._tree(below, depth + 1, shown)

    def _line(self, node: str) -> str:
        facts = self.nodes[node]
        match facts["kind"]:
            case "answer":
                return f"answer: {facts['answer']}"
            case "compute":
                declared = "".join(f"; declared {value} ({why})" for value, why in facts["constants"])
                return f"{node} = {str(facts['value']).removesuffix('.0')} = {facts['expression']}{declared}"
            case "evidence":
                fate = f" ({facts['status']})" if facts["status"] != "active" else ""
                return f"{node}{fate}: {' '.join(facts['statement'].split())}"
        return f"{node}: {facts['document']} [{facts['start']}:{facts['end']}]"


def provenance(log: Iterable[Mapping[str, Any]]) -> Provenance:
    """Return the graph that the events of an episode's log describe, in their order (contract, section 9)."""
    nodes: dict[str, dict[str, Any]] = {}
    edges: dict[tuple[str, str], None] = {}

    def add(node: str, below: Iterable[str], **facts: Any) -> None:
        nodes[node] = facts
        edges.update(dict.fromkeys((node, each) for each in below))

    for event in log:
        match event["event"]:
            case "source_registered":
                place = {key: event[key] for key in ("document", "start", "end", "sha256")}
                add(event["id"], (), kind="source", **place)
            case "evidence_admitted":
                add(
                    event["id"],
                    event["sources"],
                    kind="evidence",
                    status="active",
                    statement=event["statement"],
                )
            case "evidence_superseded":
                nodes[event["id"]]["status"] = f"superseded by {event['superseded_by']}"
            case "evidence_retracted":
                nodes[event["id"]]["status"] = "retracted"
            case "computed":
                facts = {key: event[key] for key in ("expression", "value", "constants")}
                add(event["id"], event["evidence"], kind="compute", **facts)
            case "answered":
                copied = [] if event["computes"] else _copied(event["answer"], nodes, edges)
                below = [*event["computes"], *copied, *(event["evidence"] or event["sources"])]
                add(ANSWER, below, kind="answer", answer=event["answer"], by_value=copied)
    return Provenance(nodes, tuple(edges))


def _copied(
    answer: str, nodes: Mapping[str, Mapping[str, Any]], edges: Iterable[tuple[str, str]]
) -> list[str]:
    """The computes whose values an answer has, at its own rounding; none that rest on retired evidence."""
    retired = {above for above, below in edges if nodes[below].get("status", "active") != "active"}
    values = {
        node: facts["value"]
        for node, facts in nodes.items()
        if facts["kind"] == "compute" and node not in retired
    }
    found = figures(answer)
    return [node for node, value in values.items() if any(rounds_to(figure, value) for figure in found)]
