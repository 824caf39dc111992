"""The lines of one document, found at once: where they start, and what they are made of."""

from __future__ import annotations

from functools import cached_property

import numpy as np

NEWLINE, SPACE = 10, 32


class Lines:
    """A document's lines. Line `i` is `raw[starts[i]:starts[i + 1]]`, its line end included."""

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self.array = np.frombuffer(raw, np.uint8)
        ends = np.flatnonzero(self.array == NEWLINE) + 1
        cuts = [] if (len(ends) and ends[-1] == len(raw)) or not raw else [len(raw)]
        self.starts = np.concatenate(([0], ends, cuts)).astype(np.int64)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def count(self, mask: np.ndarray) -> np.ndarray:
        """Return for each line how many of its bytes `mask` (one bool a byte of `raw`) marks."""
        if not len(self):
            return np.zeros(0, np.int64)
        counts: np.ndarray = np.add.reduceat(mask, self.starts[:-1], dtype=np.int64)
        return counts

    @cached_property
    def blank(self) -> np.ndarray:
        """Which lines hold nothing but white space and control characters."""
        blank: np.ndarray = self.count(self.array > SPACE) == 0
        return blank

    def bytes(self, line: int) -> bytes:
        """Return line `line`, outer white space stripped."""
        return self.raw[self.starts[line] : self.starts[line + 1]].strip()

    def text(self, line: int) -> str:
        """Return line `line` as a string, outer white space stripped."""
        return self.bytes(line).decode()
