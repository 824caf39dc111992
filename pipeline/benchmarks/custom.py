"""Questions of one's own over documents of one's own.

The question file is CSV, or JSON with one object a line. Its columns: `id`, `question`, `answer`, and where
they are, `documents` (the gold ones: a list, or names one a line or separated by `;`), `format` (the form of
the answer: `line`, `letter`, `text`, `number`, `list`, or with decimals or a length, `number:2`, `list:3`),
and `tolerance` (relative: 0.01 is one percent). Any other column is a field: it selects tasks and breaks
results down. A question without a format has the form that it asks for itself (contract 3.21).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import get_args, get_type_hints

from omegaconf import MISSING

from pipeline.benchmarks.answer_formats import answer_format
from pipeline.benchmarks.hub import obtain
from pipeline.benchmarks.rows import Row, csv_rows, json_rows
from pipeline.benchmarks.tasks import Benchmark, CorpusSource, Gold, Task
from pipeline.corpus.conversion import readable
from pipeline.corpus.documents import scan
from pipeline.errors import BenchmarkError
from pipeline.paths import cache_dir
from pipeline.protocols import AnswerFormat, TaskView

NEEDED = ("id", "question", "answer")
OPTIONAL = ("documents", "format", "tolerance")

_READERS = {".csv": csv_rows, ".jsonl": json_rows, ".ndjson": json_rows}
_FORMS: tuple[str, ...] = get_args(get_type_hints(AnswerFormat)["form"])
_COUNTED = {"number": "decimals", "list": "length"}


@dataclass
class CustomConfig:
    """A folder of documents (text, PDF, HTML) and a file of questions, `.csv` or `.jsonl`."""

    _target_: str = "pipeline.benchmarks.custom.load"
    name: str = "custom"
    documents: str = MISSING
    questions: str = MISSING
    scorers: list[str] = field(default_factory=lambda: ["pipeline.benchmarks.scorers.answer"])


def load(config: CustomConfig) -> Benchmark:
    """Read the questions and check them against the documents.

    Raises `BenchmarkError`, which names file, row and column, and `CorpusError` for a bad document folder.
    """
    rows = _rows(obtain("questions", config.questions).path)
    folders = readable([obtain("documents", config.documents).path], cache_dir())
    known = {file.id for file in scan(folders)}
    tasks = tuple(_task(row, config.name, known) for row in rows)
    source = CorpusSource(config.name, folders)
    return Benchmark(config.name, tasks, {config.name: source}, tuple(config.scorers), _breakdowns(tasks))


def _rows(path: Path) -> list[Row]:
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise BenchmarkError(
            f"benchmark.questions: {str(path)!r} is neither .csv nor .jsonl; name it by what it is"
        )
    rows = list(reader(path, NEEDED, "id"))
    for row in rows:
        for column in row.cells:
            near = get_close_matches(column.strip().casefold(), OPTIONAL, n=1, cutoff=0.8)
            if near and column not in OPTIONAL:
                raise row.error(
                    column, f"did you mean {near[0]!r}? Rename the column, to that or to another name"
                )
    return rows


def _task(row: Row, corpus: str, known: Collection[str]) -> Task:
    question = row.text("question").strip()
    form = row.optional("format")
    gold = Gold(row.text("answer"), documents=_documents(row, known), tolerance=_tolerance(row))
    view = TaskView(row.text("id"), question, _format(row, form) if form else answer_format(question))
    return Task(view, corpus, gold, _fields(row))


def _documents(row: Row, known: Collection[str]) -> tuple[str, ...]:
    cell = row.cells.get("documents")
    if isinstance(cell, list) and all(isinstance(name, str) for name in cell):
        names: Sequence[str] = cell
    else:
        names = re.split(r"[;\n]", row.optional("documents") or "")
    found = tuple(name.strip() for name in names if name.strip())
    for name in found:
        if name not in known:
            nearest = get_close_matches(name, known, n=1, cutoff=0.0)
            raise row.error("documents", f"there is no document {name!r}; the nearest is {nearest[0]!r}")
    return found


def _format(row: Row, text: str) -> AnswerFormat:
    """Return the form that a cell names, such as `number:2`."""
    form, _, count = text.strip().partition(":")
    if form not in _FORMS:
        nearest = get_close_matches(form, _FORMS, n=1, cutoff=0.0)
        raise row.error("format", f"{form!r} is none of {', '.join(_FORMS)}; the nearest is {nearest[0]!r}")
    if not count:
        return AnswerFormat(form)  # type: ignore[arg-type]
    if form not in _COUNTED or not (count.isascii() and count.isdigit()):
        raise row.error("format", f"{text!r} is no form: write number:DECIMALS, list:LENGTH or a form alone")
    return AnswerFormat(form, **{_COUNTED[form]: int(count)})  # type: ignore[arg-type]


def _tolerance(row: Row) -> float | None:
    if row.blank("tolerance"):
        return None
    cell = row.cells["tolerance"]
    try:
        tolerance = (
            float(cell) if isinstance(cell, str | int | float) and not isinstance(cell, bool) else -1.0
        )
    except ValueError:
        tolerance = -1.0
    if not 0 <= tolerance < 1:  # no number is none of these
        raise row.error(
            "tolerance", f"{cell!r} is no relative tolerance: write a number from 0 to below 1 (0.01: 1%)"
        )
    return tolerance


def _fields(row: Row) -> dict[str, str]:
    fields = {}
    for column, cell in row.cells.items():
        if column in (*NEEDED, *OPTIONAL) or row.blank(column):
            continue
        if not column.strip():
            raise row.error(repr(column), f"{cell!r:.80} stands in a column without a name")
        fields[column] = str(cell) if type(cell) is int else row.text(column).strip()
    return fields


def _breakdowns(tasks: Sequence[Task]) -> tuple[str, ...]:
    """Return the fields that group the tasks: some of them share a value."""
    values: dict[str, list[str]] = {}
    for task in tasks:
        for name, value in task.fields.items():
            values.setdefault(name, []).append(value)
    return tuple(name for name, found in values.items() if len(set(found)) < len(found))
