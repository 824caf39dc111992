"""Documents: files as they are, one UTF-8 blob, and offsets that make `text[start:end]` exact and fast.

A document is a file below a folder; its id is the path relative to that folder. Hidden files and folders
(a leading dot) are left out; links are followed. An empty file is a document of no characters. Nothing is
translated: line ends and a byte order mark stay as they are (contract 3.9).
"""

from __future__ import annotations

import codecs
import hashlib
import itertools
import os
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np

from pipeline.corpus.refused import HEAD, kind, told
from pipeline.errors import CorpusError

BLOCK = 1_024
"""A byte offset is kept for every block of so many characters."""

_CHUNK = 1 << 22

Progress = Callable[[str, int, int], None]
"""Called with a stage's name, what is done of it and its total (bytes, files, passages, …)."""


@dataclass(frozen=True)
class File:
    """A document's id and the file that holds it."""

    id: str
    path: Path


def scan(folders: Sequence[Path]) -> list[File]:
    """Return all documents below `folders`, sorted by id (by code point).

    Raises `CorpusError`: no folder, a folder that can't be read, a link that leads back to a folder above
    it, a file name that is not one line of text, an id that two folders share, no document at all.
    """
    files: dict[str, File] = {}
    for folder in folders:
        if not folder.is_dir():
            raise CorpusError(f"document folder {str(folder)!r} is not a folder: give one that exists")
        for path in _walk(folder, ()):
            document = path.relative_to(folder).as_posix()
            if not _is_text(document):
                raise CorpusError(
                    f"file name {os.fsencode(path)!r} is not UTF-8 or breaks the line: rename the file"
                )
            if document in files:
                raise CorpusError(
                    f"document id {document!r} occurs twice: {str(files[document].path)!r} and {str(path)!r};"
                    " rename one, or pass a common parent folder"
                )
            files[document] = File(document, path)
    if not files:
        raise CorpusError(
            f"no document in {[str(folder) for folder in folders]}: a corpus needs at least one file"
            " that is not hidden"
        )
    return [files[document] for document in sorted(files)]


def _walk(folder: Path, above: tuple[tuple[int, int], ...]) -> Iterator[Path]:
    try:
        status = folder.stat()
        entries = sorted(folder.iterdir())
    except OSError as error:
        raise CorpusError(f"can't read folder {str(folder)!r}: {error.strerror}") from error
    identity = (status.st_dev, status.st_ino)
    if identity in above:
        raise CorpusError(f"link {str(folder)!r} leads back to a folder above it: remove the link")
    for entry in entries:
        if entry.name.startswith("."):
            continue
        try:
            is_folder = entry.is_dir()
        except OSError as error:
            raise CorpusError(f"can't follow {str(entry)!r}: {error.strerror}") from error
        if is_folder:
            yield from _walk(entry, (*above, identity))
        elif entry.is_file():
            yield entry
        else:
            raise CorpusError(
                f"{str(entry)!r} is no readable file (a broken link or a special file): remove it"
            )


