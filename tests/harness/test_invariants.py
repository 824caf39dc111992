"""What holds in every episode, whatever is sent: contract 1, 2.2, 3.8, 3.10, 3.16, 4 by random play."""

from __future__ import annotations

import itertools
import json
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.corpus import Corpus
from pipeline.harness import LongHarness, Reply, Turn
from pipeline.harness.config import BudgetConfig, ConclusionRefs, HarnessConfig
from pipeline.harness.state import State
from pipeline.harness.trace import as_json
from pipeline.protocols import TaskView
from tests.harness.conftest import (
    BIG,
    DOCUMENTS,
    JUNE,
    MARCH,
    NOTES,
    Episode,
    Opener,
    op,
    persistent,
    read,
    upsert,
)
from tests.variants import VARIANTS

ENTRIES = st.sampled_from(["e1", "e2", "e3", "e4", "e5", "e9", "x"])
SOURCES = st.lists(st.sampled_from(["s1", "s2", "s3", "s4", "s9"]), max_size=2)
STATEMENTS = st.fixed_dictionaries(
    {"statement": st.sampled_from(["a", "b", " ", "c\nd"]), "sources": SOURCES}
)
CITED = st.lists(ENTRIES, max_size=2)
CLAIMS = st.lists(
    st.fixed_dictionaries({"claim": st.sampled_from(["p", "q"]), "evidence": CITED}), max_size=2
)
UPDATES = st.fixed_dictionaries(
    {},
    optional={
        "established": CLAIMS,
        "hypotheses": CLAIMS,
        "unresolved": st.lists(st.sampled_from(["g", ""]), max_size=2),
    },
)
LOCATIONS = st.fixed_dictionaries(
    {"document": st.sampled_from([MARCH, JUNE, NOTES, BIG, "nope"])},
    optional={"start": st.integers(-1, 90), "end": st.integers(0, 200)},
)
OPERATIONS = st.one_of(
    st.builds(lambda q: op("search", query=q), st.sampled_from(["May", "June 1942", ""])),
    st.builds(lambda at: op("read", locations=at), st.lists(LOCATIONS, min_size=1, max_size=2)),
    st.builds(lambda at: op("read", locations=at), st.lists(LOCATIONS, min_size=1, max_size=2)),
    st.builds(lambda items: op("evidence", upsert=items), st.lists(STATEMENTS, max_size=3)),
    st.builds(lambda items: op("evidence", upsert=items), st.lists(STATEMENTS, min_size=1, max_size=3)),
    st.builds(
        lambda old, new: op("evidence", revise={"id": old, "replacement": new}),
        ENTRIES,
        STATEMENTS | st.none(),
    ),
    st.builds(
        lambda e, cited: op("compute", expression=e, evidence=cited), st.sampled_from(["1+1", "1/0"]), CITED
    ),
    st.builds(lambda cited: op("compute", expression="2", sources=cited), SOURCES),
    st.builds(lambda cited: op("final", answer="", evidence=cited), CITED),
)


@st.composite
def replies(draw: st.DrawFn) -> str:
    if draw(st.integers(0, 9)) == 0:
        return draw(st.sampled_from(["", "no operation", '{"operation": 1}', "<think>"]))
    response = {**draw(OPERATIONS)}
    if draw(st.booleans()):
        response["conclusion"] = draw(UPDATES)
    if draw(st.integers(0, 4)) == 0:
        response["notes"] = draw(st.sampled_from(["n", ""]))
    return json.dumps(response)


def active(state: State, evidence_id: str) -> bool:
    entry = state.evidence.get(evidence_id)
    return entry is not None and entry.status == "active"


