"""Reads a dataset as a benchmark, generating it into the cache first where it isn't there."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

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
from pipeline.benchmarks.rows import json_rows
from pipeline.benchmarks.tasks import Benchmark, CorpusSource, Gold, Span, Task
from pipeline.errors import BenchmarkError
from pipeline.paths import cache_dir, made_once
from pipeline.protocols import TaskView

BREAKDOWNS = ("kind", "phrasing")
_CORPUS = "ledgerqa"
_T = TypeVar("_T")
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
    return _benchmark(config, folder, parameters(config))


def _from_folder(config: LedgerQAConfig, folder: Path) -> Benchmark:
    try:
        manifest = orjson.loads((folder / MANIFEST).read_bytes())
        version, made = manifest["version"], dict(manifest["parameters"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BenchmarkError(f"{folder / MANIFEST}: {_MADE_BY}: {error!r}") from error
    if version != VERSION:
        raise BenchmarkError(f"{folder} is of version {version!r}, not {VERSION}: {_MADE_BY}")
    _check_agrees(config, made, folder)
    benchmark = _benchmark(config, folder, made)
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


def _benchmark(config: LedgerQAConfig, folder: Path, made: Mapping[str, Any]) -> Benchmark:
    golds = ("answer", "documents", "spans", "alternates", "stale_spans", "expression")
    tasks = []
    for question, gold in _rows(folder, ("question", "kind", "phrasing"), golds):
        view = TaskView(question["id"], question["question"], answer_format(question["question"]))
        fields = {key: str(value) for key, value in question.items() if key not in ("id", "question")}
        tasks.append(Task(view, _CORPUS, _told(folder, question, gold, _gold), fields))
    source = CorpusSource(_CORPUS, (folder / DOCUMENTS,))
    return Benchmark(
        config.name,
        tuple(tasks),
        {source.id: source},
        tuple(config.scorers),
        BREAKDOWNS,
        parameters=made,
    )


def _told(
    folder: Path,
    question: Mapping[str, Any],
    gold: Mapping[str, Any],
    read: Callable[[Mapping[str, Any]], _T],
) -> _T:
    """Return what a gold row says. Raises `BenchmarkError`, which names its question."""
    try:
        return read(gold)
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise BenchmarkError(
            f"{folder / GOLD}, the row of {question['id']!r} is not as it was made: {error!r}. {_MADE_BY}"
        ) from error


def _gold(row: Mapping[str, Any]) -> Gold:
    return Gold(
        answer=row["answer"],
        documents=tuple(row["documents"]),
        spans=_spans(row["spans"]),
        alternates=tuple(map(_spans, row["alternates"])),
        stale_spans=_spans(row["stale_spans"]),
        expression=row["expression"],
    )


def _rows(
    folder: Path, of_question: Sequence[str], of_gold: Sequence[str]
) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Yield each question with its gold. Raises `BenchmarkError`, which names file, row and column."""
    golds = {}
    for row in json_rows(folder / GOLD, ("id", *of_gold), "id"):
        golds[row.text("id")] = row.cells
        for column in ("answer", "expression"):
            row.text(column)
    for row in json_rows(folder / QUESTIONS, ("id", *of_question), "id"):
        if row.text("id") not in golds:
            raise row.error("id", f"{folder / GOLD} has no row of {row.text('id')!r}: {_MADE_BY}")
        for column in of_question:
            row.text(column)
        yield row.cells, golds[row.text("id")]


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
    golds = ("answer", "asked", "expression", "operands", "spans", "alternates")
    return {
        question["id"]: _told(folder, question, gold, partial(_facts, question))
        for question, gold in _rows(folder, ("kind", "form", "operation"), golds)
    }


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
                row["literal"], row["unit"], _span(span), _spans(others), _replaced(row.get("stale"))
            )
            for row, span, others in zip(gold["operands"], gold["spans"], gold["alternates"], strict=True)
        ),
        stale_answer=gold["stale_answer"],
        stale_expression=gold["stale_expression"],
    )


def _replaced(row: Mapping[str, Any] | None) -> Replaced | None:
    return Replaced(row["literal"], row["unit"], _spans(row["spans"])) if row else None


def _spans(rows: Sequence[Mapping[str, Any]]) -> tuple[Span, ...]:
    return tuple(map(_span, rows))


def _span(row: Mapping[str, Any]) -> Span:
    span = Span(**row)
    if not (isinstance(span.document, str) and isinstance(span.quote, str)):
        raise TypeError(f"document or quote of {span} is no text")
    if not (type(span.start) is int and type(span.end) is int and 0 <= span.start <= span.end):
        raise ValueError(f"{span} has no place")
    return span
