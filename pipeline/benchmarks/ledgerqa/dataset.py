"""A dataset on disk: written whole or not at all, checked by its manifest, read back as a benchmark.

`documents/` holds the issues; `questions.jsonl` what a reader may know; `gold.jsonl` the answers and where
they stand; `manifest.json` version, parameters, counts and the SHA-256 of each part; `README.md` a datasheet.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import orjson

from pipeline.benchmarks.ledgerqa.config import LedgerQAConfig
from pipeline.benchmarks.ledgerqa.datasheet import datasheet
from pipeline.benchmarks.ledgerqa.formats import answer_format
from pipeline.benchmarks.ledgerqa.ledger import Ledger
from pipeline.benchmarks.ledgerqa.plan import BYTES_PER_TOKEN, Plan, plan
from pipeline.benchmarks.ledgerqa.questions import Planner, Question
from pipeline.benchmarks.ledgerqa.reading import Place
from pipeline.benchmarks.ledgerqa.rendering import Issue, render
from pipeline.benchmarks.tasks import Benchmark, CorpusSource, Gold, Span, Task
from pipeline.errors import BenchmarkError
from pipeline.paths import cache_dir
from pipeline.protocols import TaskView

VERSION = 1
SCORER = "pipeline.benchmarks.scorers.officeqa"
DOCUMENTS, QUESTIONS, GOLD, MANIFEST = "documents", "questions.jsonl", "gold.jsonl", "manifest.json"
_NOT_PARAMETERS = ("_target_", "name", "processes", "folder")


@dataclass(frozen=True)
class Manifest:
    """What a dataset is: `sha256` of `documents` is over lines `name size sha256` of them all."""

    version: int
    parameters: Mapping[str, Any]
    documents: int
    bytes: int
    tokens: int
    questions: Mapping[str, int]
    sizes: Mapping[str, int]
    sha256: Mapping[str, str]


def parameters(config: LedgerQAConfig) -> dict[str, Any]:
    """What the bytes of a dataset depend on."""
    values = {name: value for name, value in asdict(config).items() if name not in _NOT_PARAMETERS}
    return {**values, "kinds": [kind.value for kind in config.kinds]}


def generate(config: LedgerQAConfig, folder: Path) -> Manifest:
    """Write the dataset into `folder`, which must not exist or be empty; it appears there whole.

    Raises `BenchmarkError` where the configuration is out of bounds or the folder is in use.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BenchmarkError(f"{folder} is not empty: name a new folder for the dataset")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as temporary:
        made = Path(temporary) / "dataset"
        made.mkdir()
        manifest = _write(config, made)
        made.rename(folder)
    return manifest


