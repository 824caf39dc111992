"""Passages: a document's text cut into pieces that follow its paragraphs and tables and tile it.

A passage holds at most `limit` estimated tokens (contract 3, read). A paragraph shorter than 1/16 of that
shares a passage with what follows, so that a heading stays with what it heads. A table is a passage
of its own, from its title to its last row; a longer one is cut between rows, and its first piece keeps title,
unit line and header with the first rows. A longer paragraph is cut between lines, a longer line after a
space, and where there is none, between code points. No gap, no overlap: `text[0:length]` is their sum.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from pipeline.corpus.lines import Lines
from pipeline.corpus.tables import TableLines

SHORT = 16
"""Paragraphs are joined until they have 1/16 of the largest passage."""


def tile(lines: Lines, tables: Sequence[TableLines], limit: int) -> tuple[list[int], list[int]]:
    """Return the byte offsets at which passages start, and each one's table (an index of `tables`, or -1)."""
    starts: list[int] = []
    owners: list[int] = []
    largest = limit * 4
    open_since = -1  # where a passage that is still short began; -1: the last one is not
    for start, end, table in _blocks(lines, tables):
        if table < 0 and open_since >= 0 and end - open_since <= largest:
            open_since = open_since if end - open_since < largest // SHORT else -1
            continue
        pieces = [start] if end - start <= largest else list(_cut(lines, start, end, largest))
        starts += pieces
        owners += [table] * len(pieces)
        open_since = start if table < 0 and end - start < largest // SHORT else -1
    return starts, owners


def _blocks(lines: Lines, tables: Sequence[TableLines]) -> Iterator[tuple[int, int, int]]:
    """Yield paragraphs and tables in order, as byte ranges that tile the document, with the table's index."""
    if not len(lines):
        return
    blank = lines.blank
    first = np.concatenate(([True], blank[:-1])) & ~blank
    owner = np.full(len(lines), -1, np.int32)
    for number, table in enumerate(tables):
        first[table.first : table.end] = False
        owner[table.first] = number
        first[table.first] = True
        if table.end < len(lines) and not blank[table.end]:
            first[table.end] = True
    borders = np.flatnonzero(first)
    if not len(borders):
        borders = np.zeros(1, np.int64)
    starts = lines.starts[borders]
    starts[0] = 0
    ends = np.append(starts[1:], len(lines.raw))
    yield from zip(starts.tolist(), ends.tolist(), owner[borders].tolist(), strict=True)


def _cut(lines: Lines, start: int, end: int, largest: int) -> Iterator[int]:
    """Yield where the pieces of `raw[start:end]` start: cut after line ends, else as `_within_line` does."""
    while True:
        yield start
        if end - start <= largest:
            return
        after = int(lines.starts[np.searchsorted(lines.starts, start + largest, "right") - 1])
        start = after if after > start else _within_line(lines.raw, start, start + largest)


def _within_line(raw: bytes, start: int, latest: int) -> int:
    """Return where to cut a line longer than a passage: after its last space, else at a code point."""
    space = raw.rfind(b" ", start + (latest - start) // 2, latest)
    if space >= 0:
        return space + 1
    while latest > start + 1 and raw[latest] & 0xC0 == 0x80:
        latest -= 1
    return latest
