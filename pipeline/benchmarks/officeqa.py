"""Questions in OfficeQA's layout: a CSV file of questions over folders of documents.

Columns: `uid`, `question`, `answer`, `source_files` (the gold documents, one a line or separated by `;`),
and, if there, `difficulty`. `source_docs` and any other column is left alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

from omegaconf import MISSING

from pipeline.benchmarks.rows import Row, csv_rows
from pipeline.benchmarks.tasks import Benchmark, CorpusSource, Gold, Task
from pipeline.corpus.documents import scan
from pipeline.errors import BenchmarkError
from pipeline.protocols import AnswerFormat, TaskView

COLUMNS = ("uid", "question", "answer", "source_files")


@dataclass
class OfficeQAConfig:
    """A question file and the folders of its documents.

    `exclude` lists uids whose gold is known to be wrong. They are asked all the same, and marked by the field
    `excluded`, so that results are reported with and without them; `tasks.where.excluded=no` leaves them out.
    `obtain` tells a user whose files aren't there how to get them.
    """

    _target_: str = "pipeline.benchmarks.officeqa.load"
    name: str = "officeqa"
    questions: str = MISSING
    documents: list[str] = field(default_factory=list)
    exclude: list[str] = field(default_factory=list)
    obtain: str | None = None
    scorers: list[str] = field(default_factory=lambda: ["pipeline.benchmarks.scorers.officeqa"])


def load(config: OfficeQAConfig) -> Benchmark:
    """Read the questions and check them against the documents.

    Raises `BenchmarkError`, which names file, row and column, and `CorpusError` for a bad document folder.
    """
    path = Path(config.questions).expanduser()
    folders = tuple(Path(folder).expanduser() for folder in config.documents)
    absent = [str(place) for place in (path, *folders) if not place.exists()]
    if absent and config.obtain:
        raise BenchmarkError(f"not there: {', '.join(absent)}. {config.obtain}")
    rows = list(csv_rows(path, COLUMNS, "uid"))
    uids = [row.text("uid") for row in rows]
    for uid in config.exclude:
        if uid not in uids:
            nearest = get_close_matches(uid, uids, n=1, cutoff=0.0)
            raise BenchmarkError(f"exclude: {path} has no uid {uid!r}; the nearest is {nearest[0]!r}")
    known = {file.id for file in scan(folders)}
    for row in rows:
        if missing := [name for name in _names(row.text("source_files")) if name not in known]:
            told = f"not among the documents in {', '.join(map(str, folders))}: {', '.join(missing)}"
            raise row.error("source_files", told)
    tasks = tuple(_task(row, config) for row in rows)
    corpora = {config.name: CorpusSource(config.name, folders)}
    return Benchmark(config.name, tasks, corpora, tuple(config.scorers), ("difficulty", "excluded"))


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


_LIST = re.compile(
    r"\bbracketed list\b|\bin (?:square )?brackets\b|\b[Aa]nswer (?:as|with|in the form) \[[^\[\]]+,"
)
_DECIMALS = re.compile(r"\b(\w+) decimal places?\b")
_DIGITS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_SEVERAL = re.compile(r"\b(?:lists?|each|both|respectively|which|who|whom|whose|name)\b|\[", re.IGNORECASE)


def answer_format(question: str) -> AnswerFormat:
    """Return the form that the question asks for, by its text alone (contract 3.21).

    A form is checked before an answer is accepted, so it is a list or a number only where the question says
    so beyond doubt. A unit and a list's length are never asked for: right answers come with other spellings
    of a unit, and with commas inside items.
    """
    if _LIST.search(question):
        return AnswerFormat("list")
    places = _DECIMALS.findall(question)
    if len(places) == 1 and not _SEVERAL.search(question) and question.count("?") <= 1:
        word = places[0].lower()
        decimals = int(word) if word.isascii() and word.isdigit() else _DIGITS.get(word)
        if decimals is not None:
            return AnswerFormat("number", decimals=decimals)
    return AnswerFormat("line")
