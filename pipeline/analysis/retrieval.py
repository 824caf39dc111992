"""Retrieval recall: how much of the gold documents and spans an episode found, read and cited. No judge.

Found: a search returned a passage of the document, or one that holds the span. Read: a read covered it.
Cited: the accepted answer rests on it, through evidence and computed values. A span counts as well at any
other place that prints the same. An episode that cites nothing, or ends without an answer, has cited none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipeline.benchmarks.scorers import Metric
from pipeline.benchmarks.tasks import Gold, Span
from pipeline.runs import tables

NAME = "retrieval"
VERSION = "1"
STAGES = ("found", "read", "cited")
GOLD = ("documents", "spans")

_RANGE = ["document", "start", "end"]
_COLUMNS = {
    "episodes": ["episode_id", "cited"],
    "hits": ["episode_id", *_RANGE],
    "sources": ["episode_id", "source_id", *_RANGE],
    "evidence": ["episode_id", "evidence_id", "sources"],
    "computes": ["episode_id", "compute_id", "evidence"],
}
Range = tuple[str, int, int]


@dataclass(frozen=True)
class Reached:
    """The ranges of documents (id, code points start and end) that an episode came to, by stage."""

    found: Sequence[Range]
    read: Sequence[Range]
    cited: Sequence[Range]


@dataclass
class _Episode:
    """An episode's rows. `rests_on` names what an evidence or computed id rests on: such ids, or sources."""

    cited: Sequence[str] = ()
    hits: list[Range] = field(default_factory=list)
    sources: dict[str, Range] = field(default_factory=dict)
    rests_on: dict[str, Sequence[str]] = field(default_factory=dict)

    def reached(self) -> Reached:
        cited, open_ = set[str](), list(self.cited)
        while open_:
            name = open_.pop()
            if name not in cited:
                cited.add(name)
                open_ += self.rests_on.get(name, ())
        ranges = [place for name, place in self.sources.items() if name in cited]
        return Reached(self.hits, list(self.sources.values()), ranges)


def reached(folder: Path) -> Iterator[tuple[str, Reached]]:
    """Yield each finished episode of the run in `folder` with what it came to. Raises `RunError`."""
    for batch in tables.read_batches(folder, _COLUMNS):
        for name, episode in _episodes({table: rows.to_pylist() for table, rows in batch.items()}).items():
            yield name, episode.reached()


def _episodes(batch: Mapping[str, Sequence[Mapping[str, Any]]]) -> Mapping[str, _Episode]:
    found: dict[str, _Episode] = defaultdict(_Episode)
    for row in batch["episodes"]:
        found[row["episode_id"]].cited = row["cited"] or ()
    for row in batch["hits"]:
        found[row["episode_id"]].hits.append(_range(row))
    for row in batch["sources"]:
        found[row["episode_id"]].sources[row["source_id"]] = _range(row)
    for row in batch["evidence"]:
        found[row["episode_id"]].rests_on[row["evidence_id"]] = row["sources"] or ()
    for row in batch["computes"]:
        found[row["episode_id"]].rests_on[row["compute_id"]] = row["evidence"] or ()
    return found


def _range(row: Mapping[str, Any]) -> Range:
    return row["document"], row["start"], row["end"]


def recall(gold: Gold, reached: Reached) -> list[Metric]:
    """Return the share of gold documents, and of gold spans, that was found, read and cited.

    A gold that names no documents, or no spans, has no metric of them.
    """
    metrics = []
    documents, spans = GOLD
    if gold.documents:
        for stage in STAGES:
            there = {document for document, _, _ in getattr(reached, stage)}
            metrics.append(_metric(f"{documents}_{stage}", gold.documents, there.__contains__))
    if gold.spans:
        places = _places(gold)
        for stage in STAGES:
            ranges = _by_document(getattr(reached, stage))
            metrics.append(
                _metric(f"{spans}_{stage}", places, lambda any_of, ranges=ranges: _covered(any_of, ranges))
            )
    return metrics


def _metric(name: str, wanted: Collection[Any], has: Any) -> Metric:
    missing = [each for each in wanted if not has(each)]
    return Metric(
        name, 1 - len(missing) / len(wanted), f"{len(missing)} of {len(wanted)} missing" * bool(missing)
    )


def _places(gold: Gold) -> list[tuple[Span, ...]]:
    others = gold.alternates or ((),) * len(gold.spans)
    return [(span, *more) for span, more in zip(gold.spans, others, strict=True)]


def _by_document(ranges: Iterable[Range]) -> Mapping[str, list[tuple[int, int]]]:
    """Return the ranges by document, joined where they overlap or touch."""
    found: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for document, start, end in sorted(ranges):
        joined = found[document]
        if joined and start <= joined[-1][1]:
            start, last = joined.pop()
            end = max(end, last)
        joined.append((start, end))
    return found


def _covered(places: Iterable[Span], ranges: Mapping[str, Sequence[tuple[int, int]]]) -> bool:
    """Say whether the ranges hold one of the places whole."""
    return any(
        start <= place.start and place.end <= end
        for place in places
        for start, end in ranges.get(place.document, ())
    )
