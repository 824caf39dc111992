"""A run's folder: where everything of a run lies, and how it is written so that a crash leaves it whole."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

import orjson

from pipeline.errors import RunError

SCHEMA_VERSION = 2
"""Version of the folder's layout and of its tables. A folder of another version is refused."""


@dataclass(frozen=True)
class RunFolder:
    """The folder `path` of one run. Only the driver writes here, but for `journal/`, where actors do."""

    path: Path

    @property
    def record(self) -> Path:
        """`run.json`: schema version, creation time, versions, arms and corpora."""
        return self.path / "run.json"

    @property
    def config(self) -> Path:
        """`config.yaml`: the resolved configuration of the last invocation, verbatim."""
        return self.path / "config.yaml"

    @property
    def lease(self) -> Path:
        """`lease.json`: who drives this run."""
        return self.path / "lease.json"

    @property
    def plan(self) -> Path:
        """`plan.parquet`: every episode of the run, without gold."""
        return self.path / "plan.parquet"

    @property
    def gold(self) -> Path:
        """`gold.parquet`: the answers, for the driver and the scorers only."""
        return self.path / "gold.parquet"

    @property
    def planted(self) -> Path:
        """`planted.parquet`: the truth of planted episodes, for the driver only; other runs have none."""
        return self.path / "planted.parquet"

    @property
    def transcripts(self) -> Path:
        """`transcripts/ARM/TASK-SEED.jsonl`: planted episodes in the form of an arm that keeps no journal."""
        return self.path / "transcripts"

    @property
    def journal(self) -> Path:
        """`journal/`: one append-only segment for each incarnation of an actor."""
        return self.path / "journal"

    @property
    def judgements(self) -> Path:
        """`judgements.jsonl`: what judges replied, as it came; appended to by whoever scores."""
        return self.path / "judgements.jsonl"

    @property
    def tables(self) -> Path:
        """`tables/TABLE/part-*.parquet`, and `tables/commits/` which names the parts that count."""
        return self.path / "tables"

    @property
    def results(self) -> Path:
        """`results/`: the summary, figures and report."""
        return self.path / "results"

    @property
    def logs(self) -> Path:
        """`logs/`: of the serving processes, and mismatches found by replay."""
        return self.path / "logs"

    @property
    def progress(self) -> Path:
        """`progress.json`: how far the driver is, for `longharness status`."""
        return self.path / "progress.json"

    def create(self) -> None:
        """Make the folder and those of its parts that others write into. Raises `RunError` if that fails."""
        try:
            for folder in self._made:
                folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self._unwritable(error) from error

    def check(self) -> None:
        """Raise the `RunError` that `create` would, as far as can be told without writing."""
        try:
            for folder in self._made:
                there = next(path for path in (folder, *folder.parents) if path.exists())
                if not there.is_dir():
                    raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
                if not os.access(there, os.W_OK | os.X_OK):
                    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        except OSError as error:
            raise self._unwritable(error) from error

    @property
    def _made(self) -> tuple[Path, ...]:
        return self.journal, self.tables, self.results, self.logs

    def _unwritable(self, error: OSError) -> RunError:
        return RunError(
            f"the run's folder {self.path} can't be made or written to ({error.strerror}): "
            "choose another with root=… or run=…"
        )

    def read_record(self) -> dict[str, Any]:
        """Return `run.json`.

        Raises `RunError` if this is no run folder, or one of another schema version.
        """
        if not self.record.is_file():
            raise RunError(f"{self.path} is no run folder: it holds no run.json")
        try:
            record: dict[str, Any] = orjson.loads(self.record.read_bytes())
            found = record["schema_version"]
            if not all(isinstance(record[part], dict) for part in ("arms", "corpora")):
                raise TypeError("arms and corpora must be objects")
        except (orjson.JSONDecodeError, KeyError, TypeError) as error:
            raise RunError(f"{self.record} is damaged ({error}): restore it or start a new run") from error
        if found != SCHEMA_VERSION:
            raise RunError(
                f"{self.path} has schema version {found}, this LongHarness reads {SCHEMA_VERSION}: "
                "use the LongHarness that wrote it (run.json, versions)"
            )
        return record


@contextmanager
def replaced(path: Path) -> Iterator[IO[bytes]]:
    """Give a file to write, which takes the place of `path` when the context ends well.

    A reader or a crash, of the machine too, sees the old file or the new one, whole.
    """
    temporary = path.with_name(f".{path.name}.{uuid4().hex[:8]}")
    try:
        with temporary.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_atomically(path: Path, content: bytes) -> None:
    """Replace `path` by `content` as a whole."""
    with replaced(path) as file:
        file.write(content)


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write `value` to `path` as indented JSON, atomically."""
    write_atomically(path, orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


def versions() -> dict[str, str]:
    """The versions of the packages that a run's results may depend on."""
    found = {}
    for package in ("longharness", "ray", "bm25s", "pyarrow", "numpy"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found
