"""Reads a dataset as a benchmark, generating it into the cache first where it isn't there."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from pipeline.benchmarks.ledgerqa.config import LedgerQAConfig
from pipeline.benchmarks.ledgerqa.dataset import (
    DOCUMENTS,
    GOLD,
    MANIFEST,
    QUESTIONS,
    VERSION,
    generate,
    parameters,
    sha256,
)
from pipeline.benchmarks.ledgerqa.formats import answer_format
from pipeline.benchmarks.tasks import Benchmark, CorpusSource, Gold, Span, Task
from pipeline.errors import BenchmarkError
from pipeline.paths import cache_dir, made_once
from pipeline.protocols import TaskView

SCORERS = ("pipeline.benchmarks.scorers.officeqa",)
_CORPUS = "ledgerqa"


def load(config: LedgerQAConfig) -> Benchmark:
    """The benchmark, from `config.folder`, else from the cache, where it is generated if it isn't there yet.

    A cached dataset is used if its manifest fits: same parameters, all documents with their sizes, questions
    unchanged. Golds are read as they stand: they decide scores and nothing else.
    """
    if config.folder is not None:
        return _benchmark(config.name, Path(config.folder))
    known = orjson.dumps([VERSION, parameters(config)], option=orjson.OPT_SORT_KEYS)
    folder = cache_dir() / "ledgerqa" / hashlib.sha256(known).hexdigest()[:32]
    made_once(folder, lambda made: generate(config, made), lambda made: _intact(made, config))
    return _benchmark(config.name, folder)


def _intact(folder: Path, config: LedgerQAConfig) -> bool:
    """Whether a folder holds the dataset, as far as names, sizes and the questions' hash tell."""
    try:
        manifest = orjson.loads((folder / MANIFEST).read_bytes())
        sizes = {path.name: path.stat().st_size for path in (folder / DOCUMENTS).iterdir()}
        return bool(
            manifest["version"] == VERSION
            and manifest["parameters"] == parameters(config)
            and manifest["sizes"] == sizes
            and manifest["sha256"][QUESTIONS] == sha256(folder / QUESTIONS)
            and (folder / GOLD).is_file()
        )
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _benchmark(name: str, folder: Path) -> Benchmark:
    golds = {
        row["id"]: row for row in _rows(folder / GOLD, ("id", "answer", "spans", "alternates", "stale_spans"))
    }
    tasks = []
    for row in _rows(folder / QUESTIONS, ("id", "question", "kind", "phrasing")):
        if row["id"] not in golds:
            raise BenchmarkError(f"{folder / GOLD}: no row with id {row['id']!r}; generate the dataset anew")
        view = TaskView(row["id"], row["question"], answer_format(row["question"]))
        fields = {key: str(value) for key, value in row.items() if key not in ("id", "question")}
        tasks.append(Task(view, _CORPUS, _gold(golds[row["id"]]), fields))
    source = CorpusSource(_CORPUS, (folder / DOCUMENTS,))
    return Benchmark(name, tuple(tasks), {source.id: source}, SCORERS, ("kind", "phrasing"))


def _gold(row: Mapping[str, Any]) -> Gold:
    return Gold(
        answer=row["answer"],
        documents=tuple(row.get("documents", ())),
        spans=tuple(Span(**span) for span in row["spans"]),
        alternates=tuple(tuple(Span(**span) for span in places) for places in row["alternates"]),
        stale_spans=tuple(Span(**span) for span in row["stale_spans"]),
        expression=row.get("expression"),
    )


def _rows(path: Path, needed: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise BenchmarkError(
            f"{path}: {error.strerror}; generate the dataset with `longharness ledgerqa`"
        ) from error
    for number, line in enumerate(lines, 1):
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise BenchmarkError(f"{path}, row {number}: not JSON: {error}") from error
        missing = [column for column in needed if column not in row]
        if missing:
            raise BenchmarkError(f"{path}, row {number}: column {missing[0]!r} is missing")
        yield row
