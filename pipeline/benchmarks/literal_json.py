"""Question files in JSON whose numbers stay as they are written: `12.50` is not `12.5`."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from pipeline.benchmarks.rows import Row, checked, json_lines, unreadable
from pipeline.errors import BenchmarkError

_KINDS = "write one object a line, or, in a .json file, an array of objects"


@dataclass(frozen=True, repr=False)
class Number:
    """A number as it stands in the file."""

    text: str

    def __repr__(self) -> str:
        return self.text


def literal_rows(path: Path, needed: Sequence[str], key: str) -> Iterator[Row]:
    """Yield the rows of a file with one JSON object a line or, if it is a `.json` file, an array of them.

    Every number in a cell is a `Number`. Raises `BenchmarkError` as `rows.json_rows` does.
    """
    yield from checked(path, _objects(path), needed, key)


def _objects(path: Path) -> Iterator[Row]:
    if path.suffix.lower() == ".json":
        try:
            raw = path.read_bytes().removeprefix(codecs.BOM_UTF8)
        except OSError as error:
            raise unreadable(path, error) from error
        if raw.lstrip().startswith(b"["):
            for number, value in enumerate(_loaded(str(path), raw), start=1):
                yield _row(f"{path}, row {number}", value)
            return
    for place, line in json_lines(path):
        yield _row(place, _loaded(place, line))


def _loaded(place: str, raw: bytes) -> Any:
    try:
        orjson.loads(raw)  # refuses what the other takes: NaN, halves of characters
        return json.loads(raw.decode(), parse_int=Number, parse_float=Number)
    except orjson.JSONDecodeError as error:
        line = f"line {error.lineno}, " if error.lineno > 1 else ""
        raise BenchmarkError(
            f"{place}: not JSON, at {line}column {error.colno}: {error.msg}; {_KINDS}"
        ) from error
    except RecursionError as error:
        raise BenchmarkError(f"{place}: nested too deeply; {_KINDS}") from error


def _row(place: str, value: Any) -> Row:
    if not isinstance(value, dict):
        raise BenchmarkError(f"{place}: not a JSON object, with a value for each column; {_KINDS}")
    return Row(place, value)
