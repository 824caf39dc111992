"""Rows of the tables, made from an episode's record and the trace that its replay gave."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import orjson

from pipeline.harness import Trace, Turn
from pipeline.protocols import RequestRecord
from pipeline.runs.journal import RecordedEpisode
from pipeline.runs.schemas import OF_EPISODES

Rows = dict[str, list[dict[str, Any]]]

_IDENTITY = (
    "episode_id",
    "arm",
    "harness",
    "backbone",
    "model",
    "benchmark",
    "task_id",
    "corpus_id",
    "seed",
    "prompt_sha256",
    "config_sha256",
)


def rows(planned: Mapping[str, Any], record: RecordedEpisode, trace: Trace) -> Rows:
    """Return the rows of one episode for every table of episodes. `planned` is its row of the plan."""
    makers: dict[str, Iterable[dict[str, Any]]] = {
        "episodes": [_episode(planned, record, trace)],
        "turns": _turns(trace),
        "hits": _hits(trace),
        "sources": _sources(trace),
        "evidence": _evidence(trace),
        "conclusions": _conclusions(trace),
        "computes": _computes(trace),
        "requests": _requests(record),
    }
    key = {"episode_id": planned["episode_id"]}
    return {table: [key | row for row in made] for table, made in makers.items()}


def merged(episodes: Iterable[Rows]) -> Rows:
    """Return the rows of several episodes, table by table."""
    every = list(episodes)
    return {name: [row for one in every for row in one[name]] for name in OF_EPISODES}


def _episode(planned: Mapping[str, Any], record: RecordedEpisode, trace: Trace) -> dict[str, Any]:
    outcome, spent = record.outcome, trace.state.budget
    usages = [turn.usage for turn in record.turns]
    return {name: planned[name] for name in _IDENTITY} | {
        "attempt": record.attempt.attempt,
        "status": outcome.status,
        "limit_hit": outcome.limit_hit,
        "error": outcome.error,
        "answer": outcome.answer,
        "cited": list(outcome.cited),
        "turns": len(trace.turns),
        "invalid_turns": sum(not turn.valid for turn in trace.turns),
        "tool_calls": sum(turn.valid for turn in trace.turns),
        "searches": spent.searches,
        "reads": sum(turn.valid and turn.operation == "read" for turn in trace.turns),
        "read_tokens": spent.read_tokens,
        "prompt_tokens": sum(usage.prompt for usage in usages),
        "cached_tokens": sum(usage.cached for usage in usages),
        "completion_tokens": sum(usage.completion for usage in usages),
        "seconds": record.seconds,
        "replica": record.turns[-1].replica if record.turns else None,
    }


def _turns(trace: Trace) -> Iterator[dict[str, Any]]:
    for turn in trace.turns:
        yield {
            "turn": turn.number,
            "operation": turn.operation,
            "valid": turn.valid,
            "error_code": turn.error.code if turn.error else None,
            "response": turn.reply.text,
            "reasoning": turn.reply.reasoning,
            "observation": turn.observation,
            "observation_refs": _references(turn),
            "log": orjson.dumps(turn.log).decode(),
            "state_sha256": turn.state_sha256,
        }


def _references(turn: Turn) -> list[dict[str, Any]]:
    """The corpus text that a read showed: by its registered sources."""
    reads = turn.result.get("reads", ()) if turn.result else ()
    sources = [turn.state.sources.get(read["source"]) for read in reads]
    return [
        {"document": found.document, "start": found.start, "end": found.end, "sha256": found.sha256}
        for found in sources
        if found
    ]


def _hits(trace: Trace) -> Iterator[dict[str, Any]]:
    for turn in trace.turns:
        for rank, hit in enumerate(turn.result.get("hits", ()) if turn.result else (), 1):
            yield {
                "turn": turn.number,
                "rank": rank,
                **{name: hit[name] for name in ("document", "start", "end", "score")},
            }


def _sources(trace: Trace) -> Iterator[dict[str, Any]]:
    for source in trace.state.sources.entries:
        yield {
            "source_id": source.id,
            "turn": source.turn,
            "document": source.document,
            "start": source.start,
            "end": source.end,
            "sha256": source.sha256,
            "tokens": source.tokens,
        }


def _evidence(trace: Trace) -> Iterator[dict[str, Any]]:
    for entry in trace.state.evidence.entries:
        shown = entry.as_json()
        yield {"evidence_id": shown.pop("id"), **shown}


def _conclusions(trace: Trace) -> Iterator[dict[str, Any]]:
    """The Conclusion State, or the notes, after every turn that merged an update."""
    for turn in trace.turns:
        if any(event["event"] == "conclusion_merged" for event in turn.log):
            yield from _conclusion(turn)


def _conclusion(turn: Turn) -> Iterator[dict[str, Any]]:
    state = turn.state
    if state.notes is not None:
        yield _claim(turn, "notes", 0, state.notes, (), ())
    if state.conclusion is None:
        return
    lists = state.conclusion.as_json(state.evidence)
    for name in ("established", "hypotheses"):
        for index, claim in enumerate(lists[name]):
            yield _claim(turn, name, index, claim["claim"], claim["evidence"], claim["stale"])
    for index, gap in enumerate(lists["unresolved"]):
        yield _claim(turn, "unresolved", index, gap, (), ())


def _claim(
    turn: Turn, name: str, index: int, text: str, evidence: Sequence[str], stale: Sequence[str]
) -> dict[str, Any]:
    return {
        "turn": turn.number,
        "list": name,
        "index": index,
        "text": text,
        "evidence": list(evidence),
        "stale": list(stale),
    }


def _computes(trace: Trace) -> Iterator[dict[str, Any]]:
    for computed in trace.state.computes:
        yield {
            "compute_id": computed.id,
            "turn": computed.turn,
            "expression": computed.expression,
            "value": float(computed.value),
            "evidence": list(computed.cited),
            "constants": [{"value": value, "why": why} for value, why in computed.constants],
        }


def _requests(record: RecordedEpisode) -> Iterator[dict[str, Any]]:
    exchanges: list[tuple[int, tuple[RequestRecord, ...]]] = [
        *((turn.turn, turn.requests) for turn in record.turns),
        *record.failed,
    ]
    for turn, requests in exchanges:
        for number, request in enumerate(requests, 1):
            yield {
                "turn": turn,
                "request": number,
                "replica": request.replica,
                "model": request.model,
                "status": request.status,
                "finish": request.finish,
                "prompt_tokens": request.usage.prompt,
                "cached_tokens": request.usage.cached,
                "completion_tokens": request.usage.completion,
                "first_token_s": request.first_token_s,
                "seconds": request.seconds,
                "error": request.error,
                "seed": request.seed,
                "sampling": request.sampling,
                "prompt_sha256": request.prompt_sha256,
            }
