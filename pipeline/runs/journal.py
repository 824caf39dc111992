"""The journal: what of an episode can't be recomputed, written as it happens.

A segment, `journal/WRITER-N.jsonl`, belongs to one incarnation of one actor and is only appended to. It holds
one line for each turn and a last line for each attempt at an episode; lines of episodes that ran side by side
interleave. Every line goes to the operating system at once, so that the death of a process loses nothing;
`fsync` follows within 200 ms, for all lines since the last.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson

from pipeline.errors import RunError
from pipeline.protocols import Completion, Outcome, RequestRecord, Status, Usage

VERSION = 1
SYNC_SECONDS = 0.2


@dataclass(frozen=True)
class Attempt:
    """One attempt at an episode: its lines lie in the bytes `start:end` of `segment`, maybe among others'.

    `status` is how it ended; None if its end was never written. A `retired` one was to be run again: it has
    no result any more.
    """

    episode: str
    attempt: int
    segment: str
    start: int
    end: int
    turns: int = 0
    status: Status | None = None
    retired: bool = False

    @property
    def finished(self) -> bool:
        """Whether it has a result; an interrupted attempt has none (contract 4.3)."""
        return self.status is not None and self.status != "interrupted" and not self.retired


@dataclass(frozen=True)
class RecordedTurn:
    """A turn as recorded: the model's reply and the hash of what followed from it."""

    turn: int
    response: str
    reasoning: str | None
    usage: Usage
    replica: str
    state_sha256: str
    requests: tuple[RequestRecord, ...]


@dataclass(frozen=True)
class RecordedEpisode:
    """A finished attempt, read back. `failed` are the exchanges of requests that gave no reply, by turn."""

    attempt: Attempt
    turns: tuple[RecordedTurn, ...]
    failed: tuple[tuple[int, tuple[RequestRecord, ...]], ...]
    outcome: Outcome
    seconds: float


class Segment:
    """A journal segment being written by this process."""

    def __init__(self, folder: Path, writer: str) -> None:
        """Open the next free `WRITER-N.jsonl` in `folder`: no other incarnation writes there."""
        number = sum(1 for _ in folder.glob(f"{writer}-*.jsonl"))
        while True:
            self.path = folder / f"{writer}-{number}.jsonl"
            try:
                self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
                break
            except FileExistsError:
                number += 1
        self.size = 0
        self._broken = False
        self._unsynced: OSError | None = None
        self._closed = threading.Event()
        self._dirty = threading.Event()
        self._syncer = threading.Thread(target=self._sync, name="journal-sync", daemon=True)
        self._syncer.start()

    def append(self, record: Mapping[str, Any]) -> None:
        """Write `record` as one line.

        Raises `OSError` if it could not be written whole, or lines before it not synced: the segment then
        takes no more.
        """
        if self._broken:
            raise OSError(f"{self.path} is closed, or ends in a torn line since an earlier write failed")
        if self._unsynced:
            raise OSError(f"{self.path} takes no more: it could not be synced to disk") from self._unsynced
        line = memoryview(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE))
        self._broken = True
        written = 0
        while written < len(line):
            written += os.write(self._file, line[written:])
        self._broken = False
        self.size += written
        self._dirty.set()

    def close(self) -> None:
        """Sync and close."""
        self._closed.set()
        self._dirty.set()
        self._syncer.join()
        os.fsync(self._file)
        os.close(self._file)
        self._broken = True  # the descriptor's number may be another file's from now on

    def _sync(self) -> None:
        while True:
            self._dirty.wait()
            self._dirty.clear()  # before the look at `_closed`: `close` sets both, and must not be missed
            if self._closed.wait(SYNC_SECONDS):
                return
            try:
                os.fsync(self._file)
            except OSError as error:  # nobody waits for this thread: the next `append` says it
                self._unsynced = error
                return


class AttemptRecorder:
    """Takes down one attempt at one episode (`protocols.Recorder`)."""

    def __init__(self, segment: Segment, episode: str, attempt: int) -> None:
        self._segment = segment
        self._episode = episode
        self._attempt = attempt
        self._start: int | None = None
        self.turns = 0
        self.usage = Usage()

    def turn(self, turn: int, completion: Completion, state_sha256: str) -> None:
        """Record turn `turn`."""
        used = completion.usage
        self._append(
            {
                "turn": turn,
                "response": completion.text,
                "reasoning": completion.reasoning,
                "finish": completion.finish,
                "usage": used,
                "seconds": completion.seconds,
                "model": completion.model,
                "replica": completion.replica,
                "state_sha256": state_sha256,
                "requests": completion.requests,
            }
        )
        self.turns = turn
        self.usage = Usage(
            self.usage.prompt + used.prompt,
            self.usage.cached + used.cached,
            self.usage.completion + used.completion,
        )

    def failed_request(self, turn: int, requests: tuple[RequestRecord, ...]) -> None:
        """Record the exchanges of a request that gave no reply."""
        self._append({"turn": turn, "failed": True, "requests": requests})

    def end(self, outcome: Outcome, seconds: float) -> Attempt:
        """Record the end, after `seconds`, and return where the attempt lies."""
        start = self._append(
            {
                "end": True,
                "status": outcome.status,
                "answer": outcome.answer,
                "cited": outcome.cited,
                "limit_hit": outcome.limit_hit,
                "error": outcome.error,
                "seconds": seconds,
            }
        )
        return Attempt(
            self._episode,
            self._attempt,
            self._segment.path.name,
            start,
            self._segment.size,
            self.turns,
            outcome.status,
        )

    def _append(self, facts: Mapping[str, Any]) -> int:
        """Write a line and return where the attempt's first line begins."""
        if self._start is None:
            self._start = self._segment.size
        self._segment.append({"v": VERSION, "episode": self._episode, "attempt": self._attempt, **facts})
        return self._start


