"""What each operation does: references, then resources, then the deed itself (contract, section 3).

Every function here is pure: it takes the state and a well-formed operation, and returns the state after it
with what is to be told and logged, or raises `InvalidOperation`, and then nothing has changed (contract 2.2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pipeline.calculator import evaluate
from pipeline.corpus import Corpus
from pipeline.errors import InvalidOperation
from pipeline.harness import answers, observation
from pipeline.harness.config import HarnessConfig
from pipeline.harness.forms import validate
from pipeline.harness.locations import clip, locate, nearest, too_large
from pipeline.harness.observation import Served, Told
from pipeline.harness.operations import (
    Compute,
    Final,
    Operation,
    Read,
    Revise,
    Search,
    SourcedCompute,
    SourcedFinal,
    Statement,
    Upsert,
)
from pipeline.harness.state import Accepted, Computed, State
from pipeline.harness.turn import Fault
from pipeline.protocols import TaskView

Event = Mapping[str, Any]
_LARGE = 2**63  # an integer result from here on is kept as a float, as JSON and tables have it
_FEW_DOCUMENTS = 3  # a filter that selects no more has their tables listed


@dataclass(frozen=True)
class Environment:
    """What an episode runs in: all that a turn depends on beside the state and the reply (contract 1.1)."""

    config: HarnessConfig
    corpus: Corpus
    task: TaskView


@dataclass(frozen=True)
class Effect:
    """What a valid operation leads to: the state, what is told of it, its result, and events for the log."""

    state: State
    told: Told
    result: Mapping[str, Any]
    events: tuple[Event, ...] = ()


def perform(environment: Environment, state: State, operation: Operation, turn: int) -> Effect:
    """Execute a well-formed operation. Raises `InvalidOperation` if its references or resources don't do."""
    match operation:
        case Search():
            return _search(environment, state, operation)
        case Read():
            return _read(environment, state, operation, turn)
        case Upsert():
            return _upsert(state, operation, turn)
        case Revise():
            return _revise(state, operation, turn)
        case Compute() | SourcedCompute():
            return _compute(state, operation, turn)
        case Final() | SourcedFinal():
            return _final(environment, state, operation)


# --- search


def _search(environment: Environment, state: State, operation: Search) -> Effect:
    corpus, patterns = environment.corpus, operation.documents or []
    selected = corpus.matching(patterns)
    if not len(selected):
        raise InvalidOperation("unknown_document", _no_match(corpus, patterns))
    budget = state.budget.spend_search()
    result = corpus.search(
        operation.query,
        documents=patterns,
        top_k=operation.top_k if operation.top_k is not None else environment.config.search.top_k,
        order=operation.order or "score",
    )
    listings: list[str] = []
    if patterns and len(selected) <= _FEW_DOCUMENTS:
        for number in selected.tolist():
            if found := corpus.tables(number):
                listings.append(observation.tables(corpus.document_ids[number], found, operation.query))
    unmatched = [each for each in patterns if len(patterns) > 1 and not len(corpus.matching([each]))]
    hits = [
        {
            "passage": hit.passage,
            "document": hit.document,
            "start": hit.start,
            "end": hit.end,
            "score": hit.score,
            "snippet": hit.snippet,
            "table": hit.table and {"title": hit.table.title, "start": hit.table.start, "end": hit.table.end},
        }
        for hit in result.hits
    ]
    told = observation.search(result, listings, unmatched)
    return Effect(replace(state, budget=budget), told, {"hits": hits})


def _no_match(corpus: Corpus, patterns: Sequence[str]) -> str:
    sought = ", ".join(repr(pattern[:60]) for pattern in patterns[:5])
    return (
        f"no document matches {sought}: give ids, or globs in which case matters and * crosses /; "
        f"{nearest(corpus, patterns[0].strip('*'))}"
    )


# --- read


def _read(environment: Environment, state: State, operation: Read, turn: int) -> Effect:
    corpus = environment.corpus
    ranges = [locate(corpus, location) for location in operation.locations]
    pieces = clip(corpus, ranges, environment.config.budget.tokens_per_read)
    spent = sum(corpus.tokens(*piece) for piece in pieces)
    left = state.budget.read_tokens_left
    if spent > left:
        raise InvalidOperation("read_budget_exhausted", too_large(corpus, pieces, left))
    sources, reads, events = state.sources, [], []
    for (number, start, end), (_, _, wanted) in zip(pieces, ranges, strict=True):
        document = corpus.document_ids[number]
        onward = end if end < wanted else None
        if end == start:
            reads.append(Served(None, document, start, end, "", 0, onward))
            continue
        text, tokens = corpus.text(number, start, end), corpus.tokens(number, start, end)
        known = len(sources.entries)
        sources, source = sources.register(document, start, end, text, tokens, turn)
        if len(sources.entries) > known:
            events.append({"event": "source_registered", **source.as_json()})
        first_read = source.turn if len(sources.entries) == known else None
        reads.append(Served(source.id, document, start, end, text, tokens, onward, first_read))
    after = replace(state, sources=sources, budget=state.budget.spend_read(spent))
    result = {"reads": [_as_json(each) for each in reads]}
    return Effect(after, observation.read(reads), result, tuple(events))


