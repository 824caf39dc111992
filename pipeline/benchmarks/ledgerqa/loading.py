"""Reads a dataset as a benchmark, generating it into the cache first where it isn't there."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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
    fault,
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
BREAKDOWNS = ("kind", "phrasing")
_CORPUS = "ledgerqa"
_MADE_BY = "generate the dataset with `longharness ledgerqa`"


def load(config: LedgerQAConfig) -> Benchmark:
    """The benchmark, from `config.folder`, else from the cache, where it is generated if it isn't there yet.

    A cached dataset is used if its manifest fits: same parameters, all documents with their sizes, questions
    unchanged. A folder is checked to the last byte, and its own parameters are the benchmark's. Golds decide
    scores and nothing else. Raises `BenchmarkError` for a folder that is damaged, of another version, or made
    with another value than one that `config` sets.
    """
    if config.folder is not None:
        return _from_folder(config, Path(config.folder))
    known = orjson.dumps([VERSION, parameters(config)], option=orjson.OPT_SORT_KEYS)
    folder = cache_dir() / "ledgerqa" / hashlib.sha256(known).hexdigest()[:32]
    made_once(folder, lambda made: generate(config, made), lambda made: _intact(made, config))
    return _benchmark(config.name, folder, parameters(config))


def _from_folder(config: LedgerQAConfig, folder: Path) -> Benchmark:
    try:
        manifest = orjson.loads((folder / MANIFEST).read_bytes())
        version, made = manifest["version"], manifest["parameters"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BenchmarkError(f"{folder / MANIFEST}: {_MADE_BY}: {error!r}") from error
    if version != VERSION:
        raise BenchmarkError(f"{folder} is of version {version}, not {VERSION}: {_MADE_BY}")
    _check_agrees(config, made, folder)
    benchmark = _benchmark(config.name, folder, made)
    try:
        problem = fault(folder)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        problem = repr(error)
    if problem:
        raise BenchmarkError(f"{folder} is not as it was made: {problem}. Copy or generate it again")
    return benchmark


def _check_agrees(config: LedgerQAConfig, made: Mapping[str, Any], folder: Path) -> None:
    """Refuse a value that is neither the default nor what the folder was made with."""
    defaults = parameters(LedgerQAConfig())
    for name, value in parameters(config).items():
        if value != defaults[name] and value != made.get(name):
            raise BenchmarkError(
                f"{folder} was made with {name}={made.get(name)}, not {value}: leave out benchmark.{name}, "
                "or benchmark.folder to have it generated"
            )


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


def _benchmark(name: str, folder: Path, made: Mapping[str, Any]) -> Benchmark:
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
    return Benchmark(name, tuple(tasks), {source.id: source}, SCORERS, BREAKDOWNS, parameters=made)


def _gold(row: Mapping[str, Any]) -> Gold:
    return Gold(
        answer=row["answer"],
        documents=tuple(row.get("documents", ())),
        spans=_spans(row["spans"]),
        alternates=tuple(map(_spans, row["alternates"])),
        stale_spans=_spans(row["stale_spans"]),
        expression=row.get("expression"),
    )


def _rows(path: Path, needed: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise BenchmarkError(f"{path}: {error.strerror}: {_MADE_BY}") from error
    for number, line in enumerate(lines, 1):
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise BenchmarkError(f"{path}, row {number}: not JSON: {error}") from error
        missing = [column for column in needed if column not in row]
        if missing:
            raise BenchmarkError(f"{path}, row {number}: column {missing[0]!r} is missing")
        yield row


# ---- what is known of a question


@dataclass(frozen=True)
class Replaced:
    """What an operand's figure replaced: the last one before it, and the places that print an older one."""

    literal: str
    unit: str
    spans: tuple[Span, ...]


@dataclass(frozen=True)
class OperandFacts:
    """An operand: its figure without commas, in `thousand`s or `million`s, and where it stands."""

    literal: str
    unit: str
    span: Span
    alternates: tuple[Span, ...]
    stale: Replaced | None


@dataclass(frozen=True)
class Facts:
    """All that is known of a question by construction; for its maker's tools, never for an arm.

    `unit` is `thousand` or `million`, `None` where no amount is asked. A list's `expression` has one for each
    item, in brackets. `stale_answer` is what the outdated figures give, by `stale_expression`.
    """

    id: str
    kind: str
    form: str
    operation: str
    answer: str
    unit: str | None
    decimals: int
    expression: str
    operands: tuple[OperandFacts, ...]
    stale_answer: str | None
    stale_expression: str | None


def facts(folder: Path) -> dict[str, Facts]:
    """What is known of the questions of a dataset, by their ids. Raises `BenchmarkError`, naming the row."""
    needed = ("id", "answer", "asked", "expression", "operands", "spans", "alternates", "stale_expression")
    golds = {row["id"]: row for row in _rows(folder / GOLD, needed)}
    questions = _rows(folder / QUESTIONS, ("id", "kind", "form", "operation"))
    return {row["id"]: _facts(row, golds[row["id"]]) for row in questions}


def _facts(question: Mapping[str, Any], gold: Mapping[str, Any]) -> Facts:
    return Facts(
        id=question["id"],
        kind=question["kind"],
        form=question["form"],
        operation=question["operation"],
        answer=gold["answer"],
        unit=gold["asked"]["unit"],
        decimals=gold["asked"]["decimals"],
        expression=gold["expression"],
        operands=tuple(
            OperandFacts(
                row["literal"], row["unit"], Span(**span), _spans(others), _replaced(row.get("stale"))
            )
            for row, span, others in zip(gold["operands"], gold["spans"], gold["alternates"], strict=True)
        ),
        stale_answer=gold["stale_answer"],
        stale_expression=gold["stale_expression"],
    )


def _replaced(row: Mapping[str, Any] | None) -> Replaced | None:
    return Replaced(row["literal"], row["unit"], _spans(row["spans"])) if row else None


def _spans(rows: Sequence[Mapping[str, Any]]) -> tuple[Span, ...]:
    return tuple(Span(**row) for row in rows)
