"""Scores: recorded answers against the gold, without a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa

from pipeline.benchmarks.scorers import INTERNAL_ERROR, NO_ANSWER, Metric, Scorer, is_judged, load_scorer
from pipeline.benchmarks.tasks import Gold, Span
from pipeline.errors import BenchmarkError, ConfigError, RunError
from pipeline.runs import tables

BATCH = 1_000


@dataclass(frozen=True)
class Scored:
    """How many episodes were scored: of these, those without an answer and those where the scorer failed.

    `owed` are planned episodes that have no result yet; they are not scored.
    """

    episodes: int
    no_answer: int
    errors: int
    owed: int


def score(folder: Path) -> Scored:
    """Score every finished episode of the run in `folder`, and replace its table `scores`.

    An episode that ended without an answer scores 0 (contract 4.4). Raises `RunError` if gold is missing.
    """
    golds = {(row["benchmark"], row["task_id"]): row for row in tables.read_gold(folder).to_pylist()}
    scorers = {path: load_scorer(path) for row in golds.values() for path in row["scorers"]}
    episodes = tables.read(folder, "episodes", ["episode_id", "benchmark", "task_id", "status", "answer"])
    counts = Counter[str]()
    parts = [tables.TABLES["scores"].empty_table()]
    for batch in episodes.to_batches(max_chunksize=BATCH):
        rows: list[dict[str, Any]] = []
        for episode in batch.to_pylist():
            gold = golds.get((episode["benchmark"], episode["task_id"]))
            if gold is None:
                raise RunError(
                    f"{folder}: gold.parquet has no task {episode['task_id']!r}: run evaluate again"
                )
            answer = episode["answer"] if episode["status"] == "answered" else None
            for scorer in (scorers[path] for path in gold["scorers"]):
                if is_judged(scorer):
                    continue
                metrics = scorer.score(_gold(gold), answer)
                counts[_outcome(metrics)] += 1
                rows += [_row(episode["episode_id"], scorer, metric) for metric in metrics]
        parts.append(tables.from_rows(rows, tables.TABLES["scores"]))
    tables.replace(folder, "scores", pa.concat_tables(parts))
    owed = tables.read_plan(folder).num_rows - episodes.num_rows
    return Scored(episodes.num_rows, counts[NO_ANSWER], counts[INTERNAL_ERROR], owed)


def _outcome(metrics: list[Metric]) -> str:
    if any(metric.reason.startswith(INTERNAL_ERROR) for metric in metrics):
        return INTERNAL_ERROR
    return NO_ANSWER if all(metric.reason == NO_ANSWER for metric in metrics) else "scored"


def _row(episode_id: str, scorer: Scorer, metric: Metric) -> dict[str, Any]:
    return {
        "episode_id": episode_id,
        "scorer": scorer.NAME,
        "version": scorer.VERSION,
        "params": orjson.dumps(scorer.PARAMS[metric.metric]).decode(),
        "metric": metric.metric,
        "value": metric.value,
        "reason": metric.reason,
    }


def _gold(row: Mapping[str, Any]) -> Gold:
    return Gold(
        answer=row["answer"],
        documents=tuple(row["documents"] or ()),
        spans=tuple(Span(**span) for span in row["spans"] or ()),
        alternates=tuple(tuple(Span(**span) for span in places) for places in row["alternates"] or ()),
        stale_spans=tuple(Span(**span) for span in row["stale_spans"] or ()),
        expression=row["expression"],
        tolerance=row["tolerance"],
    )


def score_lines(path: Path, scorer: Scorer) -> Iterator[dict[str, Any]]:
    """Score bare strings: each line of `path` is `{"gold", "answer", "tolerance"}`; yields it with `score`.

    Without a tolerance it is 0. Raises `BenchmarkError`, which names file, row and column, and `ConfigError`
    for a scorer that does not score bare strings.
    """
    if not hasattr(scorer, "score_answer"):
        raise ConfigError(f"scorer {scorer.NAME} scores episodes only, no bare strings")
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise BenchmarkError(
            f"answers file {str(path)!r} can't be read: {error.strerror or error}"
        ) from error
    for number, line in enumerate(lines, start=1):
        if line.strip():
            case = _case(f"{path}, row {number}", line)
            yield {**case, "score": scorer.score_answer(case["gold"], case["answer"], case["tolerance"])}


def _case(place: str, line: bytes) -> dict[str, Any]:
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise BenchmarkError(f"{place}: no JSON: {error}") from error
    if not isinstance(value, dict):
        raise BenchmarkError(f"{place}: not an object with gold, answer and tolerance")
    case = {"tolerance": 0.0, **value}
    for column in ("gold", "answer"):
        if not isinstance(case.get(column), str):
            raise BenchmarkError(f"{place}, column {column}: not a string")
    tolerance = case["tolerance"]
    if isinstance(tolerance, bool) or not isinstance(tolerance, int | float) or not 0 <= tolerance <= 1:
        raise BenchmarkError(f"{place}, column tolerance: {tolerance!r} is not a number from 0 to 1")
    return case
