"""From OfficeQA's question files and documents to a benchmark.

Columns: `uid`, `question`, `answer`, `source_files` (the gold documents, one a line or separated by `;`), and
where they are, `difficulty` and `source_docs` (`provenance`). Any other column is left alone.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from pathlib import Path

from pipeline.benchmarks.answer_formats import answer_format
from pipeline.benchmarks.hub import obtain
from pipeline.benchmarks.officeqa.config import OfficeQAConfig
from pipeline.benchmarks.officeqa.provenance import check_sources
from pipeline.benchmarks.officeqa.texts import text_folders
from pipeline.benchmarks.revisions import check_counts
from pipeline.benchmarks.rows import Row, csv_rows
from pipeline.benchmarks.tasks import Benchmark, CorpusSource, Gold, Task
from pipeline.corpus.documents import scan
from pipeline.errors import BenchmarkError
from pipeline.protocols import TaskView

COLUMNS = ("uid", "question", "answer", "source_files")


def load(config: OfficeQAConfig) -> Benchmark:
    """Read the questions and check them against the documents.

    Raises `BenchmarkError`, which names file, row and column, and `CorpusError` for a bad document folder.
    """
    path = obtain("questions", config.questions, config.obtain).path
    folders = text_folders(config)
    rows = list(csv_rows(path, COLUMNS, "uid"))
    _check_excluded(path, rows, config.exclude)
    known = {file.id for file in scan(folders)}
    for row in rows:
        check_sources(row)
        if missing := [name for name in _names(row.text("source_files")) if name not in known]:
            told = f"not among the documents in {', '.join(map(str, folders))}: {', '.join(missing)}"
            raise row.error("source_files", told)
    counts = {"questions": len(rows), "documents": len(known)}
    return Benchmark(
        config.name,
        tuple(_task(row, config) for row in rows),
        {config.name: CorpusSource(config.name, folders)},
        tuple(config.scorers),
        ("difficulty", "excluded"),
        check_counts(config.name, counts, config.published, config.allow_other_revision),
    )


def _check_excluded(path: Path, rows: list[Row], exclude: list[str]) -> None:
    uids = [row.text("uid") for row in rows]
    for uid in exclude:
        if uid not in uids:
            nearest = get_close_matches(uid, uids, n=1, cutoff=0.0)
            raise BenchmarkError(f"exclude: {path} has no uid {uid!r}; the nearest is {nearest[0]!r}")


def _names(cell: str) -> list[str]:
    return [name.strip() for name in re.split(r"[;\n]", cell) if name.strip()]


def _task(row: Row, config: OfficeQAConfig) -> Task:
    difficulty = row.optional("difficulty")
    fields = {"difficulty": difficulty} if difficulty else {}
    uid, question = row.text("uid"), row.text("question").strip()
    if config.exclude:
        fields["excluded"] = "yes" if uid in config.exclude else "no"
    return Task(
        TaskView(uid, question, answer_format(question)),
        config.name,
        Gold(row.text("answer"), documents=tuple(_names(row.text("source_files")))),
        fields,
    )