def _is_text(name: str) -> bool:
    """Whether a name can stand in a line of what a model reads, and forge none (contract 5.5)."""
    return not any(unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") for character in name)


def digest(files: Sequence[File], version: str, progress: Progress) -> str:
    """Return the SHA-256 over `version` and all ids and bytes. It streams: no file is held in memory."""
    total = hashlib.sha256(version.encode())
    for number, file in enumerate(files):
        progress("fingerprint", number, len(files))
        content = hashlib.sha256()
        with _opened(file) as stream:
            while chunk := stream.read(_CHUNK):
                content.update(chunk)
        name = file.id.encode()
        total.update(len(name).to_bytes(8, "little") + name + content.digest())
    return total.hexdigest()


@contextmanager
def _opened(file: File) -> Iterator[IO[bytes]]:
    """Open a document's file; what can't be read of it is a `CorpusError`."""
    try:
        with file.path.open("rb") as stream:
            yield stream
    except OSError as error:
        raise CorpusError(f"can't read document {str(file.path)!r}: {error.strerror}") from error


def load(files: Sequence[File], progress: Progress) -> dict[str, np.ndarray]:
    """Read the files; return the arrays of `Documents`. Raises `CorpusError`, naming all that are no text."""
    sizes = [file.path.stat().st_size for file in files]
    text = np.empty(sum(sizes), np.uint8)
    starts = np.zeros(len(files) + 1, np.int64)
    np.cumsum(sizes, out=starts[1:])
    blocks: list[np.ndarray] = []
    lengths = np.zeros(len(files), np.int64)
    problems: list[str] = []
    for number, file in enumerate(files):
        progress("read", int(starts[number]), len(text))
        piece = text[starts[number] : starts[number + 1]]
        _read_into(file, piece)
        if fault := _fault(piece):
            source = file.path.resolve() if file.path.is_symlink() else file.path  # of a mirror's link
            problems.append(f"{str(source)!r}: {kind(file.id, piece[:HEAD].tobytes()) or fault}")
            continue
        lengths[number], offsets = _offsets(piece)
        blocks.append(offsets + starts[number])
    if problems:
        raise CorpusError(
            f"documents that are not text; convert them, or take them out of the folder:\n{told(problems)}"
        )
    block_starts = np.zeros(len(files) + 1, np.int64)
    np.cumsum([len(offsets) for offsets in blocks], out=block_starts[1:])
    ids = [file.id.encode() for file in files]
    id_starts = np.zeros(len(ids) + 1, np.int64)
    np.cumsum([len(name) for name in ids], out=id_starts[1:])
    return {
        "text": text,
        "document_bytes": starts,
        "document_lengths": lengths,
        "blocks": np.concatenate(blocks),
        "block_starts": block_starts,
        "ids": np.frombuffer(b"".join(ids), np.uint8),
        "id_starts": id_starts,
    }


def _read_into(file: File, piece: np.ndarray) -> None:
    with _opened(file) as stream:
        filled = 0
        while chunk := stream.read(_CHUNK):
            if filled + len(chunk) > len(piece):
                break
            piece[filled : filled + len(chunk)] = np.frombuffer(chunk, np.uint8)
            filled += len(chunk)
    if chunk or filled < len(piece):
        raise CorpusError(
            f"document {str(file.path)!r} changed while it was read: try again when it is still"
        )


def _fault(piece: np.ndarray) -> str | None:
    """Return what keeps a file from being read as UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for start in range(0, len(piece), _CHUNK):
            decoder.decode(piece[start : start + _CHUNK].tobytes())
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        try:
            piece.tobytes().decode()
        except UnicodeDecodeError as error:
            return f"not UTF-8 at byte {error.start} ({error.reason}): save it as UTF-8"
    return None


def _offsets(piece: np.ndarray) -> tuple[int, np.ndarray]:
    """Return how many characters `piece` has, and the byte offset of every `BLOCK`-th."""
    offsets = [np.zeros(0, np.int64)]
    length = 0
    for start in range(0, len(piece), _CHUNK):
        first = character_starts(piece[start : start + _CHUNK])
        offsets.append(first[-length % BLOCK :: BLOCK] + start)
        length += len(first)
    return length, np.concatenate(offsets)


def character_starts(piece: np.ndarray) -> np.ndarray:
    """Return the byte offsets at which characters begin."""
    return np.flatnonzero((piece & 0xC0) != 0x80)


def characters_at(piece: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return how many characters begin before each of the byte offsets."""
    edges = np.unique(offsets)
    inside = edges[edges < len(piece)]
    counts = np.zeros(len(inside) + 2, np.int64)
    if len(inside):
        begins = (piece & 0xC0) != 0x80
        counts[0] = np.count_nonzero(begins[: inside[0]])
        counts[1:-1] = np.add.reduceat(begins, inside, dtype=np.int64)
        counts[-1] = 0
    places: np.ndarray = np.cumsum(counts)[np.searchsorted(edges, offsets)]
    return places


class Documents:
    """Documents by number, in the order of their ids. Offsets are code points; `byte` turns them to bytes."""

    def __init__(self, arrays: dict[str, np.ndarray]) -> None:
        self._text = arrays["text"]
        self._starts = arrays["document_bytes"]
        self._lengths = arrays["document_lengths"]
        self._blocks = arrays["blocks"]
        self._block_starts = arrays["block_starts"]
        names, cuts = arrays["ids"].tobytes(), arrays["id_starts"].tolist()
        self.ids = [names[a:b].decode() for a, b in itertools.pairwise(cuts)]

    def length(self, document: int) -> int:
        """Return the length in code points."""
        return int(self._lengths[document])

    def size(self, document: int) -> int:
        """Return the length in UTF-8 bytes."""
        return int(self._starts[document + 1] - self._starts[document])

    def byte(self, document: int, position: int) -> int:
        """Return the byte offset, in the blob of all documents, at which code point `position` begins."""
        if position >= self.length(document):
            return int(self._starts[document + 1])
        block = int(self._block_starts[document]) + position // BLOCK
        start, end = int(self._blocks[block]), self._block_end(document, block)
        rest = position % BLOCK
        if end - start == min(BLOCK, self.length(document) - position + rest):  # all ASCII
            return start + rest
        return start + int(character_starts(self._text[start:end])[rest])

    def _block_end(self, document: int, block: int) -> int:
        last = int(self._block_starts[document + 1]) - 1
        return int(self._blocks[block + 1]) if block < last else int(self._starts[document + 1])

    def bytes(self, start: int, end: int) -> bytes:
        """Return bytes of the blob of all documents."""
        return self._text[start:end].tobytes()

    def text(self, document: int, start: int, end: int) -> str:
        """Return `text[start:end]` of a document."""
        return self.bytes(self.byte(document, start), self.byte(document, end)).decode()
