"""The columns of every table of a run: the one definition, from which writers, readers and docs derive."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from pipeline.runs.folder import SCHEMA_VERSION

STRINGS = pa.list_(pa.string())
CONSTANTS = pa.list_(pa.struct([("value", pa.float64()), ("why", pa.string())]))
_RANGE = [("document", pa.string()), ("start", pa.int64()), ("end", pa.int64())]
REFERENCES = pa.list_(pa.struct([*_RANGE, ("sha256", pa.string())]))
SPANS = pa.list_(pa.struct([*_RANGE, ("quote", pa.string())]))
FIELDS = pa.map_(pa.string(), pa.string())

Column = tuple[str, Any, str]

EPISODE_ID: Column = ("episode_id", pa.string(), "the episode: a hash of all that its result depends on")
TURN: Column = ("turn", pa.int32(), "from 1")


def _table(name: str, *columns: Column) -> pa.Schema:
    fields = [pa.field(column, kind, metadata={"description": text}) for column, kind, text in columns]
    return pa.schema(fields, metadata={"longharness.table": name, "longharness.version": str(SCHEMA_VERSION)})


_IDENTITY: tuple[Column, ...] = (
    EPISODE_ID,
    ("arm", pa.string(), "the arm's name"),
    ("harness", pa.string(), "harness option of the arm"),
    ("backbone", pa.string(), "backbone option of the arm"),
    ("model", pa.string(), "model as asked of the server"),
    ("benchmark", pa.string(), "benchmark option of the arm"),
    ("task_id", pa.string(), "the task within its benchmark"),
    ("corpus_id", pa.string(), "the corpus within the benchmark"),
    ("seed", pa.int64(), "seed of the episode"),
)
_HASHES: tuple[Column, ...] = (
    ("prompt_sha256", pa.string(), "of the system prompt and the operations' schema"),
    ("config_sha256", pa.string(), "of the arm's harness and backbone configuration"),
)

PLAN = _table(
    "plan",
    *_IDENTITY,
    ("corpus", pa.string(), "fingerprint of the corpus"),
    ("question", pa.string(), "the question"),
    ("answer_format", pa.string(), "the answer's form (contract 3.21), as JSON"),
    ("fields", FIELDS, "the task's fields: kind, difficulty, …"),
    *_HASHES,
)

GOLD = _table(
    "gold",
    ("benchmark", pa.string(), "benchmark option"),
    ("task_id", pa.string(), "the task within its benchmark"),
    ("scorers", STRINGS, "import paths of the benchmark's scorers, the official one first"),
    ("answer", pa.string(), "the gold answer"),
    ("documents", STRINGS, "documents that hold it"),
    ("spans", SPANS, "where it stands, in code points"),
    ("alternates", pa.list_(SPANS), "for each span, the other places that print the same"),
    ("stale_spans", SPANS, "where a value stands that was revised later"),
    ("expression", pa.string(), "how the answer follows from the spans' values"),
    ("tolerance", pa.float64(), "the question's own relative tolerance"),
)

PLANTED = _table(
    "planted",
    EPISODE_ID,
    ("task_id", pa.string(), "the task"),
    ("arm", pa.string(), "the arm whose transcript form it has"),
    ("seed", pa.int64(), "tells the episodes of a task and arm apart, in no order"),
    ("fault", pa.string(), "right, unread, stale, arithmetic or form"),
    ("e1", pa.bool_(), "the evidence was read"),
    ("e2", pa.bool_(), "it is what was kept and used"),
    ("e3", pa.bool_(), "the answer follows from what was used, in the form asked"),
    ("failure_kind", pa.string(), "not_read, outdated, miscalculated, wrong_unit, …; empty for right"),
    ("note", pa.string(), "the failure in words"),
    ("transcript", pa.string(), "the file that holds it; null where it is in the journal and the tables"),
)

TABLES: dict[str, pa.Schema] = {
    schema.metadata[b"longharness.table"].decode(): schema
    for schema in (
        _table(
            "episodes",
            *_IDENTITY,
            ("attempt", pa.int32(), "which attempt was accepted, from 1"),
            ("status", pa.string(), "answered, turns_exhausted or model_request_failed (contract 4.3)"),
            ("limit_hit", pa.string(), "which limit ended it, if one did"),
            ("error", pa.string(), "what failed, if something did"),
            ("answer", pa.string(), "the accepted answer"),
            ("cited", STRINGS, "ids that the answer rests on"),
            ("turns", pa.int32(), "replies of the model"),
            ("invalid_turns", pa.int32(), "of these, refused ones (contract 2.2)"),
            ("tool_calls", pa.int32(), "valid operations"),
            ("searches", pa.int32(), "valid searches"),
            ("reads", pa.int32(), "valid reads"),
            ("read_tokens", pa.int64(), "estimated tokens read (contract 4.5)"),
            ("prompt_tokens", pa.int64(), "as the server counts them, summed over replies"),
            ("cached_tokens", pa.int64(), "of these, from the server's prefix cache"),
            ("completion_tokens", pa.int64(), "as the server counts them, summed over replies"),
            ("seconds", pa.float64(), "wall time of the accepted attempt"),
            ("replica", pa.string(), "which replica served the last reply"),
            *_HASHES,
        ),
        _table(
            "turns",
            EPISODE_ID,
            TURN,
            ("operation", pa.string(), "as named in the reply; null if none was recognised"),
            ("valid", pa.bool_(), "whether it was executed (contract 2.2)"),
            ("error_code", pa.string(), "why not (contract, section 9)"),
            ("response", pa.string(), "the model's reply, verbatim"),
            ("reasoning", pa.string(), "its reasoning, if the server gave it apart"),
            ("observation", pa.string(), "what the model saw of it"),
            ("observation_refs", REFERENCES, "corpus text in the observation, by code points and SHA-256"),
            ("log", pa.string(), "the turn's events (contract, section 9), as JSON"),
            ("state_sha256", pa.string(), "of the canonical state and observation after the turn"),
        ),
        _table(
            "hits",
            EPISODE_ID,
            TURN,
            ("rank", pa.int32(), "from 1"),
            ("document", pa.string(), "document id"),
            ("start", pa.int64(), "code points"),
            ("end", pa.int64(), "code points"),
            ("score", pa.float64(), "BM25"),
        ),
        _table(
            "sources",
            EPISODE_ID,
            ("source_id", pa.string(), "s1, s2, …"),
            ("turn", pa.int32(), "first read at"),
            ("document", pa.string(), "document id"),
            ("start", pa.int64(), "code points"),
            ("end", pa.int64(), "code points"),
            ("sha256", pa.string(), "of the text"),
            ("tokens", pa.int64(), "estimated (contract 4.5)"),
        ),
        _table(
            "evidence",
            EPISODE_ID,
            ("evidence_id", pa.string(), "e1, e2, …"),
            ("statement", pa.string(), "what is stated"),
            ("sources", STRINGS, "source ids"),
            ("status", pa.string(), "active, superseded or retracted, at the episode's end"),
            ("admitted_turn", pa.int32(), "turn"),
            ("retired_turn", pa.int32(), "turn; null while active"),
            ("superseded_by", pa.string(), "the entry that replaced it"),
        ),
        _table(
            "conclusions",
            EPISODE_ID,
            ("turn", pa.int32(), "each turn that merged an update: the Conclusion State after it"),
            ("list", pa.string(), "established, hypotheses, unresolved or notes"),
            ("index", pa.int32(), "within the list, from 0"),
            ("text", pa.string(), "claim, gap or notes"),
            ("evidence", STRINGS, "ids that the claim cites"),
            ("stale", STRINGS, "of these, inactive ones"),
        ),
        _table(
            "computes",
            EPISODE_ID,
            ("compute_id", pa.string(), "c1, c2, …"),
            TURN,
            ("expression", pa.string(), "as the model wrote it"),
            ("value", pa.float64(), "15 significant digits; 1 and 0 for a comparison's true and false"),
            ("evidence", STRINGS, "ids that it rests on"),
            ("constants", CONSTANTS, "numbers declared not to come from evidence"),
        ),
        _table(
            "requests",
            EPISODE_ID,
            TURN,
            ("request", pa.int32(), "HTTP exchange of the turn, retries included, from 1"),
            ("replica", pa.string(), "base URL that it went to"),
            ("model", pa.string(), "model as asked of the server"),
            ("status", pa.int32(), "HTTP status; null if there was no response"),
            ("finish", pa.string(), "the server's finish reason"),
            ("prompt_tokens", pa.int64(), "as the server counts them"),
            ("cached_tokens", pa.int64(), "of these, from its prefix cache"),
            ("completion_tokens", pa.int64(), "as the server counts them"),
            ("first_token_s", pa.float64(), "seconds to the first token, if streamed"),
            ("seconds", pa.float64(), "seconds to the whole response"),
            ("error", pa.string(), "what failed"),
            ("seed", pa.int64(), "as it was sent; null if none was"),
            ("sampling", pa.string(), "how else the reply was sampled, as it was sent, as JSON"),
            ("prompt_sha256", pa.string(), "of the request's messages, as the JSON array that was sent"),
        ),
        _table(
            "scores",
            EPISODE_ID,
            ("scorer", pa.string(), "scorer"),
            ("version", pa.string(), "its version"),
            ("params", pa.string(), "its parameters, as JSON"),
            ("metric", pa.string(), "exact, within_5%, correct, …"),
            ("value", pa.float64(), "0 to 1; null = unscored"),
            ("reason", pa.string(), "why it is not 1"),
        ),
        _table(
            "judgements",
            EPISODE_ID,
            ("scorer", pa.string(), "the scorer that asked"),
            ("repeat", pa.int32(), "from 1"),
            ("model", pa.string(), "the judge: as the server names it, else as asked of the server"),
            ("prompt_sha256", pa.string(), "of what it was sent: model, sampling, messages"),
            ("verdict", pa.string(), "correct or incorrect; null if none could be read"),
            ("reply", pa.string(), "its reply, verbatim; null if there was none"),
            ("prompt_tokens", pa.int64(), "as the server counts them"),
            ("cached_tokens", pa.int64(), "of these, from its prefix cache"),
            ("completion_tokens", pa.int64(), "as the server counts them"),
            ("seconds", pa.float64(), "wall time of the request, retries included"),
            ("cached", pa.bool_(), "whether an equal request had been answered before: it cost nothing now"),
            ("error", pa.string(), "why there is no verdict"),
        ),
        _table(
            "serving",
            ("time", pa.timestamp("ms", "UTC"), "when it was taken"),
            ("replica", pa.string(), "host and port of the server"),
            ("metric", pa.string(), "as the server names it, without its prefix; counters since its start"),
            ("value", pa.float64(), "of all its engines together; of a share, the largest"),
        ),
    )
}

OF_EPISODES = tuple(name for name in TABLES if name not in ("scores", "judgements", "serving"))
"""The tables that an episode's record is made into, all in one commit."""
