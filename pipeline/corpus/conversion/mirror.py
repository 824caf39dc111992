"""Folders that hold PDF or HTML files, mirrored: the same names, with text in every file."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from pipeline.corpus.conversion.pool import each
from pipeline.corpus.documents import File, Progress, scan
from pipeline.corpus.refused import told
from pipeline.errors import CorpusError
from pipeline.paths import made_once

VERSION = 3
"""It goes up whenever a file's text comes out otherwise."""

PACKAGES = {
    ".pdf": ("pypdfium2",),
    ".htm": ("inscriptis", "lxml"),
    ".html": ("inscriptis", "lxml"),
    ".xhtml": ("inscriptis", "lxml"),
}
"""What reads the files whose names end so; their versions are part of what a text is kept by."""

_log = logging.getLogger(__name__)


def readable(folders: Sequence[Path], cache: Path, progress: Progress | None = None) -> tuple[Path, ...]:
    """Return the folders, those that hold PDF or HTML files as mirrors in `cache`: links to text files.

    A document keeps its name (`report.pdf`), and so its id. A file is converted once, by its contents; pages
    without text are warned of, by file and page. Raises `CorpusError` for folders that are no corpus (see
    `documents.scan`), for files that can't be converted, all named, and where the extra is not installed.
    """
    files = scan(folders)
    converted = [file for file in files if file.path.suffix.lower() in PACKAGES]
    if not converted:
        return tuple(folders)
    texts = _texts(converted, cache / "converted", progress or (lambda stage, done, total: None))
    return tuple(_mirror(folder, files, texts, cache / "mirrors") for folder in folders)


def _texts(files: Sequence[File], store: Path, progress: Progress) -> dict[Path, Path]:
    """Return the text of each file, by its path. Raises `CorpusError`."""
    versions = _versions(files)
    texts = {file.path: store / _key(file.path, versions[file.path.suffix.lower()]) for file in files}
    wanted = {folder: path for path, folder in texts.items() if not _whole(folder)}
    problems = []
    jobs = [(path, folder) for folder, path in wanted.items()]
    for done, (path, problem) in enumerate(each(_convert, jobs)):
        progress("convert", done, len(wanted))
        if problem:
            problems.append(f"{str(path)!r}: {problem}")
    if problems:
        raise CorpusError(
            "documents that can't be converted to text; convert them, or take them out of the folder:\n"
            f"{told(problems)}"
        )
    for path, folder in texts.items():
        if pages := json.loads((folder / "empty_pages.json").read_bytes()):
            _log.warning("%s: no text on page %s; images need OCR", path, ", ".join(map(str, pages)))
    return {path: folder / "text" for path, folder in texts.items()}


def _versions(files: Sequence[File]) -> dict[str, str]:
    """Return what converts each kind of file. Raises `CorpusError` where it isn't installed."""
    found = {}
    for file in files:
        kind = file.path.suffix.lower()
        if kind not in found:
            try:
                found[kind] = " ".join(f"{name} {version(name)}" for name in PACKAGES[kind])
            except PackageNotFoundError as error:
                raise CorpusError(
                    f"{str(file.path)!r} is no text file; converting it needs the package {error.name}: "
                    "pip install 'longharness[documents]'"
                ) from error
    return found


def _key(path: Path, versions: str) -> str:
    content = hashlib.sha256(f"{VERSION} {versions}\n".encode())
    try:
        with path.open("rb") as stream:
            while chunk := stream.read(1 << 22):
                content.update(chunk)
    except OSError as error:
        raise CorpusError(f"can't read document {str(path)!r}: {error.strerror}") from error
    return content.hexdigest()


def _convert(job: tuple[Path, Path]) -> tuple[Path, str | None]:
    path, folder = job
    try:
        made_once(folder, lambda new: _write(path, new), _whole)
    except (OSError, ValueError) as error:
        return path, str(error)
    return path, None


def _write(path: Path, folder: Path) -> None:
    text, empty = _converter(path)(path.read_bytes())
    folder.mkdir()
    (folder / "text").write_text(text, encoding="utf-8", newline="")
    (folder / "empty_pages.json").write_text(json.dumps(empty))


def _whole(folder: Path) -> bool:
    return (folder / "empty_pages.json").is_file() and (folder / "text").is_file()


def _converter(path: Path) -> Callable[[bytes], tuple[str, list[int]]]:
    """Return what gives a file's text and its pages without any. Its packages are an extra."""
    if path.suffix.lower() == ".pdf":
        from pipeline.corpus.conversion import pdf

        return pdf.text_of
    from pipeline.corpus.conversion import html

    return lambda raw: (html.text_of(raw), [])


def _mirror(folder: Path, files: Sequence[File], texts: dict[Path, Path], mirrors: Path) -> Path:
    """Return a folder of links: to the texts of converted files, and to all others themselves."""
    links = {
        file.id: texts.get(file.path, file.path).absolute() for file in files if file.path == folder / file.id
    }
    if not any(folder / name in texts for name in links):
        return folder
    listed = json.dumps(sorted((name, os.fspath(target)) for name, target in links.items()))
    mirror = mirrors / hashlib.sha256(listed.encode()).hexdigest()

    def link(new: Path) -> None:
        for name, target in links.items():
            (new / name).parent.mkdir(parents=True, exist_ok=True)
            (new / name).symlink_to(target)

    return made_once(mirror, link, lambda made: all((made / name).is_file() for name in links))