def check(before: State, turn: Turn, refs: ConclusionRefs) -> None:
    """What must hold of a turn and of the states around it."""
    after = turn.state
    assert after.turn == before.turn + 1 == turn.number
    assert len(after.history.exchanges) == turn.number
    assert after.history.exchanges[:-1] == before.history.exchanges
    budget = after.budget
    assert min(budget.turns_left, budget.searches_left, budget.read_tokens_left) >= 0
    if not turn.valid:
        assert persistent(before) == persistent(after)
    for old, new in zip(before.evidence.entries, after.evidence.entries, strict=False):
        assert (old.id, old.statement, old.sources, old.admitted_turn) == (
            new.id, new.statement, new.sources, new.admitted_turn,
        )  # fmt: skip
        assert old.status == "active" or old == new
    for number, entry in enumerate(after.evidence.entries, 1):
        assert entry.id == f"e{number}"
    assert after.sources.entries[: len(before.sources.entries)] == before.sources.entries
    for source in after.sources.entries:
        text = DOCUMENTS[source.document][source.start : source.end]
        assert text and source.sha256 == sha256(text.encode()).hexdigest()
    for entry in after.evidence.entries:
        assert entry.sources and all(after.sources.get(source) for source in entry.sources)
        successor = after.evidence.get(entry.superseded_by) if entry.superseded_by else None
        assert (entry.status == "superseded") == (successor is not None)
    if (
        turn.valid
        and turn.operation == "compute"
        and after.evidence.entries
        and after.computes[-1].cited[0][0] == "e"
    ):
        assert all(after.evidence.get(e).status == "active" for e in after.computes[-1].cited)  # type: ignore[union-attr]
    merged = {name for event in turn.log if event["event"] == "conclusion_merged" for name in event["lists"]}
    for name, _, claim in after.conclusion.claims() if after.conclusion else ():
        if name in merged and refs is ConclusionRefs.refuse:
            assert all(active(after, cited) for cited in claim.evidence)
            assert claim.evidence or name == "hypotheses"
    json.dumps(as_json(turn))


@pytest.mark.parametrize("name", VARIANTS)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sent=st.lists(replies(), min_size=4, max_size=24), refs=st.sampled_from(ConclusionRefs))
def test_1_invariants_hold_in_every_episode_and_its_replay_is_equal(
    corpus: Corpus, name: str, sent: list[str], refs: ConclusionRefs
) -> None:
    budget = BudgetConfig(turns=20, searches=3, read_tokens=400, tokens_per_read=60)
    config = HarnessConfig(switches=VARIANTS[name], budget=budget, conclusion_refs=refs)
    spans = [{"document": document, "start": 0, "end": 40} for document in (MARCH, JUNE)]
    first = [json.dumps(read(*spans)), json.dumps(upsert("a", "b"))]
    harness, task = LongHarness(config), TaskView("t", "?")
    trace = harness.replay(task, corpus, map(Reply, [*first, *sent]))
    for before, turn in itertools.pairwise(trace.turns):
        check(before.state, turn, refs)
    again = harness.replay(task, corpus, (turn.reply for turn in trace.turns))
    assert again.turns == trace.turns


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(items=st.lists(STATEMENTS | st.just("x") | st.just({"statement": 1}), min_size=1, max_size=6))
def test_3_10_a_batch_equals_its_items_one_by_one(episode: Opener, items: list[Any]) -> None:
    def opened() -> Episode:
        started = episode()
        started.send(read({"document": MARCH}, {"document": JUNE}))
        return started

    whole, one_by_one = opened(), opened()
    batch = whole.send(op("evidence", upsert=items)).result
    single = [one_by_one.send(op("evidence", upsert=[item])).result for item in items]
    assert batch
    assert [item["id"] for item in batch["items"]] == [each["items"][0]["id"] for each in single if each]
    assert [item["error"] for item in batch["items"]] == [
        each["items"][0]["error"] for each in single if each
    ]
    statements = [[entry.statement for entry in run.state.evidence.entries] for run in (whole, one_by_one)]
    assert statements[0] == statements[1]


ANYTHING: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FIELDS = [
    "query",
    "documents",
    "top_k",
    "order",
    "locations",
    "upsert",
    "revise",
    "expression",
    "evidence",
    "answer",
]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.sampled_from(["search", "read", "evidence", "compute", "final"]) | ANYTHING,
    fields=st.dictionaries(st.sampled_from(FIELDS), ANYTHING, max_size=3),
    patterns=st.lists(st.text("*?[]!a1./\\", max_size=6), max_size=2),
    beside=st.dictionaries(st.sampled_from(["thought", "conclusion", "notes", "x"]), ANYTHING, max_size=2),
)
def test_2_2_whatever_is_sent_is_an_operation_or_an_error(
    episode: Opener, name: Any, fields: dict[str, Any], patterns: list[str], beside: dict[str, Any]
) -> None:
    opened = episode()
    for reply in (
        {"operation": {"name": name, **fields}, **beside},
        {"operation": {"name": "search", "query": "May", "documents": patterns}},
        {"operation": fields},
    ):
        turn = opened.send(json.dumps(reply))
        assert turn.valid == (turn.error is None)
        json.dumps(as_json(turn), ensure_ascii=False).encode()
