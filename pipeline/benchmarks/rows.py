"""Rows of question files, checked as they are read: errors name file, row and column.

CSV, JSON Lines and Parquet: whatever the file, a row is the same.
"""

from __future__ import annotations

import codecs
import csv
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from pipeline.errors import BenchmarkError

_FEW = 8
"""Rows of a Parquet file that are held at a time: a row may hold a book."""

_DELIMITERS = {";": "semicolons", "\t": "tabs", "|": "vertical bars"}
"""What other programs put between cells, beside commas."""


@dataclass(frozen=True)
class Row:
    """A row's cells by column, and where it stands: `FILE, row 2 (ending at line 3)`. Rows count from 1.

    A CSV file's cells are text, or None where a row is shorter than the header; others' are any value.
    """

    place: str
    cells: Mapping[str, Any]

    def text(self, column: str) -> str:
        """Return a cell as it is. Raises `BenchmarkError` if it is no text, or blank."""
        if self.blank(column):
            raise self.error(column, "empty")
        cell = self.cells[column]
        if not isinstance(cell, str):
            raise self.error(column, f"{cell!r:.80} is no text; write it in quotes")
        return cell

    def optional(self, column: str) -> str | None:
        """Return a cell as it is, None if it is blank. Raises `BenchmarkError` if it is no text."""
        return None if self.blank(column) else self.text(column)

    def blank(self, column: str) -> bool:
        """Whether there is no such column, or nothing in it."""
        cell = self.cells.get(column)
        return cell is None or (isinstance(cell, str) and not cell.strip())

    def error(self, column: str, problem: str) -> BenchmarkError:
        """Return the error that says what is wrong with a cell, and where."""
        return BenchmarkError(f"{self.place}, column {column}: {problem}")


def csv_rows(path: Path, needed: Sequence[str], key: str) -> Iterator[Row]:
    """Yield the rows of a CSV file whose first line names its columns.

    Raises `BenchmarkError`: the file can't be read, is no UTF-8 CSV, has no rows or lacks a `needed` column;
    a needed cell is blank, a `key` occurs twice, or a row has more cells than columns.
    """
    yield from checked(path, _csv(path, needed), needed, key)


def json_rows(path: Path, needed: Sequence[str], key: str) -> Iterator[Row]:
    """Yield the rows of a file with one JSON object a line; blank lines are skipped.

    Raises `BenchmarkError` as `csv_rows` does. A needed cell may be any JSON value but null and blank text.
    """
    yield from checked(path, (_json_row(place, line) for place, line in json_lines(path)), needed, key)


def parquet_rows(path: Path, needed: Sequence[str], key: str | None = None) -> Iterator[Row]:
    """Yield the `needed` cells of a Parquet file's rows. Raises `BenchmarkError` as `csv_rows` does."""
    yield from checked(path, _parquet(path, needed), needed, key)


def unreadable(path: Path, error: OSError) -> BenchmarkError:
    """Return the error that says that a question file can't be read, and why."""
    return BenchmarkError(f"questions file {str(path)!r} can't be read: {error.strerror or error}")


def _csv(path: Path, needed: Sequence[str]) -> Iterator[Row]:
    number = 0
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            first = file.readline()
            _check_delimiter(path, first, needed)
            reader = csv.DictReader(itertools.chain([first], file), strict=True)
            _check_header(path, reader.fieldnames or (), needed)
            for number, cells in enumerate(reader, start=1):
                row = Row(f"{path}, row {number} (ending at line {reader.line_num})", cells)
                if None in cells:  # what is left over; cells would be read as others than they are
                    raise BenchmarkError(
                        f"{row.place}: more cells than columns; quote cells that hold a comma"
                    )
                yield row
    except OSError as error:
        raise unreadable(path, error) from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise BenchmarkError(f"{path} is no UTF-8 CSV file{_after(number)}: {error}") from error


def _after(number: int) -> str:
    return f", after row {number}" if number else ""


def _check_delimiter(path: Path, header: str, needed: Sequence[str]) -> None:
    """Refuse a header that names a column only if something else than commas separates its cells."""
    if not set(needed).isdisjoint(_cells(header, ",")):
        return
    for mark, said in _DELIMITERS.items():
        if not set(needed).isdisjoint(_cells(header, mark)):
            raise BenchmarkError(
                f"{path}, header: its columns are separated by {said}; save it as CSV with commas, "
                "and with quotes around cells that hold one"
            )


def _cells(line: str, delimiter: str) -> list[str]:
    return next(csv.reader([line], delimiter=delimiter), [])


def _check_header(path: Path, header: Sequence[str], needed: Sequence[str]) -> None:
    if missing := [column for column in needed if column not in header]:
        found = ", ".join(header) or "none"
        raise BenchmarkError(f"{path}, header: missing column {', '.join(missing)}; it has: {found}")
    if twice := [column for column in header if column.strip() and header.count(column) > 1]:
        raise BenchmarkError(f"{path}, header: column {twice[0]} is there twice; rename or drop one")


def json_lines(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the lines of a file that aren't blank, each with its place. Raises `BenchmarkError`."""
    number = 0
    try:
        with path.open("rb") as file:
            for line_number, line in enumerate(file, start=1):
                line = line.removeprefix(codecs.BOM_UTF8) if line_number == 1 else line
                if not line.strip():
                    continue
                number += 1
                yield f"{path}, row {number} (line {line_number})", line
    except OSError as error:
        raise unreadable(path, error) from error


def _json_row(place: str, line: bytes) -> Row:
    try:
        cells = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise BenchmarkError(f"{place}: not JSON, at column {error.colno}: {error.msg}") from error
    if not isinstance(cells, dict):
        raise BenchmarkError(f"{place}: not a JSON object; each line is one, with a value for each column")
    return Row(place, cells)


def _parquet(path: Path, needed: Sequence[str]) -> Iterator[Row]:
    import pyarrow as pa  # slow to import, and most question files are others
    import pyarrow.parquet as pq

    number = 0
    try:
        with path.open("rb") as opened, pq.ParquetFile(opened) as file:
            _check_header(path, file.schema_arrow.names, needed)
            batches = file.iter_batches(batch_size=_FEW, columns=list(needed))
            for number, cells in enumerate((row for batch in batches for row in batch.to_pylist()), start=1):
                yield Row(f"{path}, row {number}", cells)
    except (pa.ArrowException, ValueError, OverflowError) as error:  # no UTF-8, or no value of Python's
        raise BenchmarkError(f"{path} is no Parquet file{_after(number)}: {error}") from error
    except OSError as error:
        raise unreadable(path, error) from error


def checked(path: Path, rows: Iterator[Row], needed: Sequence[str], key: str | None) -> Iterator[Row]:
    """Yield the rows of `path`, refused where a needed cell is blank, or a key is an earlier row's.

    Such a row would be scored as a wrong answer. Raises `BenchmarkError`, also if there is no row.
    """
    seen: dict[str, int] = {}
    number = 0
    for number, row in enumerate(rows, start=1):
        for column in needed:
            if row.blank(column):
                raise row.error(column, "empty")
        if key is not None:
            name = str(row.cells[key])
            if name in seen:
                raise row.error(key, f"{name!r} is that of row {seen[name]} too")
            seen[name] = number
        yield row
    if not number:
        raise BenchmarkError(f"{path} has no questions")
