"""A run's corpora: all are known, few are open at a time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.benchmarks.tasks import CorpusSource
from pipeline.corpus.config import CorpusConfig
from pipeline.errors import CorpusError
from pipeline.runs.library import OPEN, Library
from tests.runs.sample import write_documents


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own."""
    monkeypatch.setenv("LONGHARNESS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def sources(folder: Path, count: int) -> list[CorpusSource]:
    write_documents(folder, corpora=count)
    return [CorpusSource(f"c{n}", (folder / f"c{n}",)) for n in range(count)]


def test_any_number_of_corpora_keeps_few_files_open(tmp_path: Path) -> None:
    """In a process that may open 200 files: thirty corpora of 25 files each would be too many."""
    code = f"""
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))
from pathlib import Path
from tests.runs.test_library import sources
from pipeline.corpus.config import CorpusConfig
from pipeline.runs.library import Library
library = Library()
opened = [library.open(source, CorpusConfig()).fingerprint for source in sources(Path({str(tmp_path)!r}), 30)]
assert len(set(opened)) == 30
assert [library.get(fingerprint).fingerprint for fingerprint in opened] == opened
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_corpus_is_looked_at_once(tmp_path: Path) -> None:
    (source,) = sources(tmp_path, 1)
    library = Library()
    first = library.open(source, CorpusConfig())
    (tmp_path / "c0" / "late.txt").write_text("It comes too late for this run.\n")
    assert library.open(source, CorpusConfig()) is first
    assert library.documents == {first.fingerprint: len(first.document_ids)}


def test_documents_that_change_after_planning_are_refused(tmp_path: Path, cache: Path) -> None:
    many = sources(tmp_path, OPEN + 1)
    library = Library()
    first = library.open(many[0], CorpusConfig()).fingerprint
    for source in many[1:]:
        library.open(source, CorpusConfig())  # the first is closed
    for path in (cache / "corpora" / first).iterdir():
        path.unlink()
    (cache / "corpora" / first).rmdir()
    (tmp_path / "c0" / "late.txt").write_text("It comes too late for this run.\n")
    with pytest.raises(CorpusError, match="have changed since the run was planned"):
        library.get(first)


def test_too_many_open_files_are_no_damage(tmp_path: Path, cache: Path) -> None:
    """In a process of its own: the limit is on a file's number, and this one has gaps among its."""
    (source,) = sources(tmp_path, 1)
    fingerprint = Library().open(source, CorpusConfig()).fingerprint
    before = sorted(path.stat().st_ino for path in (cache / "corpora" / fingerprint).iterdir())
    code = f"""
import os, resource
from pathlib import Path
from pipeline.benchmarks.tasks import CorpusSource
from pipeline.corpus.config import CorpusConfig
from pipeline.runs.library import Library
limit = max(map(int, os.listdir("/proc/self/fd"))) + 8
resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
Library().open(CorpusSource("c0", (Path({str(source.folders[0])!r}),)), CorpusConfig())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert "CorpusError" in done.stderr and "Too many open files" in done.stderr
    assert sorted(path.stat().st_ino for path in (cache / "corpora" / fingerprint).iterdir()) == before
