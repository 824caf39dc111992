"""The layout of a corpus: all documents' passages and tables as arrays, in code points."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

import numpy as np

from pipeline.corpus.contents import contents_like
from pipeline.corpus.documents import characters_at
from pipeline.corpus.lines import Lines
from pipeline.corpus.passages import tile
from pipeline.corpus.rows import classify
from pipeline.corpus.tables import TableLines, find, year_before
from pipeline.corpus.titles import group

Arrays = dict[str, np.ndarray]

NAME = 80
"""A table without a title is called by so many characters of its header."""

_BATCH = 1 << 22
_FILLER = re.compile(rb"Unnamed: \d+(?:_level_\d+)?")


class Layout:
    """Takes the documents in order. Keeps, until `arrays`, what the index needs beside the text."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._starts: list[np.ndarray] = []
        self._owners: list[np.ndarray] = []
        self._ranges: list[np.ndarray] = []
        self._bodies: list[np.ndarray] = []
        self._titles: list[str] = []
        self._names: list[str] = []
        self._heads: list[str] = []
        self._contents: list[int] = []
        self._passage_firsts = [0]
        self._table_firsts = [0]
        self._context: dict[int, str] = {}
        self._byte_starts: list[np.ndarray] = []

    def add(self, raw: bytes, offset: int) -> None:
        """Lay out the next document, which stands at byte `offset` of the blob of all documents."""
        lines = Lines(raw)
        rows = classify(lines)
        tables = find(lines, rows)
        starts, owners = tile(lines, tables, self._limit)
        first_passage, first_table = self._passage_firsts[-1], self._table_firsts[-1]
        self._keep_context(lines, tables, starts, owners)
        self._contents += [first_passage + number for number in contents_like(lines, rows, starts)]
        cuts = [(lines.starts[t.first], _end(lines, t), lines.starts[t.body]) for t in tables]
        flat = np.array(starts + [int(cut) for cutting in cuts for cut in cutting], np.int64)
        places = characters_at(lines.array, flat)
        table_places = places[len(starts) :].reshape(-1, 3)
        self._starts.append(places[: len(starts)])
        self._ranges.append(table_places[:, :2])
        self._bodies.append(table_places[:, 2])
        self._owners.append(
            np.array([owner + first_table if owner >= 0 else -1 for owner in owners], np.int32)
        )
        self._titles += [table.title for table in tables]
        self._names += [table.title or table.header.partition("\n")[0][:NAME] for table in tables]
        self._heads += ["\n".join(filter(None, (t.title, t.unit, t.header))) for t in tables]
        self._byte_starts.append(np.array(starts, np.int64) + offset)
        self._passage_firsts.append(first_passage + len(starts))
        self._table_firsts.append(first_table + len(tables))

    def _keep_context(
        self, lines: Lines, tables: Sequence[TableLines], starts: Sequence[int], owners: Sequence[int]
    ) -> None:
        """A later piece of a table is indexed with the table's title, unit line, header and current year."""
        first = self._passage_firsts[-1]
        for number, (start, owner) in enumerate(zip(starts, owners, strict=True)):
            if owner >= 0 and number and owners[number - 1] == owner:
                table = tables[owner]
                year = year_before(lines, table, start)
                self._context[first + number] = "\n".join((table.title, table.unit, table.header, year))

    def arrays(self) -> Arrays:
        """Return the arrays of passages and tables."""
        firsts = np.array(self._table_firsts, np.int64)
        return {
            "passage_firsts": np.array(self._passage_firsts, np.int64),
            "passage_starts": _joined(self._starts, np.uint32),
            "passage_tables": _joined(self._owners, np.int32),
            "contents": np.array(self._contents, np.int64),
            "table_firsts": firsts,
            "table_ranges": _joined(self._ranges, np.uint32).reshape(-1, 2),
            "table_bodies": _joined(self._bodies, np.uint32),
            **_strings("table_titles", self._names),
            **_strings("table_heads", self._heads),
            **group(self._titles, firsts),
        }

    def batches(self, text: np.ndarray) -> Iterator[tuple[list[bytes], np.ndarray, int]]:
        """Yield what is to be indexed: texts, their passages, and up to which byte that is."""
        starts = _joined(self._byte_starts, np.int64)
        owners = _joined(self._owners, np.int32)
        ends = np.append(starts[1:], len(text))
        first = 0
        while first < len(starts):
            last = max(first + 1, int(np.searchsorted(starts, starts[first] + _BATCH)))
            passages = list(range(first, last))
            block = text[starts[first] : ends[last - 1]].tobytes()
            cuts = [*(starts[first:last] - starts[first]).tolist(), len(block)]
            rows = [block[a:b] for a, b in itertools.pairwise(cuts)]
            rows = [
                _unfilled(row) if owner >= 0 else row
                for row, owner in zip(rows, owners[first:last].tolist(), strict=True)
            ]
            extra = [passage for passage in passages if passage in self._context]
            rows += [self._context[passage].encode() for passage in extra]
            yield rows, np.array(passages + extra, np.int64), int(ends[last - 1])
            first = last


def _unfilled(row: bytes) -> bytes:
    """Return the text of a table without what its rendering put into empty cells."""
    row = row.replace(b"| nan ", b"| ")
    return _FILLER.sub(b"", row) if b"Unnamed:" in row else row


def _end(lines: Lines, table: TableLines) -> int:
    """Return the byte after a table's last row, its line end apart."""
    start, end = int(lines.starts[table.end - 1]), int(lines.starts[table.end])
    return start + len(lines.raw[start:end].rstrip())


def _joined(parts: Sequence[np.ndarray], dtype: type[np.generic]) -> np.ndarray:
    return np.concatenate([np.zeros(0, dtype), *(part.ravel() for part in parts)]).astype(dtype)


def _strings(name: str, strings: Sequence[str]) -> Arrays:
    encoded = [string.encode() for string in strings]
    starts = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(string) for string in encoded], out=starts[1:])
    return {name: np.frombuffer(b"".join(encoded), np.uint8), f"{name}_starts": starts}
