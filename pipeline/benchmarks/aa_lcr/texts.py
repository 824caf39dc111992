"""The texts of the official form: in their archive, or in a folder that it was extracted to.

A text lies at `lcr/CATEGORY/SET/FILE`. The archive's names are UTF-8 but don't say so, and are read as code
page 437; some are in decomposed form. Names are compared repaired and composed (NFC) on both sides.
"""

from __future__ import annotations

import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path, PurePosixPath

from pipeline.errors import BenchmarkError

ROOT = "lcr"

Texts = Mapping[str, Callable[[], bytes]]
"""Of each text's name (`CATEGORY/SET/FILE`, as `normal` has it), what reads it or raises `BenchmarkError`."""


def normal(name: str) -> str:
    """Return a name as it was meant: UTF-8 that was read as code page 437 repaired, and composed (NFC)."""
    with suppress(UnicodeError):  # it was meant so: code page 437 hasn't its characters, or they are no UTF-8
        name = name.encode("cp437").decode("utf-8")
    return unicodedata.normalize("NFC", name)


@contextmanager
def opened(place: Path) -> Iterator[Texts]:
    """Open an archive or a folder of texts.

    Raises `BenchmarkError`: it is neither, can't be read, or holds two files of one name or one outside.
    """
    if place.is_dir():
        yield _folder(place / ROOT if (place / ROOT).is_dir() else place)
        return
    try:
        with zipfile.ZipFile(place) as archive:
            yield _archive(place, archive)
    except (OSError, zipfile.BadZipFile) as error:
        raise BenchmarkError(f"{place} can't be read as a ZIP archive: {error}") from error


def _folder(folder: Path) -> Texts:
    texts: dict[str, Callable[[], bytes]] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            name = normal(path.relative_to(folder).as_posix())
            if name in texts:
                raise BenchmarkError(f"{folder}: two files are named {name!r}, one of them {str(path)!r}")
            texts[name] = partial(_file, path)
    return texts


def _file(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BenchmarkError(f"{path} can't be read: {error.strerror}") from error


def _archive(place: Path, archive: zipfile.ZipFile) -> Texts:
    texts: dict[str, Callable[[], bytes]] = {}
    for member in archive.infolist():
        path = PurePosixPath(normal(member.filename))
        if path.is_absolute() or ".." in path.parts:
            raise BenchmarkError(f"{place}: {member.filename!r} lies outside of the archive: get it anew")
        if member.is_dir() or path.parts[:1] != (ROOT,):
            continue
        name = path.relative_to(ROOT).as_posix()
        if name in texts:
            raise BenchmarkError(f"{place}: two files are named {name!r}, one of them {member.filename!r}")
        texts[name] = partial(_member, place, archive, member)
    return texts


def _member(place: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    try:
        return archive.read(member)
    except (OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise BenchmarkError(f"{place}: {member.filename!r} is damaged: {error}; get it anew") from error
    except (RuntimeError, NotImplementedError) as error:  # a password, or a compression that Python hasn't
        raise BenchmarkError(f"{place}: {member.filename!r} can't be extracted: {error}") from error
