"""Questions in OfficeQA's layout: a CSV file of questions over folders of documents.

Columns: `uid`, `question`, `answer`, `source_files` (the gold documents, one a line or separated by `;`),
and, if there, `difficulty`. `source_docs` and any other column is left alone.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

from omegaconf import MISSING

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
    rows = list(_rows(path))
    uids = [row["uid"] for _, row in rows]
    for uid in config.exclude:
        if uid not in uids:
            nearest = get_close_matches(uid, uids, n=1, cutoff=0.0)
            raise BenchmarkError(f"exclude: {path} has no uid {uid!r}; the nearest is {nearest[0]!r}")
    known = {file.id for file in scan(folders)}
    for place, row in rows:
        if missing := [name for name in _names(row["source_files"]) if name not in known]:
            raise BenchmarkError(
                f"{place}, column source_files: not among the documents in {', '.join(map(str, folders))}: "
                f"{', '.join(missing)}"
            )
    tasks = tuple(_task(row, config) for _, row in rows)
    return Benchmark(
        config.name, tasks, {config.name: CorpusSource(config.name, folders)}, tuple(config.scorers)
    )


def _rows(path: Path) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield each row with where it stands. Raises `BenchmarkError`."""
    seen: dict[str, str] = {}
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            _check_header(path, reader.fieldnames or ())
            for number, row in enumerate(reader, start=1):
                place = f"{path}, row {number} (ending at line {reader.line_num})"
                _check_row(place, row)
                if row["uid"] in seen:
                    raise BenchmarkError(
                        f"{place}, column uid: {row['uid']!r} is that of {seen[row['uid']]} too"
                    )
                seen[row["uid"]] = f"row {number}"
                yield place, row
    except OSError as error:
        raise BenchmarkError(
            f"questions file {str(path)!r} can't be read: {error.strerror or error}"
        ) from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise BenchmarkError(f"{path} is no UTF-8 CSV file, after row {len(seen)}: {error}") from error
    if not seen:
        raise BenchmarkError(f"{path} has no questions")


def _check_header(path: Path, header: Sequence[str]) -> None:
    if missing := [column for column in COLUMNS if column not in header]:
        found = ", ".join(header) or "none"
        raise BenchmarkError(f"{path}, row 0: missing column {', '.join(missing)}; the header has: {found}")


def _check_row(place: str, row: Mapping[str | None, str | None]) -> None:
    """Refuse a row with cells left over, missing or blank: shifted, it would be scored as a wrong answer."""
    if None in row:
        raise BenchmarkError(f"{place}: more cells than columns; quote cells that hold a comma")
    for column in COLUMNS:
        if not (row[column] or "").strip():
            raise BenchmarkError(f"{place}, column {column}: empty")


def _names(cell: str) -> list[str]:
    return [name.strip() for name in re.split(r"[;\n]", cell) if name.strip()]


def _task(row: Mapping[str, str], config: OfficeQAConfig) -> Task:
    fields = {"difficulty": row["difficulty"]} if row.get("difficulty") else {}
    if config.exclude:
        fields["excluded"] = "yes" if row["uid"] in config.exclude else "no"
    question = row["question"].strip()
    return Task(
        TaskView(row["uid"], question, answer_format(question)),
        config.name,
        Gold(row["answer"], documents=tuple(_names(row["source_files"]))),
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
