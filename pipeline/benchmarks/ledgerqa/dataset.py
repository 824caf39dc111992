"""A dataset on disk: written whole or not at all.

`documents/` holds the issues; `questions.jsonl` what a reader may know; `gold.jsonl` the answers and where
they stand; `manifest.json` version, parameters, counts and the SHA-256 of each part; `README.md` a datasheet.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import orjson

from pipeline.benchmarks.ledgerqa.config import LedgerQAConfig
from pipeline.benchmarks.ledgerqa.datasheet import datasheet
from pipeline.benchmarks.ledgerqa.plan import BYTES_PER_TOKEN, Plan, plan
from pipeline.benchmarks.ledgerqa.questions import Planner, Question
from pipeline.benchmarks.ledgerqa.reading import Place, Reading
from pipeline.benchmarks.ledgerqa.rendering import Printed
from pipeline.benchmarks.ledgerqa.spans import span
from pipeline.benchmarks.tasks import Span
from pipeline.errors import BenchmarkError

VERSION = 2
DOCUMENTS, QUESTIONS, GOLD, MANIFEST = "documents", "questions.jsonl", "gold.jsonl", "manifest.json"
_NOT_PARAMETERS = ("_target_", "name", "processes", "folder", "scorers")


@dataclass(frozen=True)
class Manifest:
    """What a dataset is. `sizes` and `digests` (SHA-256) are the documents', by name, in their order.

    `sha256` has that of each part; of `documents` it is over lines `name size sha256` of them all.
    """

    version: int
    parameters: Mapping[str, Any]
    documents: int
    bytes: int
    tokens: int
    questions: Mapping[str, int]
    sizes: Mapping[str, int]
    digests: Mapping[str, str]
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
    planner = Planner(planned.ledger, config)
    questions = [q for kind in config.kinds for q in planner.questions(kind, config.questions_per_kind)]
    documents = folder / DOCUMENTS
    documents.mkdir()
    spans: dict[Place, Span] = {}
    sizes: dict[str, int] = {}
    digests: dict[str, str] = {}
    wanted = _wanted(questions, planned.ledger.calendar.issues)
    for written in _documents(config, planned, wanted, documents):
        for name, size, digits, found in written:
            sizes[name], digests[name] = size, digits
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
        digests=digests,
        sha256={
            DOCUMENTS: _together(sizes, digests),
            **{name: sha256(folder / name) for name in (QUESTIONS, GOLD)},
        },
    )
    (folder / MANIFEST).write_bytes(orjson.dumps(asdict(manifest), option=orjson.OPT_INDENT_2))
    sheet = datasheet(asdict(manifest), ((q.draft.kind.value, q.draft.form) for q in questions))
    (folder / "README.md").write_bytes(sheet.encode())
    return manifest


def _together(sizes: Mapping[str, int], digests: Mapping[str, str]) -> str:
    lines = (f"{name} {size} {digests[name]}\n" for name, size in sizes.items())
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def fault(folder: Path) -> str | None:
    """What is not as the manifest says, or `None`: every document and file is read. Raises `OSError`."""
    manifest = orjson.loads((folder / MANIFEST).read_bytes())
    documents = folder / DOCUMENTS
    names = {path.relative_to(documents).as_posix() for path in documents.rglob("*") if path.is_file()}
    for name in sorted(names ^ manifest["sizes"].keys()):
        return f"{DOCUMENTS}/{name} {'is no part of it' if name in names else 'is missing'}"
    for name, size in manifest["sizes"].items():
        found = (documents / name).stat().st_size
        if found != size:
            return f"{DOCUMENTS}/{name} has {found:,} bytes, not {size:,}"
        if sha256(documents / name) != manifest["digests"][name]:
            return f"{DOCUMENTS}/{name} has other contents"
    for name in (QUESTIONS, GOLD):
        if sha256(folder / name) != manifest["sha256"][name]:
            return f"{name} has other contents"
    if _together(manifest["sizes"], manifest["digests"]) != manifest["sha256"][DOCUMENTS]:
        return f"{MANIFEST} has other digests of the documents"
    return None


# ---- documents

_ISSUES_A_JOB = 8
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
    config: LedgerQAConfig, planned: Plan, wanted: Sequence[list[Place]], folder: Path
) -> Iterator[list[Written]]:
    """Write every issue, in order; each is made without the others, so any process may."""
    jobs = [(issue, tuple(places)) for issue, places in enumerate(wanted)]
    if config.processes == 1:
        for issue, places in jobs:
            yield _write_issue(planned, issue, places, folder)
        return
    arguments = (config, folder)
    with ProcessPoolExecutor(config.processes, get_context("spawn"), _Worker.start, arguments) as pool:
        yield from pool.map(_Worker.write, jobs, chunksize=_ISSUES_A_JOB)


class _Worker:
    """What a process of the pool holds: the same plan, made anew from the configuration."""

    plan: Plan
    folder: Path

    @classmethod
    def start(cls, config: LedgerQAConfig, folder: Path) -> None:
        cls.plan = plan(config)
        cls.folder = folder

    @classmethod
    def write(cls, job: tuple[int, tuple[Place, ...]]) -> list[Written]:
        return _write_issue(cls.plan, *job, cls.folder)


def _write_issue(planned: Plan, issue: int, places: Collection[Place], folder: Path) -> list[Written]:
    return [_write_document(printed, places, folder) for printed in planned.render(issue, places)]


def _write_document(printed: Printed, places: Iterable[Place], folder: Path) -> Written:
    data = printed.text.encode()
    (folder / printed.document).write_bytes(data)
    spans = {place: span(printed, place) for place in places if place.circular == printed.circular}
    return printed.document, len(data), hashlib.sha256(data).hexdigest(), spans


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
    """Operand by operand where it stands, the other places that print it, and those that print an older one.

    `alternates` and `stale_spans` say the same of all together.
    """
    readings, asked = question.readings, question.draft.asked
    good = {place for reading in readings for place in (reading.place, *reading.others)}
    stale = dict.fromkeys(place for reading in readings for place in reading.stale if place not in good)
    used = [spans[reading.place] for reading in readings]
    return {
        "id": question.id,
        "answer": question.answer,
        "asked": {"unit": asked.unit.word if asked.unit else None, "decimals": asked.decimals},
        "expression": question.expression,
        "operands": [_operand_row(reading, good, spans) for reading in readings],
        "documents": sorted({where.document for where in used}),
        "spans": used,
        "alternates": [[spans[place] for place in reading.others] for reading in readings],
        "stale_spans": [spans[place] for place in stale],
        "stale_answer": question.stale_answer if stale else None,
        "stale_expression": question.stale_expression if stale else None,
    }


def _operand_row(reading: Reading, good: Set[Place], spans: Mapping[Place, Span]) -> dict[str, Any]:
    row: dict[str, Any] = {"literal": reading.operand.literal, "unit": reading.operand.unit.word}
    old = [spans[place] for place in reading.stale if place not in good]
    if old and reading.stale_operand is not None:
        stale = reading.stale_operand
        row["stale"] = {"literal": stale.literal, "unit": stale.unit.word, "spans": old}
    return row


def _write_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    with path.open("wb") as file:
        for row in rows:
            file.write(orjson.dumps(row) + b"\n")


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
