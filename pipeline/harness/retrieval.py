"""Retrieval: search and read (contract 3.1 to 3.9).

Like every action, each is a pure function that returns what it leads to, or raises `InvalidOperation`, and
then nothing has changed (contract 2.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pipeline.corpus import Corpus
from pipeline.errors import InvalidOperation
from pipeline.harness import observation
from pipeline.harness.environment import Effect, Environment
from pipeline.harness.locations import Range, clip, locate, nearest, too_large
from pipeline.harness.observation import Served
from pipeline.harness.operations import Read, Search
from pipeline.harness.state import State

_FEW_DOCUMENTS = 3  # a filter that selects no more has their tables listed,
_NAMED_DOCUMENTS = 20  # and one that selects no more than this, their names


def search(environment: Environment, state: State, operation: Search) -> Effect:
    """Rank passages for a query, and spend a search."""
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
    elif patterns and len(selected) <= _NAMED_DOCUMENTS:
        listings.append(observation.documents([corpus.document_ids[number] for number in selected.tolist()]))
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
    told = observation.search(operation.query, result, listings, unmatched)
    return Effect(replace(state, budget=budget), told, {"hits": hits})


def _no_match(corpus: Corpus, patterns: Sequence[str]) -> str:
    sought = ", ".join(repr(pattern[:60]) for pattern in patterns[:5])
    return (
        f"no document matches {sought}: give ids, or globs in which case matters and * crosses /; "
        f"{nearest(corpus, patterns[0].strip('*'))}"
    )


def read(environment: Environment, state: State, operation: Read) -> Effect:
    """Serve the exact text of locations, and register each as a source."""
    corpus = environment.corpus
    ranges = [locate(corpus, location) for location in operation.locations]
    pieces = clip(corpus, ranges, environment.config.budget.tokens_per_read)
    free = {piece for piece in pieces if _left_the_prompt(corpus, state, piece)}
    spent = sum(corpus.tokens(*piece) for piece in pieces if piece not in free)
    left = state.budget.read_tokens_left
    if spent > left:
        raise InvalidOperation("read_budget_exhausted", too_large(corpus, pieces, left, free))
    sources, reads, events = state.sources, [], []
    for (number, start, end), (_, _, wanted) in zip(pieces, ranges, strict=True):
        document = corpus.document_ids[number]
        onward = end if end < wanted else None
        if end == start:
            reads.append(Served(None, document, start, end, "", 0, onward))
            continue
        text, tokens = corpus.text(number, start, end), corpus.tokens(number, start, end)
        known = len(sources.entries)
        sources, source = sources.register(document, start, end, text, tokens, state.turn)
        if len(sources.entries) > known:
            events.append({"event": "source_registered", **source.as_json()})
        first_read = source.turn if len(sources.entries) == known else None
        gratis = (number, start, end) in free
        reads.append(Served(source.id, document, start, end, text, tokens, onward, first_read, gratis))
    after = replace(state, sources=sources, budget=state.budget.spend_read(spent))
    result = {"reads": [_as_json(each) for each in reads]}
    return Effect(after, observation.read(reads), result, tuple(events))


def _left_the_prompt(corpus: Corpus, state: State, piece: Range) -> bool:
    """Whether a range was read before, and its text has since left the prompt: then it is free (7.4)."""
    number, start, end = piece
    served = state.sources.served_at(corpus.document_ids[number], start, end)
    return served is not None and served <= state.compacted


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