def _as_json(served: Served) -> dict[str, Any]:
    return {
        "source": served.source,
        "document": served.document,
        "start": served.start,
        "end": served.end,
        "text": served.text,
        "tokens": served.tokens,
        "next": served.next,
    }


# --- evidence


def _upsert(state: State, operation: Upsert, turn: int) -> Effect:
    bank, items, lines = state.evidence, list[Mapping[str, Any]](), list[str]()
    events: list[Event] = []
    for index, sent in enumerate(operation.upsert):
        try:
            statement = validate(Statement, sent, "the item")
            state.sources.require(statement.sources)
        except InvalidOperation as refusal:
            fault = Fault(refusal.code, refusal.message)
            items.append({"index": index, "id": None, "error": fault.as_json()})
            lines.append(f"refused: {fault.code}: {fault.message}")
            events.append({"event": "evidence_refused", "index": index, "code": fault.code})
            continue
        bank, entry = bank.admit(statement.statement, statement.sources, turn)
        items.append({"index": index, "id": entry.id, "error": None})
        lines.append(entry.id)
        events.append({"event": "evidence_admitted", "id": entry.id, "sources": list(entry.sources)})
    after = replace(state, evidence=bank)
    return Effect(after, observation.upsert(lines), {"items": items}, tuple(events))


def _revise(state: State, operation: Revise, turn: int) -> Effect:
    old, replacement = operation.revise.id, operation.revise.replacement
    bank, new_id = state.evidence, None
    bank.require(old)
    events: list[Event] = []
    if replacement:
        state.sources.require(replacement.sources)
        bank, new = bank.admit(replacement.statement, replacement.sources, turn)
        new_id = new.id
        events.append({"event": "evidence_admitted", "id": new.id, "sources": list(new.sources)})
    bank = bank.retire(old, turn, new_id)
    status = "superseded" if new_id else "retracted"
    events.append({"event": f"evidence_{status}", "id": old, "superseded_by": new_id})
    affected = state.conclusion.citing(old) if state.conclusion else ()
    events += [
        {"event": "claim_affected", "list": name, "index": index, "evidence": old}
        for name, index, _ in affected
    ]
    told = observation.revise(old, new_id, affected)
    result = {"id": old, "new_id": new_id, "status": status}
    return Effect(replace(state, evidence=bank), told, result, tuple(events))


# --- compute and final


def _cite(state: State, operation: Compute | SourcedCompute | Final | SourcedFinal) -> tuple[str, ...]:
    """Check what an operation cites, and return it: evidence, or sources where there is no EvidenceBank."""
    if isinstance(operation, SourcedCompute | SourcedFinal):
        state.sources.require(operation.sources)
        return tuple(operation.sources)
    state.evidence.require_all(operation.evidence)
    return tuple(operation.evidence)


def _compute(state: State, operation: Compute | SourcedCompute, turn: int) -> Effect:
    cited = _cite(state, operation)
    value = evaluate(operation.expression)
    number = value.value
    if isinstance(number, int) and abs(number) >= _LARGE:
        number = float(number)
    constants = tuple((constant.value, constant.why) for constant in operation.constants or ())
    computed = Computed(
        f"c{len(state.computes) + 1}", turn, operation.expression, number, value.text, cited, constants
    )
    event = {"event": "computed", "id": computed.id, "value": number, "evidence": list(cited)}
    return Effect(
        replace(state, computes=(*state.computes, computed)),
        observation.compute(computed.id, value.text, value.notes),
        {"id": computed.id, "value": number, "operands": value.operands},
        (event,),
    )


def _final(environment: Environment, state: State, operation: Final | SourcedFinal) -> Effect:
    cited = _cite(state, operation)
    known = [computed.id for computed in state.computes]
    for compute_id in operation.computes or ():
        if compute_id not in known:
            raise InvalidOperation(
                "unknown_evidence",
                f"there is no compute {compute_id[:40]!r}; computes: {', '.join(known[-20:]) or 'none'}",
            )
    answers.check(environment.task.answer_format, operation.answer)
    if isinstance(operation, SourcedFinal):
        evidence, passages = [], list(dict.fromkeys(cited))
    else:
        evidence = list(cited)
        entries = [state.evidence.require(evidence_id) for evidence_id in cited]
        passages = list(dict.fromkeys(source for entry in entries for source in entry.sources))
    accepted = Accepted(operation.answer, cited, tuple(operation.computes or ()))
    return Effect(
        replace(state, accepted=accepted),
        Told("accepted"),
        {"answer": operation.answer, "evidence": evidence, "sources": passages},
        ({"event": "answered", "answer": operation.answer, "evidence": evidence, "sources": passages},),
    )