def _write(config: LedgerQAConfig, folder: Path) -> Manifest:
    planned = plan(config)
    planner = Planner(planned.ledger)
    questions = [q for kind in config.kinds for q in planner.questions(kind, config.questions_per_kind)]
    documents = folder / DOCUMENTS
    documents.mkdir()
    spans: dict[Place, Span] = {}
    sizes: dict[str, int] = {}
    digest = hashlib.sha256()
    wanted = _wanted(questions, planned.ledger.calendar.issues)
    for name, size, sha256, found in _documents(planned, wanted, documents, config.processes):
        sizes[name] = size
        digest.update(f"{name} {size} {sha256}\n".encode())
        spans.update(found)
    _write_lines(folder / QUESTIONS, (_question_row(question) for question in questions))
    _write_lines(folder / GOLD, (_gold_row(question, spans) for question in questions))
    manifest = Manifest(
        version=VERSION,
        parameters=parameters(config),
        documents=len(sizes),
        bytes=sum(sizes.values()),
        tokens=sum(-(-size // BYTES_PER_TOKEN) for size in sizes.values()),
        questions={kind.value: config.questions_per_kind for kind in config.kinds},
        sizes=sizes,
        sha256={DOCUMENTS: digest.hexdigest(), **{name: _sha256(folder / name) for name in (QUESTIONS, GOLD)}},
    )
    (folder / MANIFEST).write_bytes(orjson.dumps(asdict(manifest), option=orjson.OPT_INDENT_2))
    (folder / "README.md").write_text(datasheet(manifest.version, manifest.parameters, manifest.tokens), "utf-8")
    return manifest


# ---- documents

Written = tuple[str, int, str, dict[Place, Span]]


def _wanted(questions: Iterable[Question], issues: int) -> list[list[Place]]:
    """The places that questions refer to, by issue."""
    places = {
        place
        for question in questions
        for reading in question.readings
        for place in (reading.place, *reading.others, *reading.stale)
    }
    by_issue: list[list[Place]] = [[] for _ in range(issues)]
    for place in places:
        by_issue[place.issue].append(place)
    return by_issue


def _documents(
    planned: Plan, wanted: Sequence[list[Place]], folder: Path, processes: int
) -> Iterator[Written]:
    """Write every issue, in order; each is made without the others, so any process may."""
    jobs = [(issue, tuple(places)) for issue, places in enumerate(wanted)]
    if processes == 1:
        for issue, places in jobs:
            yield _write_document(planned.ledger, planned.paragraphs, issue, places, folder)
        return
    ledger = planned.ledger
    arguments = (ledger.seed, ledger.calendar, ledger.source, ledger.families, ledger.rates, planned.paragraphs, folder)
    with ProcessPoolExecutor(processes, get_context("spawn"), _Worker.start, arguments) as pool:
        yield from pool.map(_Worker.write, jobs, chunksize=1)


class _Worker:
    """A process's own ledger."""

    ledger: Ledger
    paragraphs: int
    folder: Path

    @classmethod
    def start(cls, *arguments: Any) -> None:
        *ledger, cls.paragraphs, cls.folder = arguments
        cls.ledger = Ledger(*ledger)

    @classmethod
    def write(cls, job: tuple[int, tuple[Place, ...]]) -> Written:
        return _write_document(cls.ledger, cls.paragraphs, *job, cls.folder)


def _write_document(
    ledger: Ledger, paragraphs: int, issue: int, places: Iterable[Place], folder: Path
) -> Written:
    name = ledger.calendar.document(issue)
    printed = render(ledger, issue, paragraphs)
    data = printed.text.encode()
    (folder / name).write_bytes(data)
    spans = {place: _span(name, printed, place) for place in places}
    return name, len(data), hashlib.sha256(data).hexdigest(), spans


def _span(document: str, printed: Issue, place: Place) -> Span:
    """Where a figure stands, without its `r`."""
    text = printed.text
    if place.note:
        note = next(
            n for n in printed.notes if (n.family, n.month) == (place.family, place.row)
        )
        start = note.total if place.column == -1 else note.value
        end = start
        while text[end].isdigit() or (text[end] in "-,." and text[end + 1].isdigit()):
            end += 1
        return Span(document, start, end, text[start:end])
    table = next(t for t in printed.tables if (t.family, t.restated) == (place.family, place.restated))
    return _cell_span(document, text, table.body, place.row, place.column)


def _cell_span(document: str, text: str, body: int, row: int, column: int) -> Span:
    start = body
    lines = 0
    while lines != row:
        start = text.index("\n", start) + 1
        lines += 1
    cells = text[start : text.index("\n", start)].split(" | ")
    at = len(cells) - 1 if column == -1 else column + 1
    start += sum(len(cell) + 3 for cell in cells[:at])
    quote = cells[at].removesuffix(" |").removesuffix(" r")
    return Span(document, start, start + len(quote), quote)


# ---- questions and gold


def _question_row(question: Question) -> dict[str, Any]:
    draft = question.draft
    return {
        "id": question.id,
        "question": question.text,
        "kind": draft.kind.value,
        "form": draft.form,
        "operation": draft.operation.value,
        "operands": len(draft.cells),
        "phrasing": question.phrasing,
    }


def _gold_row(question: Question, spans: Mapping[Place, Span]) -> dict[str, Any]:
    """`alternates` are, operand by operand, the other places that print the same figure."""
    readings = question.readings
    used = [spans[reading.place] for reading in readings]
    return {
        "id": question.id,
        "answer": question.answer,
        "expression": question.expression,
        "operands": [
            {"literal": reading.operand.literal, "unit": reading.operand.unit.word} for reading in readings
        ],
        "documents": sorted({span.document for span in used}),
        "spans": [asdict(span) for span in used],
        "alternates": [[asdict(spans[place]) for place in reading.others] for reading in readings],
        "stale_spans": [asdict(spans[place]) for reading in readings for place in reading.stale],
        "stale_answer": question.stale_answer,
    }


def _write_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    with path.open("wb") as file:
        for row in rows:
            file.write(orjson.dumps(row) + b"\n")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# ---- loading


def load(config: LedgerQAConfig) -> Benchmark:
    """The benchmark, from `config.folder`, else from the cache, where it is generated if it isn't there yet.

    A cached dataset is used if its manifest fits: same parameters, all documents with their sizes, questions
    unchanged. Golds are read as they stand: they decide scores and nothing else.
    """
    if config.folder is not None:
        return _benchmark(config.name, Path(config.folder))
    known = orjson.dumps([VERSION, parameters(config)], option=orjson.OPT_SORT_KEYS)
    folder = cache_dir() / "ledgerqa" / hashlib.sha256(known).hexdigest()[:32]
    if not _intact(folder, config):
        shutil.rmtree(folder, ignore_errors=True)
        try:
            generate(config, folder)
        except (BenchmarkError, OSError):
            if not _intact(folder, config):  # else another process was quicker
                raise
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
            and manifest["sha256"][QUESTIONS] == _sha256(folder / QUESTIONS)
            and (folder / GOLD).is_file()
        )
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _benchmark(name: str, folder: Path) -> Benchmark:
    golds = {row["id"]: row for row in _rows(folder / GOLD, ("id", "answer", "spans", "stale_spans"))}
    tasks = []
    for row in _rows(folder / QUESTIONS, ("id", "question", "kind", "phrasing")):
        if row["id"] not in golds:
            raise BenchmarkError(f"{folder / GOLD}: no row with id {row['id']!r}; generate the dataset anew")
        view = TaskView(row["id"], row["question"], answer_format(row["question"]))
        fields = {key: str(value) for key, value in row.items() if key not in ("id", "question")}
        tasks.append(Task(view, "ledgerqa", _gold(golds[row["id"]]), fields))
    source = CorpusSource("ledgerqa", (folder / DOCUMENTS,))
    return Benchmark(name, tuple(tasks), {source.id: source}, SCORER)


def _gold(row: Mapping[str, Any]) -> Gold:
    return Gold(
        answer=row["answer"],
        documents=tuple(row.get("documents", ())),
        spans=tuple(Span(**span) for span in row["spans"]),
        stale_spans=tuple(Span(**span) for span in row["stale_spans"]),
        expression=row.get("expression"),
    )


def _rows(path: Path, needed: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise BenchmarkError(f"{path}: {error.strerror}; generate the dataset with `longharness ledgerqa`") from error
    for number, line in enumerate(lines, 1):
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise BenchmarkError(f"{path}, row {number}: not JSON: {error}") from error
        missing = [column for column in needed if column not in row]
        if missing:
            raise BenchmarkError(f"{path}, row {number}: column {missing[0]!r} is missing")
        yield row
