"""What holds in every episode, whatever is sent: contract 1 to 4, by machines that play at random.

Each rule sends one reply, sensible or not. After each the invariants are checked, at the end the replay. The
examples are the same in every run; `LONGHARNESS_EXAMPLES_TIMES=50 pytest tests/harness/test_stateful.py`
plays fifty times as many new ones.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import Phase
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from pipeline.corpus import Corpus
from pipeline.harness import LongHarness, Reply, Turn
from pipeline.harness.config import (
    BudgetConfig,
    CompactionConfig,
    ConclusionForm,
    ConclusionRefs,
    HarnessConfig,
    Profile,
    extensions,
)
from pipeline.harness.state import State
from pipeline.harness.trace import as_json
from pipeline.protocols import AnswerFormat, TaskView
from tests.conftest import examples
from tests.harness.conftest import (
    BIG,
    DOCUMENTS,
    JUNE,
    MARCH,
    NOTES,
    OF_JUNE,
    SPAN,
    Episode,
    op,
    persistent,
    start,
)
from tests.variants import VARIANTS

TASK = TaskView("t", "What were the expenditures?", AnswerFormat("line"))

# --- What is sent

# References are drawn as numbers, and named when they are sent: 1 is the latest, 0 one that there is not.
CITED: st.SearchStrategy[list[int]] = st.lists(
    st.sampled_from([1, 1, 2, 3, 4, 0]), min_size=1, max_size=2
) | st.just([])
TEXTS = st.sampled_from(["May was 4,100", "June was 4,531", "two\nlines", '"quoted"', "café 😀", " ", ""])
SAID = st.sampled_from(["May was 4,100", "June was 4,531", "May was\n4,400"])
ITEMS: st.SearchStrategy[Any] = st.one_of(
    st.fixed_dictionaries({"statement": SAID, "sources": st.just([1])}),
    st.fixed_dictionaries({"statement": SAID, "sources": CITED}),
    st.fixed_dictionaries({"statement": TEXTS, "sources": CITED}),
)
FAULTY: st.SearchStrategy[Any] = st.sampled_from(
    [None, 7, "May was 4,100", [], {}, {"statement": "no sources"}, {"statement": 1, "sources": [1]}]
)
BATCHES: st.SearchStrategy[list[Any]] = st.lists(
    st.one_of(ITEMS, ITEMS, ITEMS, FAULTY), min_size=1, max_size=4
) | st.just([])
REVISIONS: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {"id": st.sampled_from([1, 1, 2, 3, 0]), "replacement": ITEMS | st.none()}
)
RANGES = st.fixed_dictionaries(
    {"document": st.sampled_from([MARCH, JUNE, NOTES, BIG, "fence.txt", "nope"])},
    optional={"start": st.integers(-1, 60), "end": st.integers(20, 200) | st.none()},
)
GLOBS = st.sampled_from(["1942/*", "*", NOTES, "none/*"]) | st.text("*?[]!a1./\\", max_size=6)
PASSAGES = st.fixed_dictionaries(
    {"passage": st.sampled_from([f"{MARCH}#0", f"{JUNE}#0", f"{NOTES}#0", f"{JUNE}#9", BIG])}
)
SPANS = st.sampled_from([SPAN, OF_JUNE])
CLAIMS = st.lists(
    st.one_of(
        st.fixed_dictionaries({"claim": SAID, "evidence": CITED}),
        st.fixed_dictionaries({"claim": SAID, "evidence": CITED}),
        st.fixed_dictionaries({"claim": TEXTS}, optional={"evidence": CITED}),
        TEXTS,
    ),
    max_size=2,
)
CONCLUSIONS: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {}, optional={"established": CLAIMS, "hypotheses": CLAIMS, "unresolved": st.lists(SAID, max_size=2)}
)
# An update is drawn for either form of the Conclusion State; the variant takes its own.
BESIDE: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.just({}),
    st.fixed_dictionaries({"own": st.tuples(CONCLUSIONS, SAID)}),
    st.fixed_dictionaries({"own": st.tuples(CONCLUSIONS, SAID)}),
    st.fixed_dictionaries({}, optional={"thought": TEXTS}),
    st.sampled_from([
        {"conclusion": None}, {"conclusion": 7}, {"conclusion": {"y": 1}}, {"conclusion": {}},
        {"notes": "May"}, {"notes": None}, {"notes": 7}, {"thought": 7}, {"x": 1},
    ]),
)  # fmt: skip
EXPRESSIONS = st.sampled_from(
    ["4100 / 2", "sum(1,234, 5)", "mean([4100, 4531])", "1/0", "2**2000", "import os", ""]
)
ANSWERS = st.sampled_from(["4,100", "4,531", 4100, 10.5, "", "two\nlines", True])
MALFORMED = st.sampled_from([
    "", "I am not sure.", "<think>", '{"operation": 1}', '{"operation": {"name": "search"', "[]", "\x00",
    '{"name": "search", "query": "May"}',
    '{"operation": {"name": "search", "query": "a"}} {"operation": {"name": "search", "query": "b"}}',
    '{"operation": {"name": "browse"}}', '{"operation": {"name": null}}',
    '{"operation": {"name": "search", "query": "\\ud800"}}',
    '{"operation": {"name": "search", "query": "\ud800"}}',
])  # fmt: skip
ANYTHING: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
FIELDS = st.sampled_from(
    [
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
)
UNTYPED = st.builds(
    lambda name, fields, beside: json.dumps({"operation": {**fields, "name": name}, **beside}),
    st.sampled_from(["search", "read", "evidence", "compute", "final"]) | ANYTHING,
    st.dictionaries(FIELDS, ANYTHING, max_size=3),
    st.dictionaries(st.sampled_from(["thought", "conclusion", "notes", "x"]), ANYTHING, max_size=2),
)
OTHER_EPISODE = [  # its s1 and its e1 are not those of the episodes that are played
    op("read", locations=[{"document": NOTES, "start": 0, "end": 30}]),
    op("evidence", upsert=[{"statement": "A note of 4,100", "sources": ["s1"]}]),
]
PHASES = [Phase.generate, Phase.shrink]  # explaining a failure takes minutes
BUDGETS = st.one_of(
    st.just(BudgetConfig(turns=40)),
    st.builds(
        BudgetConfig,
        turns=st.integers(8, 30),
        searches=st.integers(0, 3),
        read_tokens=st.integers(10, 120),
        tokens_per_read=st.integers(5, 60),
    ),
)


KINDS = {
    "sources": ("s", "sources"),
    "evidence": ("e", "evidence"),
    "id": ("e", "evidence"),
    "computes": ("c", "computes"),
}


class Episodes(RuleBasedStateMachine):
    """Plays episodes in one variant; one that ends is replayed, and another begins."""

    def __init__(self, corpus: Corpus, variant: str) -> None:
        super().__init__()
        self.corpus, self.variant = corpus, variant

    @initialize(
        budget=BUDGETS,
        refs=st.sampled_from(ConclusionRefs),
        profile=st.sampled_from(Profile),
        window=st.sampled_from([131_072, 7_000, 500]),  # never compacted, now and then, at every turn
        opened=st.sampled_from([True, True, False]),
    )
    def begin(
        self, budget: BudgetConfig, refs: ConclusionRefs, profile: Profile, window: int, opened: bool
    ) -> None:
        self.config = HarnessConfig(
            switches=deepcopy(VARIANTS[self.variant]),
            budget=replace(budget, tokens_per_read=min(budget.tokens_per_read, window // 2)),
            conclusion_refs=refs,
            profile=profile,
            compaction=CompactionConfig(window=window),
        )
        self.episode = start(self.config, self.corpus, TASK)
        self.first = self.episode.state
        self.known: dict[str, State] = {}
        self.forget()
        if opened:
            self.send(op("read", locations=[SPAN]))
            self.send(op("evidence", upsert=[{"statement": "May was 4,100", "sources": [1]}]))

    def forget(self) -> None:
        self.episode.state = self.before = self.first
        self.turns: list[Turn] = []
        self.retired: set[str] = set()

    def send(self, sent: Mapping[str, Any] | str, beside: Mapping[str, Any] | None = None) -> Turn:
        text = (
            sent if isinstance(sent, str) else json.dumps(self.named({**sent, **self.update(beside or {})}))
        )
        self.before = self.episode.state
        turn = self.episode.send(text)
        self.turns.append(turn)
        return turn

    def update(self, beside: Mapping[str, Any]) -> Mapping[str, Any]:
        """What stands beside the operation, an update of the variant's `own` under its name."""
        if "own" not in beside:
            return beside
        structured, notes = beside["own"]
        return {
            ConclusionForm.structured: {"conclusion": structured},
            ConclusionForm.notes: {"notes": notes},
            ConclusionForm.none: {},
        }[self.config.switches.conclusion]

    def named(self, value: Any, field: str = "") -> Any:
        """A reply with the ids of what its numbers refer to."""
        if isinstance(value, dict):
            return {key: self.named(each, key) for key, each in value.items()}
        if isinstance(value, list):
            return [self.named(each, field) for each in value]
        if field not in KINDS or not isinstance(value, int):
            return value
        letter, entries = KINDS[field], getattr(self.episode.state, KINDS[field][1])
        there = getattr(entries, "entries", entries)
        return f"{letter[0]}99" if value == 0 or not there else there[-min(value, len(there))].id

    def cite(self, cited: Sequence[int], usual: int) -> dict[str, Any]:
        """What a compute or a final cites: by the field of the variant, or if not `usual` by the other."""
        bank = self.config.switches.evidence_bank
        return {"evidence" if bank == (usual > 0) else "sources": list(cited)}

    @property
    def running(self) -> bool:
        return self.episode.state.status == "running"

    # --- Rules: one reply each

    @precondition(lambda self: self.running)
    @rule(
        query=st.sampled_from(["May 1942 expenditures", "long ledger", "zzz", "May", ""]),
        documents=st.none() | st.just(["1942/*"]) | st.lists(GLOBS, max_size=2),
        top_k=st.sampled_from([None, None, 1, 3, 0]),
        order=st.sampled_from([None, None, "score", "document", "date"]),
        beside=BESIDE,
    )
    def search(self, query: str, documents: Any, top_k: Any, order: Any, beside: dict[str, Any]) -> None:
        self.send(op("search", query=query, documents=documents, top_k=top_k, order=order), beside)

    @precondition(lambda self: self.running)
    @rule(at=st.lists(SPANS | RANGES | PASSAGES, max_size=2), beside=BESIDE)
    def read(self, at: list[Any], beside: dict[str, Any]) -> None:
        self.send(op("read", locations=at), beside)

    @precondition(lambda self: self.running)
    @rule(at=SPANS)
    def read_what_is_there(self, at: dict[str, Any]) -> None:
        self.send(op("read", locations=[at]))

    @precondition(lambda self: self.running and self.episode.state.sources.entries)
    @rule(number=st.sampled_from([1, 1, 2, 3]))
    def read_again(self, number: int) -> None:
        entries = self.episode.state.sources.entries
        again = entries[-min(number, len(entries))]
        self.send(
            op("read", locations=[{"document": again.document, "start": again.start, "end": again.end}])
        )

    @precondition(lambda self: self.running)
    @rule(items=BATCHES, beside=BESIDE)
    def upsert(self, items: list[Any], beside: dict[str, Any]) -> None:
        self.one_by_one("upsert", items)
        self.send(op("evidence", upsert=items), beside)

    @precondition(lambda self: self.running)
    @rule(statement=SAID)
    def upsert_what_was_read(self, statement: str) -> None:
        self.send(op("evidence", upsert=[{"statement": statement, "sources": [1]}]))

    @precondition(lambda self: self.running)
    @rule(revision=REVISIONS, beside=BESIDE)
    def revise(self, revision: dict[str, Any], beside: dict[str, Any]) -> None:
        self.send(op("evidence", revise=revision), beside)

    @precondition(lambda self: self.running and extensions(self.config).batch_revise)
    @rule(revisions=st.lists(REVISIONS | REVISIONS | FAULTY, min_size=1, max_size=3))
    def revise_several(self, revisions: list[Any]) -> None:
        self.one_by_one("revise", revisions)
        self.send(op("evidence", revise=revisions))

    @precondition(lambda self: self.running)
    @rule(expression=EXPRESSIONS, cited=CITED, usual=st.integers(0, 9), beside=BESIDE)
    def compute(self, expression: str, cited: list[int], usual: int, beside: dict[str, Any]) -> None:
        self.send(op("compute", expression=expression, **self.cite(cited, usual)), beside)

    @precondition(lambda self: self.running)
    @rule(
        answer=ANSWERS,
        cited=CITED,
        usual=st.integers(0, 9),
        computes=st.sampled_from([None, None, [1], [0]]),
        beside=BESIDE,
    )
    def final(self, answer: Any, cited: list[int], usual: int, computes: Any, beside: dict[str, Any]) -> None:
        self.send(op("final", answer=answer, computes=computes, **self.cite(cited, usual)), beside)

    @precondition(lambda self: self.running)
    @rule(text=MALFORMED | st.text(max_size=20) | UNTYPED)
    def what_is_no_operation(self, text: str) -> None:
        self.send(text)

    @precondition(lambda self: not self.running)
    @rule()
    def begin_again(self) -> None:
        self.replay()
        self.forget()

    # --- Invariants of a turn

    @invariant()
    def turns_and_history_grow_by_one(self) -> None:
        if self.turns:
            turn, after = self.turns[-1], self.turns[-1].state
            assert turn.number == after.turn == self.before.turn + 1 == len(self.turns)
            *earlier, newest = after.history.exchanges
            assert tuple(earlier) == self.before.history.exchanges
            assert (newest.reply, newest.observation) == (turn.reply, turn.observation)

    @invariant()
    def an_invalid_turn_changes_history_log_and_turn_count_alone(self) -> None:
        if self.turns:
            turn = self.turns[-1]
            assert turn.valid == (turn.error is None) == (turn.result is not None)
            rejected = [event for event in turn.log if event["event"] == "operation_rejected"]
            assert len(rejected) == (not turn.valid)
            if not turn.valid:
                assert persistent(turn.state) == persistent(self.before)

    @invariant()
    def budgets_are_spent_as_used_and_never_refunded(self) -> None:
        if self.turns:
            turn = self.turns[-1]
            before, after = self.before.budget, turn.state.budget
            assert min(after.turns_left, after.searches_left, after.read_tokens_left) >= 0
            assert after.turns_left == before.turns_left - 1
            searched = turn.valid and turn.operation == "search"
            assert after.searches_left == before.searches_left - searched
            reads = turn.result["reads"] if turn.valid and turn.operation == "read" and turn.result else []
            paid = sum(each["tokens"] for each in reads if not self.has_left_the_prompt(each))
            assert before.read_tokens_left - after.read_tokens_left == paid
            assert sum(each["tokens"] for each in reads) <= self.config.budget.tokens_per_read

    def has_left_the_prompt(self, served: Mapping[str, Any]) -> bool:
        """Whether the latest turn before this one that served the range is told of by its stub (7.4)."""
        at = [
            turn.number
            for turn in self.turns[:-1]
            for each in (turn.result or {}).get("reads", ())
            if each["source"] == served["source"]
        ]
        return bool(at) and at[-1] <= self.before.compacted

    @invariant()
    def ids_are_given_once_and_what_they_name_never_changes(self) -> None:
        before, after = self.before, self.episode.state
        for kept, now in (
            (before.sources.entries, after.sources.entries),
            (before.computes, after.computes),
        ):
            assert now[: len(kept)] == kept
        old, new = before.evidence.entries, after.evidence.entries
        assert len(new) >= len(old)
        for was, entry in zip(old, new, strict=False):
            assert (was.id, was.statement, was.sources, was.admitted_turn) == (
                entry.id, entry.statement, entry.sources, entry.admitted_turn,
            )  # fmt: skip
            assert was.status == "active" or was == entry
        for letter, entries in (("e", new), ("s", after.sources.entries), ("c", after.computes)):
            assert [entry.id for entry in entries] == [f"{letter}{n}" for n in range(1, len(entries) + 1)]

    @invariant()
    def the_log_tells_what_changed(self) -> None:
        if self.turns:
            log, before, after = self.turns[-1].log, self.before, self.episode.state
            count = {name: sum(event["event"] == name for event in log) for name in (
                "source_registered", "evidence_admitted", "computed", "answered",
            )}  # fmt: skip
            assert count == {
                "source_registered": len(after.sources.entries) - len(before.sources.entries),
                "evidence_admitted": len(after.evidence.entries) - len(before.evidence.entries),
                "computed": len(after.computes) - len(before.computes),
                "answered": after.accepted is not None,
            }
            gone = {e.id for e in before.evidence.active} - {e.id for e in after.evidence.active}
            logged = [e["id"] for e in log if e["event"] in ("evidence_superseded", "evidence_retracted")]
            assert gone <= set(logged) and len(logged) == len(set(logged))

    @invariant()
    def what_is_retired_is_never_active_again_nor_accepted(self) -> None:
        if not self.turns:
            return
        turn, after = self.turns[-1], self.episode.state
        if turn.valid and turn.operation in ("compute", "final"):
            accepted = after.accepted.cited if after.accepted else after.computes[-1].cited
            assert accepted and not self.retired.intersection(accepted)
            citable = after.evidence.active if self.config.switches.evidence_bank else after.sources.entries
            assert {entry.id for entry in citable}.issuperset(accepted)
        merged = {each for e in turn.log if e["event"] == "conclusion_merged" for each in e["lists"]}
        for name, _, claim in after.conclusion.claims() if after.conclusion else ():
            if name in merged:
                assert all(after.evidence.get(cited) for cited in claim.evidence)
                assert claim.evidence or name == "hypotheses"
                if self.config.conclusion_refs is ConclusionRefs.refuse:
                    assert not self.retired.intersection(claim.evidence)
        self.retired |= {entry.id for entry in after.evidence.entries if entry.status != "active"}
        assert not self.retired.intersection(entry.id for entry in after.evidence.active)

    @invariant()
    def a_conclusion_changes_only_where_it_was_merged(self) -> None:
        if self.turns:
            log, before, after = self.turns[-1].log, self.before, self.episode.state
            merged = {
                each for event in log if event["event"] == "conclusion_merged" for each in event["lists"]
            }
            if self.turns[-1].operation == "evidence":
                assert not merged
            for name in ("established", "hypotheses", "unresolved"):
                if name not in merged:
                    assert getattr(after.conclusion, name, None) == getattr(before.conclusion, name, None)
            assert "notes" in merged or after.notes == before.notes

    # --- Invariants of a state

    @invariant()
    def every_citable_reference_is_what_the_document_says(self) -> None:
        state = self.episode.state
        for source in state.sources.entries:
            text = DOCUMENTS[source.document][source.start : source.end]
            assert text and source.sha256 == sha256(text.encode()).hexdigest()
        for entry in state.evidence.entries:
            assert entry.sources and all(state.sources.get(source) for source in entry.sources)
            successor = state.evidence.get(entry.superseded_by) if entry.superseded_by else None
            assert (entry.status == "superseded") == (successor is not None)
            assert (entry.retired_turn is None) == (entry.status == "active")

    @invariant()
    def a_trace_is_unicode_json(self) -> None:
        if self.turns:
            json.dumps(as_json(self.turns[-1]), ensure_ascii=False, allow_nan=False).encode()

    @invariant()
    def equal_hashes_mean_equal_states(self) -> None:
        state = self.episode.state
        assert sha256(state.canonical()).hexdigest() == state.sha256
        known = self.known.setdefault(state.sha256, state)
        assert known == state and known.canonical() == state.canonical()

    # --- Properties of branches and of whole episodes

    def one_by_one(self, field: str, items: Sequence[Any]) -> None:
        """Check that a batch equals its items one by one, apart from turn numbers (contract 3.10, 7.6)."""
        state = self.episode.state
        if not items or state.budget.turns_left <= len(items) or not self.config.switches.evidence_bank:
            return
        whole, single = (Episode(self.episode.environment, state) for _ in range(2))
        items = self.named({field: list(items)})[field]  # the ids as they are now
        batch = whole.send(op("evidence", **{field: items}))
        if not batch.valid:
            assert field == "revise" and not self.config.switches.revise
            return
        alone = [single.send(op("evidence", **{field: [item]})) for item in items]
        assert batch.result and [verdict(each) for each in batch.result["items"]] == [
            verdict(turn.result["items"][0]) for turn in alone if turn.result
        ]
        assert undated(whole.state) == undated(single.state)

    def replay(self) -> None:
        """Check that the replies alone give the episode again (contract 1.1, 1.2).

        Once by a harness of its own, and once in an environment where another episode has been played.
        """
        replies = [turn.reply for turn in self.turns]
        harness = LongHarness(deepcopy(self.config))
        trace = harness.replay(TASK, self.corpus, [*replies, *([] if self.running else [Reply("more")])])
        assert trace.turns == tuple(self.turns)
        again = start(deepcopy(self.config), self.corpus, TASK)
        again.play(*OTHER_EPISODE)
        again.state = self.first
        assert [again.send(reply.text) for reply in replies] == self.turns
        assert [turn.state_sha256 for turn in trace.turns] == [turn.state.sha256 for turn in self.turns]
        assert list(map(as_json, trace.turns)) == list(map(as_json, self.turns))
        assert trace.state == self.episode.state and (trace.outcome is None) == self.running

    def teardown(self) -> None:
        if not hasattr(self, "known"):
            return
        self.replay()
        for one, other in itertools.combinations(self.known.values(), 2):
            assert one.canonical() != other.canonical() and one != other


def verdict(item: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    """What became of an item, wherever it stood in its batch."""
    return item["id"], item.get("new_id"), item["error"]


def undated(state: State) -> list[tuple[Any, ...]]:
    """The EvidenceBank without the turns at which it changed."""
    return [(e.id, e.statement, e.sources, e.status, e.superseded_by) for e in state.evidence.entries]


@pytest.mark.parametrize("variant", VARIANTS)
def test_1_whatever_is_sent_the_contract_holds(corpus: Corpus, variant: str) -> None:
    run_state_machine_as_test(
        lambda: Episodes(corpus, variant),  # type: ignore[arg-type]
        settings=examples(25, stateful_step_count=20, phases=PHASES),
    )
