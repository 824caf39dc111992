"""Bare strings scored: lines of gold and answer, without a run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson

from pipeline.analysis.judgements import Journal
from pipeline.analysis.judging import Shown
from pipeline.analysis.verdicts import Case, judged
from pipeline.backbone.config import JudgeConfig
from pipeline.benchmarks.scorers import JudgedScorer, Scorer
from pipeline.benchmarks.tasks import Gold
from pipeline.errors import BenchmarkError, ConfigError


def score_lines(path: Path, scorer: Scorer) -> Iterator[dict[str, Any]]:
    """Score bare strings: each line of `path` is `{"gold", "answer", "tolerance"}`; yields it with `score`.

    Without a tolerance it is 0. Raises `BenchmarkError`, which names file, row and column, and `ConfigError`
    for a scorer that does not score bare strings.
    """
    if not hasattr(scorer, "score_answer"):
        raise ConfigError(f"scorer {scorer.NAME} scores episodes only, no bare strings")
    for case in _cases(path):
        yield {**case, "score": scorer.score_answer(case["gold"], case["answer"], case["tolerance"])}


def judge_lines(
    path: Path, scorer: JudgedScorer, judge: JudgeConfig, shown: Shown | None = None
) -> list[dict[str, Any]]:
    """Have bare answers judged: lines as above, each with its `question`, if there is one.

    Returns each with `score`, which is None if no repeat gave a verdict, and the `reason`. Replies are kept
    in the cache: an interrupted call goes on where it was. Raises as `score_lines`, and as `judged`.
    """
    cases = list(_cases(path))
    asked = [Case(case.get("question", ""), Gold(case["gold"]), case["answer"]) for case in cases]
    with TemporaryDirectory() as folder, Journal(Path(folder) / "judgements.jsonl") as journal:
        verdicts = judged(scorer, asked, judge, journal, shown)
    return [
        {**case, "score": verdict.metric.value, "reason": verdict.metric.reason}
        for case, verdict in zip(cases, verdicts, strict=True)
    ]


def _cases(path: Path) -> Iterator[dict[str, Any]]:
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise BenchmarkError(
            f"answers file {str(path)!r} can't be read: {error.strerror or error}"
        ) from error
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield _case(f"{path}, row {number}", line)


def _case(place: str, line: bytes) -> dict[str, Any]:
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise BenchmarkError(f"{place}: no JSON: {error}") from error
    if not isinstance(value, dict):
        raise BenchmarkError(f"{place}: not an object with gold, answer and tolerance")
    case = {"tolerance": 0.0, **value}
    for column in ("gold", "answer", *({"question"} & case.keys())):
        if not isinstance(case.get(column), str):
            raise BenchmarkError(f"{place}, column {column}: not a string")
    tolerance = case["tolerance"]
    if isinstance(tolerance, bool) or not isinstance(tolerance, int | float) or not 0 <= tolerance <= 1:
        raise BenchmarkError(f"{place}, column tolerance: {tolerance!r} is not a number from 0 to 1")
    return case