def scan(folder: Path) -> list[Attempt]:
    """Return every attempt in the journal `folder`, in order of segment and beginning.

    A torn last line of a segment is ignored. Raises `RunError` for any other line that can't be read.
    """
    retired: set[tuple[str, int]] = set()
    found = [attempt for path in sorted(folder.glob("*.jsonl")) for attempt in _scan_segment(path, retired)]
    return [replace(a, retired=True) if (a.episode, a.attempt) in retired else a for a in found]


def retire(folder: Path, attempts: Iterable[Attempt]) -> None:
    """Write down that `attempts` have no result any more; what they recorded stays. For the driver only."""
    segment = Segment(folder, "driver")
    try:
        for attempt in attempts:
            key = {"v": VERSION, "episode": attempt.episode, "attempt": attempt.attempt}
            segment.append({**key, "retired": True, "status": attempt.status})
    finally:
        segment.close()


def settle(attempts: Iterable[Attempt], planned: Iterable[str]) -> tuple[dict[str, Attempt], list[str]]:
    """Return the accepted attempt of each episode, and which of the `planned` episodes are owed.

    However many finished (a node that was cut off may finish late), one is accepted: the lowest.
    """
    accepted: dict[str, Attempt] = {}
    for attempt in attempts:
        if attempt.finished:
            known = accepted.get(attempt.episode)
            if known is None or (attempt.attempt, attempt.segment) < (known.attempt, known.segment):
                accepted[attempt.episode] = attempt
    return accepted, [episode for episode in planned if episode not in accepted]


def load(folder: Path, attempt: Attempt) -> RecordedEpisode:
    """Read the finished `attempt` back from the journal `folder`. Raises `RunError` if it is damaged."""
    path = folder / attempt.segment
    with path.open("rb") as file:
        file.seek(attempt.start)
        lines = file.read(attempt.end - attempt.start).splitlines()
    key = (attempt.episode, attempt.attempt)
    try:
        records = [
            record for record in map(orjson.loads, lines) if (record["episode"], record["attempt"]) == key
        ]
        *body, end = records
        turns = tuple(_turn(record) for record in body if "failed" not in record)
        if not end.get("end") or [turn.turn for turn in turns] != list(range(1, len(turns) + 1)):
            raise ValueError("turns or the end are missing")
        failed = tuple((record["turn"], _requests(record)) for record in body if "failed" in record)
        outcome = Outcome(end["status"], end["answer"], tuple(end["cited"]), end["limit_hit"], end["error"])
        return RecordedEpisode(attempt, turns, failed, outcome, end["seconds"])
    except (ValueError, KeyError, TypeError) as error:
        raise RunError(
            f"{path}: episode {attempt.episode}, attempt {attempt.attempt} is damaged: {error!r}"
        ) from error


def _scan_segment(path: Path, retired: set[tuple[str, int]]) -> list[Attempt]:
    found: dict[tuple[str, int], Attempt] = {}
    for start, end, record in _records(path):
        key = (record["episode"], record["attempt"])
        if record.get("retired"):
            retired.add(key)
            continue
        known = found.get(key) or Attempt(*key, path.name, start, end)
        found[key] = Attempt(
            *key,
            path.name,
            known.start,
            end,
            known.turns + ("turn" in record and "failed" not in record),
            record["status"] if record.get("end") else known.status,
        )
    return list(found.values())


def _records(path: Path) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Yield start, end and content of each line of a segment; a torn last line is left out."""
    torn: tuple[int, str] | None = None
    end = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if torn is not None:
                raise RunError(
                    f"{path}, line {torn[0]} is damaged ({torn[1]}): only a last line may be torn; "
                    "restore the file, or move it away to run its episodes again"
                )
            start, end = end, end + len(line)
            try:
                record = orjson.loads(line)
                if record["v"] != VERSION:
                    raise RunError(
                        f"{path}, line {number}: journal version {record['v']}, expected {VERSION}"
                    )
                yield start, end, {"episode": record["episode"], "attempt": record["attempt"]} | record
            except (orjson.JSONDecodeError, KeyError, TypeError) as error:
                torn = (number, repr(error))


def _turn(record: Mapping[str, Any]) -> RecordedTurn:
    return RecordedTurn(
        record["turn"],
        record["response"],
        record["reasoning"],
        Usage(**record["usage"]),
        record["replica"],
        record["state_sha256"],
        _requests(record),
    )


def _requests(record: Mapping[str, Any]) -> tuple[RequestRecord, ...]:
    return tuple(RequestRecord(**{**item, "usage": Usage(**item["usage"])}) for item in record["requests"])
