"""Questions of one's own over documents of one's own.

The question file is CSV, or JSON: one object a line, or an array of them. Its columns: `id`, `question`,
`answer` (in JSON also a number, which stays as it is written, or a list, where one is asked for), and where
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
from pipeline.benchmarks.hub import obtain, origins
from pipeline.benchmarks.literal_json import Number, literal_rows
from pipeline.benchmarks.rows import Row, csv_rows
from pipeline.benchmarks.tasks import Benchmark, CorpusSource, Gold, Task
from pipeline.corpus.conversion import readable
from pipeline.corpus.documents import scan
from pipeline.errors import BenchmarkError
from pipeline.paths import cache_dir
from pipeline.protocols import AnswerFormat, TaskView

NEEDED = ("id", "question", "answer")
OPTIONAL = ("documents", "format", "tolerance")

_READERS = {".csv": csv_rows, ".jsonl": literal_rows, ".ndjson": literal_rows, ".json": literal_rows}
_FORMS: tuple[str, ...] = get_args(get_type_hints(AnswerFormat)["form"])
_COUNTED = {"number": "decimals", "list": "length"}


@dataclass
class CustomConfig:
    """A folder of documents (text, PDF, HTML) and a file of questions, `.csv`, `.jsonl` or `.json`."""

    _target_: str = "pipeline.benchmarks.custom.load"
    name: str = "custom"
    documents: str = MISSING
    questions: str = MISSING
    scorers: list[str] = field(default_factory=lambda: ["pipeline.benchmarks.scorers.answer"])


def load(config: CustomConfig) -> Benchmark:
    """Read the questions and check them against the documents.

    Raises `BenchmarkError`, which names file, row and column, and `CorpusError` for a bad document folder.
    """
    questions = obtain("questions", config.questions)
    documents = obtain("documents", config.documents)
    rows = _rows(questions.path)
    folders = readable([documents.path], cache_dir())
    known = {file.id for file in scan(folders)}
    tasks = tuple(_task(row, config.name, known) for row in rows)
    source = CorpusSource(config.name, folders)
    return Benchmark(
        config.name,
        tasks,
        {config.name: source},
        tuple(config.scorers),
        _breakdowns(tasks),
        origins=origins(questions, documents),
    )


def _rows(path: Path) -> list[Row]:
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise BenchmarkError(
            f"benchmark.questions: {str(path)!r} is none of .csv, .jsonl and .json; save it as one of them, "
            "or name it by what it is"
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
    named = row.optional("format")
    form = _format(row, named) if named else answer_format(question)
    gold = Gold(_answer(row, form), documents=_documents(row, known), tolerance=_tolerance(row))
    return Task(TaskView(row.text("id"), question, form), corpus, gold, _fields(row))


def _answer(row: Row, form: AnswerFormat) -> str:
    """Return the answer: text, a number as it is written, or a list of them as `[a, b]`."""
    cell = row.cells["answer"]
    if isinstance(cell, Number):
        return cell.text
    if not isinstance(cell, list):
        return row.text("answer")
    if form.form != "list":
        raise row.error(
            "answer", f"a list, but the form of the answer is {form.form!r}: write the format list, or text"
        )
    items = [item.text if isinstance(item, Number) else item for item in cell]
    if not items or not all(isinstance(item, str) and item.strip() for item in items):
        raise row.error("answer", f"{cell!r:.80} is no list of texts and numbers")
    return f"[{', '.join(items)}]"


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
    if form not in _COUNTED or not re.fullmatch("[0-9]{1,3}", count):
        raise row.error("format", f"{text!r} is no form: write number:DECIMALS, list:LENGTH or a form alone")
    return AnswerFormat(form, **{_COUNTED[form]: int(count)})  # type: ignore[arg-type]


def _tolerance(row: Row) -> float | None:
    if row.blank("tolerance"):
        return None
    cell = row.cells["tolerance"]
    text = cell.text if isinstance(cell, Number) else cell
    try:
        tolerance = float(text) if isinstance(text, str) else -1.0
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
        fields[column] = cell.text if isinstance(cell, Number) else row.text(column).strip()
    return fields


def _breakdowns(tasks: Sequence[Task]) -> tuple[str, ...]:
    """Return the fields that group the tasks: some of them share a value."""
    values: dict[str, list[str]] = {}
    for task in tasks:
        for name, value in task.fields.items():
            values.setdefault(name, []).append(value)
    return tuple(name for name, found in values.items() if len(set(found)) < len(found))
