"""Rows of a JSON file too large to be held: one array of objects, of which one at a time is in memory."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from pathlib import Path

import ijson

from pipeline.benchmarks.rows import Row, checked, unreadable
from pipeline.errors import BenchmarkError

_PART = 1 << 22
"""Bytes that the parser is given at a time. It goes over a text again with each part that continues it."""


def array_rows(path: Path, needed: Sequence[str], key: str) -> Iterator[Row]:
    """Yield the objects of a file that is one JSON array.

    Raises `BenchmarkError`: the file can't be read, or is no such array (with the byte at which it ceases to
    be JSON); a needed cell is missing or blank, or a `key` occurs twice (with row and column).
    """
    yield from checked(path, _rows(path), needed, key)


def _rows(path: Path) -> Iterator[Row]:
    number = 0
    try:
        with path.open("rb") as file:
            if file.read(1_000).lstrip()[:1] != b"[":
                raise BenchmarkError(f"{path} is no JSON array: it must begin with '['")
            file.seek(0)
            for number, value in enumerate(ijson.items(file, "item", buf_size=_PART), start=1):
                place = f"{path}, row {number}"
                if not isinstance(value, dict):
                    raise BenchmarkError(f"{place}: not a JSON object, with a value for each column")
                yield Row(place, value)
    except OSError as error:
        raise unreadable(path, error) from error
    except ijson.JSONError as error:
        raise BenchmarkError(
            f"{path}, row {number + 1}: not JSON, at byte {_end_of_json(path):,}: {_told(error)}"
        ) from error


def _end_of_json(path: Path) -> int:
    """Return the offset of the byte at which a parser gives up, the file's size if that is cut.

    It doesn't tell, so that is searched for: some thirty passes over the file, for a rare error.
    """
    size = path.stat().st_size
    return bisect_left(range(size), True, key=lambda last: not _begins_json(path, last + 1))


def _begins_json(path: Path, size: int) -> bool:
    """Whether the first `size` bytes of the file can be the beginning of JSON."""
    events = ijson.sendable_list()
    parser = ijson.basic_parse_coro(events)
    with path.open("rb") as file:
        while size and (part := file.read(min(size, _PART))):
            try:
                parser.send(part)
            except ijson.JSONError:
                return False
            events.clear()
            size -= len(part)
    return True


def _told(error: ijson.JSONError) -> str:
    """Return what the parser says, without its picture of the place."""
    said = error.args[0]
    text = said.decode(errors="replace") if isinstance(said, bytes) else str(said)
    return text.splitlines()[0].rstrip(".")
