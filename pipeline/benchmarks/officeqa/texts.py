"""The texts of OfficeQA's documents: as published, or rendered from their parsed form, once."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from pipeline.benchmarks.hub import Obtained, obtain
from pipeline.benchmarks.officeqa.config import OfficeQAConfig, Rendering
from pipeline.corpus.conversion import readable
from pipeline.corpus.conversion.pool import each
from pipeline.corpus.documents import File, digest, scan
from pipeline.corpus.refused import told
from pipeline.errors import BenchmarkError
from pipeline.paths import cache_dir, made_once

VERSION = 2
"""It goes up whenever a document is rendered otherwise."""


def text_folders(config: OfficeQAConfig) -> tuple[tuple[Path, ...], list[Obtained]]:
    """Return the folders of texts, and what they were made from: `documents` if all are there, else `parsed`.

    Raises `BenchmarkError`, and `CorpusError` for a bad document folder.
    """
    absent = None
    try:
        texts = [obtain("documents", place, config.obtain) for place in config.documents]
    except BenchmarkError as error:
        absent, texts = error, []
    if absent and config.parsed is None:
        raise absent
    if texts or config.parsed is None:
        return readable([text.path for text in texts], cache_dir()), texts
    try:
        parsed = obtain("parsed", config.parsed, config.obtain)
    except BenchmarkError as error:
        raise absent or error from error
    return (rendered(parsed.path, config.rendering, cache_dir() / "officeqa"),), [parsed]


def rendered(folder: Path, rendering: Rendering, cache: Path) -> Path:
    """Return the folder in `cache` that has a text for each JSON file below `folder`, named `.txt` instead.

    Raises `BenchmarkError`, which names files and elements.
    """
    files = [file for file in scan([folder]) if file.id.endswith(".json")]
    if not files:
        raise BenchmarkError(f"benchmark.parsed: there is no .json file in {str(folder)!r}")
    if find_spec("lxml") is None:
        raise BenchmarkError(
            "rendering parsed documents needs the package lxml: pip install 'longharness[documents]'"
        )
    key = digest(files, f"officeqa {VERSION} {rendering}", lambda stage, done, total: None)
    return made_once(cache / key, lambda new: _render_all(files, rendering, new), Path.is_dir)


def _render_all(files: Sequence[File], rendering: Rendering, folder: Path) -> None:
    jobs = [(file.path, folder / f"{file.id.removesuffix('.json')}.txt", rendering) for file in files]
    for _, target, _ in jobs:
        target.parent.mkdir(parents=True, exist_ok=True)
    problems = [problem for problem in each(_render, jobs) if problem]
    if problems:
        raise BenchmarkError(f"parsed documents that can't be rendered:\n{told(problems)}")


def _render(job: tuple[Path, Path, Rendering]) -> str | None:
    """Render one document; return what went wrong."""
    from pipeline.benchmarks.officeqa.rendering import render  # its packages are an extra

    source, target, rendering = job
    try:
        target.write_text(render(source.read_bytes(), rendering), encoding="utf-8", newline="")
    except (OSError, ValueError) as error:
        return f"{str(source)!r}: {error}"
    return None
