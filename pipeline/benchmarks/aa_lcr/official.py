"""AA-LCR as it is published: a CSV file of questions that name their documents, and an archive of texts."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

from pipeline.benchmarks.aa_lcr.sets import Data, Document, DocumentSet, Question
from pipeline.benchmarks.aa_lcr.texts import Texts, normal, opened
from pipeline.benchmarks.rows import Row, csv_rows
from pipeline.errors import BenchmarkError

FILES = "data_source_filenames"
"""The column of a set's documents: separated by `;`, in the order of a direct prompt."""

COLUMNS = ("document_category", "document_set_id", "question_id", "question", "answer", FILES)


def read(questions: Path, documents: Path) -> Data:
    """Read the questions and the texts that they name. Texts that none names are left out.

    Raises `BenchmarkError`, which names file, row and column: above all for a text that isn't there.
    """
    rows = list(csv_rows(questions, COLUMNS, "question_id"))
    first: dict[str, Row] = {}
    for row in rows:
        _check_same(first.setdefault(row.text("document_set_id"), row), row)
    with opened(documents) as texts:
        sets = tuple(_set(row, texts, documents) for row in first.values())
    return Data(tuple(map(_question, rows)), sets)


def _question(row: Row) -> Question:
    return Question(
        row.text("question_id"), row.text("question"), row.text("answer"), row.text("document_set_id")
    )


def _check_same(first: Row, row: Row) -> None:
    """Refuse a row whose set is another than in the first row that names it."""
    for column in ("document_category", FILES):
        if row.text(column) != first.text(column):
            told = f"document set {row.text('document_set_id')!r} has another one in {first.place}"
            raise row.error(column, told)


def _set(row: Row, texts: Texts, documents: Path) -> DocumentSet:
    category, identity = _part(row, "document_category"), _part(row, "document_set_id")
    names = [normal(name.strip()) for name in row.text(FILES).split(";") if name.strip()]
    if twice := next((name for number, name in enumerate(names) if name in names[:number]), None):
        raise row.error(FILES, f"{twice!r} is named twice")
    if not names:
        raise row.error(FILES, "no file is named")
    held = []
    for name in names:
        if not _is_name(name):
            raise row.error(FILES, f"{name!r} is no name of a file")
        path = f"{normal(category)}/{normal(identity)}/{name}"
        if path not in texts:
            raise row.error(FILES, f"{str(documents)!r} has no 'lcr/{path}'{_nearest(path, texts)}")
        held.append(Document(name, _utf8(texts[path](), f"{documents}: lcr/{path}")))
    return DocumentSet(identity, tuple(held), category)


def _part(row: Row, column: str) -> str:
    if not _is_name(part := row.text(column)):
        raise row.error(column, f"{part!r} is no name of a folder")
    return part


def _is_name(name: str) -> bool:
    """Whether a name is one of a file or folder, in one line and within its folder."""
    return (
        name not in (".", "..")
        and "/" not in name
        and not any(unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") for character in name)
    )


def _nearest(path: str, texts: Iterable[str]) -> str:
    nearest = get_close_matches(path, texts, n=1)
    return f"; the nearest is 'lcr/{nearest[0]}'" if nearest else ""


def _utf8(text: bytes, place: str) -> bytes:
    try:
        text.decode()
    except UnicodeDecodeError as error:
        raise BenchmarkError(f"{place} is not UTF-8 at byte {error.start}: {error.reason}") from error
    return text
