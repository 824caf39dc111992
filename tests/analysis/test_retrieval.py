"""Retrieval recall: what an episode found, read and cited of the gold documents and spans."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pipeline.analysis.retrieval import Reached, reached, recall
from pipeline.benchmarks.tasks import Gold, Span
from pipeline.runs import tables
from pipeline.runs.folder import RunFolder
from tests.analysis.conftest import row

NOTHING = Reached((), (), ())


def values(gold: Gold, came_to: Reached) -> dict[str, float | None]:
    return {metric.metric: metric.value for metric in recall(gold, came_to)}


def span(document: str, start: int, end: int) -> Span:
    return Span(document, start, end, "7" * (end - start))


def test_recall_of_documents_counts_each_stage_by_itself() -> None:
    gold = Gold("7", documents=("a", "b", "c", "d"))
    came_to = Reached(found=[("a", 0, 9), ("b", 0, 9), ("x", 0, 9)], read=[("a", 3, 4)], cited=[])
    assert values(gold, came_to) == {
        "documents_found": 0.5,
        "documents_read": 0.25,
        "documents_cited": 0.0,
    }


def test_a_gold_without_documents_and_spans_has_no_recall() -> None:
    assert recall(Gold("7"), NOTHING) == []


@pytest.mark.parametrize(
    ("ranges", "share"),
    [
        ([("a", 10, 20)], 1.0),
        ([("a", 0, 100)], 1.0),
        ([("a", 11, 20)], 0.0),
        ([("a", 10, 19)], 0.0),
        ([("b", 10, 20)], 0.0),
        ([("a", 14, 30), ("a", 0, 14)], 1.0),  # two reads that touch
        ([("a", 15, 30), ("a", 0, 14)], 0.0),
        ([("a", 0, 40), ("a", 5, 6)], 1.0),  # a later, shorter read takes nothing away
    ],
)
def test_a_span_counts_where_it_is_read_whole(ranges: list[tuple[str, int, int]], share: float) -> None:
    gold = Gold("7", spans=(span("a", 10, 20),))
    assert values(gold, Reached((), ranges, ()))["spans_read"] == share


def test_a_span_counts_at_any_place_that_prints_the_same() -> None:
    gold = Gold("7", spans=(span("a", 0, 2), span("b", 0, 2)), alternates=((span("c", 5, 7),), ()))
    assert values(gold, Reached([("c", 0, 9)], (), ()))["spans_found"] == 0.5


def test_the_reason_says_how_many_are_missing() -> None:
    (found, read, cited) = recall(
        Gold("7", documents=("a", "b")), Reached([("a", 0, 1), ("b", 0, 1)], (), ())
    )
    assert (found.reason, read.reason, cited.reason) == ("", "2 of 2 missing", "2 of 2 missing")


def folder_of(path: Path, *episodes: Mapping[str, list[dict[str, Any]]]) -> Path:
    """Write a run folder whose tables hold the episodes, a commit each, as compaction leaves them."""
    RunFolder(path).create()
    for number, episode in enumerate(episodes):
        names = [name for name in tables.TABLES if name not in ("scores", "judgements")]
        parts = {}
        for name in names:
            rows = [
                row(tables.TABLES[name], **{"episode_id": str(number), **one})
                for one in episode.get(name, [{}] * (name == "episodes"))
            ]
            parts[name] = tables.write_part(path, name, rows)
        tables.commit(path, f"episodes-{number}", parts)
    return path


def test_an_answer_cites_what_its_computed_values_and_evidence_rest_on(tmp_path: Path) -> None:
    sources = [
        {"source_id": f"s{n}", "document": name, "start": 0, "end": 9} for n, name in enumerate("abcd", 1)
    ]
    folder = folder_of(
        tmp_path,
        {
            "episodes": [{"cited": ["c2", "s4"]}],
            "sources": sources,
            "evidence": [
                {"evidence_id": "e1", "sources": ["s1", "s2"]},
                {"evidence_id": "e2", "sources": ["s3"]},
            ],
            "computes": [
                {"compute_id": "c1", "evidence": ["e1"]},
                {"compute_id": "c2", "evidence": ["c1", "c2"]},
            ],
        },
    )
    ((_, came_to),) = reached(folder)
    assert [document for document, _, _ in came_to.cited] == ["a", "b", "d"]
    assert [document for document, _, _ in came_to.read] == ["a", "b", "c", "d"]


def test_every_finished_episode_has_its_recall_whatever_it_did(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, {"hits": [{"document": "a", "start": 0, "end": 5}]}, {})
    found = dict(reached(folder))
    assert found == {"0": Reached([("a", 0, 5)], [], []), "1": Reached([], [], [])}
