"""What a judge replied: each reply under the hash of all that it was asked, in the run and across runs.

`judgements.jsonl` in the run's folder holds what was asked for this run, one line a request, as it came in;
the cache holds the replies of all runs, one file each. A reply is kept, whatever it says: its verdict is read
when answers are scored. A request that failed is recorded in the run, and asked again.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson

from pipeline.backbone.config import JudgeConfig
from pipeline.errors import RunError
from pipeline.paths import cache_dir
from pipeline.protocols import Message
from pipeline.runs.folder import write_atomically

VERSION = 1


@dataclass(frozen=True)
class Ask:
    """One request to a judge: `sha256` is of model, sampling and messages; `repeat` counts from 1."""

    messages: tuple[Message, ...]
    sha256: str
    repeat: int

    @property
    def key(self) -> str:
        """What the reply is found by."""
        return sha256(f"{self.sha256} {self.repeat}".encode()).hexdigest()


@dataclass(frozen=True)
class Judgement:
    """What came of a request: a `reply`, or an `error`. Tokens and seconds are of all its exchanges.

    `model` is as the server names it, else as it was asked for. `cached`: the reply is from another run.
    """

    key: str
    model: str
    reply: str | None = None
    reasoning: str | None = None
    finish: str | None = None
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    cached: bool = False
    error: str | None = None


def asks(messages: tuple[Message, ...], judge: JudgeConfig) -> list[Ask]:
    """Return the requests, one a repeat, that ask `judge` about `messages`."""
    asked = [judge.model, judge.max_tokens, asdict(judge.sampling), [m.encoded.decode() for m in messages]]
    digest = sha256(orjson.dumps(asked, option=orjson.OPT_SORT_KEYS)).hexdigest()
    return [Ask(messages, digest, repeat + 1) for repeat in range(judge.repeats)]


class Journal:
    """The judgements of one run, in a file that is only appended to; use it as a context manager.

    A torn last line, as a crash leaves it, is cut off. Raises `RunError` for another that can't be read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None
        self.known: dict[str, Judgement] = {}

    def __enter__(self) -> Self:
        whole = 0
        if self._path.exists():
            lines = self._path.read_bytes().splitlines(keepends=True)
            for number, line in enumerate(lines, start=1):
                if not line.endswith(b"\n"):
                    break
                self._take(self._read(number, line))
                whole += len(line)
        self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.ftruncate(self._file, whole)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            os.fsync(self._file)
            os.close(self._file)
            self._file = None

    def replied(self, key: str) -> bool:
        """Tell whether there is a reply under `key`; a failure is none."""
        return key in self.known and self.known[key].reply is not None

    def append(self, judgement: Judgement) -> None:
        """Write `judgement` as one line, and know it from now on. Raises `OSError` if it can't be written."""
        if self._file is None:
            raise RuntimeError("Journal is a context manager: enter it first")
        line = memoryview(orjson.dumps({"v": VERSION, **asdict(judgement)}, option=orjson.OPT_APPEND_NEWLINE))
        while line:
            line = line[os.write(self._file, line) :]
        self._take(judgement)

    def _take(self, judgement: Judgement) -> None:
        """Keep the latest judgement; a reply is never given up for a failure."""
        known = self.known.get(judgement.key)
        if known is None or known.reply is None or judgement.reply is not None:
            self.known[judgement.key] = judgement

    def _read(self, number: int, line: bytes) -> Judgement:
        try:
            record = orjson.loads(line)
            if record.pop("v") != VERSION:
                raise ValueError(f"not of version {VERSION}")
            return Judgement(**record)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise RunError(
                f"{self._path}, line {number} is damaged ({error}): restore the file, or move it away to "
                "have its answers judged again"
            ) from error


def cached(key: str) -> Judgement | None:
    """Return the reply that any run of this user was given under `key`; a damaged file counts as none."""
    try:
        record: Mapping[str, Any] = orjson.loads(_file(key).read_bytes())
        found = Judgement(**record)
    except (OSError, ValueError, TypeError):
        return None
    return found if found.key == key and found.reply is not None else None


def cache(judgement: Judgement) -> None:
    """Keep a reply for other runs."""
    path = _file(judgement.key)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, orjson.dumps(asdict(judgement)))


def _file(key: str) -> Path:
    return cache_dir() / "judgements" / key[:2] / f"{key}.json"
