"""The long questions of `data.json`, and a folder for the document of each: made once, in constant memory."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

from pipeline.benchmarks.longbench_v2.stream import array_rows
from pipeline.benchmarks.rows import Row, unreadable
from pipeline.errors import BenchmarkError
from pipeline.paths import cache_dir, made_once

VERSION = 1
"""Raised when the same file would be unpacked to something else."""

CHOICES = ("choice_A", "choice_B", "choice_C", "choice_D")
COLUMNS = ("_id", "domain", "sub_domain", "difficulty", "length", "question", *CHOICES, "answer", "context")
VALUES = {
    "difficulty": ("easy", "hard"),
    "length": ("short", "medium", "long"),
    "answer": ("A", "B", "C", "D"),
}
DOCUMENT = "document.txt"

_QUESTIONS = "questions.jsonl"
_ID = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}")
_PIECE = 1 << 20


@dataclass(frozen=True)
class Item:
    """A long question. Its document has so many `bytes` of UTF-8, and `words` between blanks."""

    id: str
    question: str
    choices: tuple[str, ...]
    answer: str
    domain: str
    sub_domain: str
    difficulty: str
    words: int
    bytes: int


@dataclass(frozen=True)
class Unpacked:
    """A folder in the cache with the long questions, and a folder for the document of each."""

    folder: Path
    items: tuple[Item, ...]

    def documents(self, item: Item) -> Path:
        """Return the folder that holds a question's document."""
        return _documents(self.folder, item.id)


def unpacked(path: Path) -> Unpacked:
    """Unpack the long questions of `path` into the cache, unless they are there: it goes by what it holds.

    Raises `BenchmarkError`, which names file, row and column, of any row, long or not.
    """
    folder = cache_dir() / "longbench_v2" / f"{_digest(path)[:32]}-{VERSION}"
    try:
        made_once(folder, lambda made: _unpack(path, made), _whole)
    except OSError as error:
        raise BenchmarkError(f"{path} can't be unpacked to {str(folder)!r}: {error}") from error
    return Unpacked(folder, tuple(_items(folder)))


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise unreadable(path, error) from error


def _unpack(path: Path, made: Path) -> None:
    made.mkdir()
    with (made / _QUESTIONS).open("wb") as questions:
        for row in array_rows(path, COLUMNS, "_id"):
            _check(row)
            if row.text("length") != "long":
                continue
            context = row.text("context").encode()
            item = _item(row, len(context))
            documents = _documents(made, item.id)
            documents.mkdir(parents=True)
            (documents / DOCUMENT).write_bytes(context)
            questions.write(orjson.dumps(asdict(item)) + b"\n")


def _check(row: Row) -> None:
    """Refuse cells that are no text or none of the values that they can have."""
    for column in COLUMNS:
        text = row.text(column)
        if column in VALUES and text not in VALUES[column]:
            raise row.error(column, f"{text[:80]!r} is none of {', '.join(VALUES[column])}")
    if not _ID.fullmatch(row.text("_id")):
        raise row.error(
            "_id", f"{row.text('_id')[:80]!r} can't name a folder: letters, digits, '.', '_' and '-'"
        )


def _item(row: Row, size: int) -> Item:
    return Item(
        id=row.text("_id"),
        question=row.text("question"),
        choices=tuple(row.text(column) for column in CHOICES),
        answer=row.text("answer"),
        domain=row.text("domain"),
        sub_domain=row.text("sub_domain"),
        difficulty=row.text("difficulty"),
        words=count_words(row.text("context")),
        bytes=size,
    )


def count_words(text: str) -> int:
    """Count what stands between blanks, as `len(text.split())` does, without making millions of strings."""
    count, inside = 0, False
    for start in range(0, len(text), _PIECE):
        piece = text[start : start + _PIECE]
        count += len(piece.split()) - (inside and not piece[0].isspace())
        inside = not piece[-1].isspace()
    return count


def _documents(folder: Path, item: str) -> Path:
    return folder / "documents" / item


def _items(folder: Path) -> Iterator[Item]:
    for line in (folder / _QUESTIONS).read_bytes().splitlines():
        row = orjson.loads(line)
        yield Item(**row | {"choices": tuple(row["choices"])})


def _whole(folder: Path) -> bool:
    """Whether all documents are there, as far as sizes tell."""
    try:
        return all(
            (_documents(folder, item.id) / DOCUMENT).stat().st_size == item.bytes for item in _items(folder)
        )
    except OSError:
        return False
