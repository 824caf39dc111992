"""Questions and document sets as both forms of AA-LCR give them, and the folder that they are unpacked to."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.errors import BenchmarkError
from pipeline.paths import cache_dir, made_once


@dataclass(frozen=True)
class Document:
    """A document's own name, None where it isn't known, and its UTF-8 text."""

    name: str | None
    text: bytes


@dataclass(frozen=True)
class DocumentSet:
    """The documents that questions are asked over, in the order in which a direct prompt has them."""

    id: str
    documents: tuple[Document, ...]
    category: str | None = None

    def files(self) -> dict[str, bytes]:
        """Return the texts by file name: numbered, so that sorted names keep the order."""
        width = max(2, len(str(len(self.documents))))
        return {
            f"{number:0{width}} {document.name}" if document.name else f"{number:0{width}}.txt": document.text
            for number, document in enumerate(self.documents, start=1)
        }


@dataclass(frozen=True)
class Question:
    """A question, its gold answer and the id of its document set."""

    id: str
    question: str
    answer: str
    document_set: str


@dataclass(frozen=True)
class Data:
    """All of AA-LCR, or of another revision of it."""

    questions: tuple[Question, ...]
    sets: tuple[DocumentSet, ...]

    @property
    def counts(self) -> dict[str, int]:
        """How many questions, document sets and documents there are."""
        return {
            "questions": len(self.questions),
            "document sets": len(self.sets),
            "documents": sum(len(held.documents) for held in self.sets),
        }


def unpacked(sets: Sequence[DocumentSet]) -> Path:
    """Return a folder in the cache, named by its contents, with a folder for each set, named by its id.

    Raises `BenchmarkError` if it can't be written.
    """
    folder = cache_dir() / "aa_lcr" / _digest(sets)
    try:
        return made_once(folder, lambda made: _write(made, sets), lambda made: _whole(made, sets))
    except OSError as error:
        raise BenchmarkError(f"the documents can't be unpacked to {str(folder)!r}: {error}") from error


def _digest(sets: Sequence[DocumentSet]) -> str:
    total = hashlib.sha256()
    for held in sets:
        for name, text in held.files().items():
            path = f"{held.id}/{name}".encode()
            total.update(len(path).to_bytes(8, "little") + path + hashlib.sha256(text).digest())
    return total.hexdigest()[:32]


def _write(folder: Path, sets: Sequence[DocumentSet]) -> None:
    for held in sets:
        (folder / held.id).mkdir(parents=True)
        for name, text in held.files().items():
            (folder / held.id / name).write_bytes(text)


def _whole(folder: Path, sets: Sequence[DocumentSet]) -> bool:
    """Whether the folder holds all files and no other, as far as names and sizes tell."""
    try:
        return all(
            {path.name: path.stat().st_size for path in (folder / held.id).iterdir()}
            == {name: len(text) for name, text in held.files().items()}
            for held in sets
        )
    except OSError:
        return False
