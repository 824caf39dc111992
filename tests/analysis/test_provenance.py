"""The dependency view: what an answer rests on, from the log alone (contract 7.5)."""

from __future__ import annotations

from pathlib import Path

from pipeline.analysis.provenance import Provenance, provenance
from pipeline.corpus import build
from pipeline.corpus.config import CorpusConfig
from pipeline.protocols import TaskView
from tests.harness.conftest import (
    DOCUMENTS,
    JUNE,
    MARCH,
    SPAN,
    compute,
    final,
    op,
    read,
    revise,
    start,
    upsert,
    write,
)
from tests.variants import variant


def played(folder: Path, name: str, *replies: dict[str, object]) -> Provenance:
    corpus = build([write(folder, DOCUMENTS)], CorpusConfig(), None)
    episode = start(variant(name), corpus, TaskView("t", "What were the expenditures?"))
    return provenance(event for reply in replies for event in episode.send(reply).log)


def test_7_5_an_answer_leads_to_computes_evidence_and_sources(tmp_path: Path) -> None:
    found = played(
        tmp_path,
        "full",
        read(SPAN, {"document": JUNE, "start": 18, "end": 86}),
        upsert("4,100", sources=("s1",)),
        revise("e1", "4,400", sources=("s2",)),
        compute("4400 / 12", evidence=("e2",)),
        compute("4400 / 11.5", evidence=("e2",), constants=[{"value": 11.5, "why": "months"}]),
        final("366.67", ("e2",), computes=["c1"]),
    )
    assert list(found.lines()) == [
        "answer: 366.67",
        "  c1 = 366.666666666667 = 4400 / 12",
        "    e2: 4,400",
        f"      s2: {JUNE} [18:86]",
        "  e2: 4,400 (above)",
        "not part of it:",
        f"  s1: {MARCH} [26:79]",
        "  e1 (superseded by e2): 4,100",
        "  c2 = 382.608695652174 = 4400 / 11.5; declared 11.5 (months)",
    ]
    assert found.reached() == {"answer", "c1", "e2", "s2"}
    assert {"from": "c1", "to": "e2"} in found.as_json()["edges"]
    assert {"id": "s1", "kind": "source", "document": MARCH, "start": 26, "end": 79}.items() <= (
        found.as_json()["nodes"][0].items()
    )


def test_7_5_an_answer_that_names_no_compute_rests_on_those_it_copies(tmp_path: Path) -> None:
    found = played(
        tmp_path, "full", read(), upsert("4,100"), compute("4100 / 3"), compute("4100 / 7"), final("1,366.67")
    )
    assert found.rests_on("answer") == ("c1", "e1")
    assert "  c1 = 1366.66666666667 = 4100 / 3 (by its value: the answer names no compute)" in found.lines()


def test_7_5_without_an_evidence_bank_it_rests_on_sources(tmp_path: Path) -> None:
    found = played(
        tmp_path,
        "no_state",
        read(),
        op("compute", expression="4100 / 2", sources=["s1"]),
        op("final", answer="2050", sources=["s1"], computes=["c1"]),
    )
    assert found.edges == (("c1", "s1"), ("answer", "c1"), ("answer", "s1"))


def test_7_5_an_episode_without_an_answer_has_all_aside(tmp_path: Path) -> None:
    found = played(tmp_path, "full", read(), upsert("4,100"), revise("e1", None), op("nonsense"))
    assert list(found.lines()) == [
        "no answer",
        "not part of it:",
        f"  s1: {MARCH} [26:79]",
        "  e1 (retracted): 4,100",
    ]
    assert not found.reached() and list(Provenance().lines()) == []
