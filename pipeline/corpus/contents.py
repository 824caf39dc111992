"""Passages that look like a contents page: lines that end in page numbers which never fall.

They name every topic and hold nothing of it, so search weights them down (`index.contents_weight`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from pipeline.corpus.lines import Lines
from pipeline.corpus.rows import Rows

_LEAST = 5
_SHARE = 0.6
_PAGE = re.compile(rb"(\d{1,3})(?:\s*-\s*\d{1,3})?[\s|]*$")


def contents_like(lines: Lines, rows: Rows, starts: Sequence[int]) -> list[int]:
    """Return which of the passages that start at bytes `starts` look like contents pages."""
    first = np.searchsorted(lines.starts, starts, "right") - 1
    entries = np.concatenate(([0], np.cumsum(rows.entry)))
    filled = np.concatenate(([0], np.cumsum(~lines.blank)))
    last = np.append(first[1:], len(lines))
    some = entries[last] - entries[first]
    share = some / np.maximum(filled[last] - filled[first], 1)
    likely = np.flatnonzero((some >= _LEAST) & (share >= _SHARE))
    return [
        passage
        for passage in likely.tolist()
        if _rising([lines.bytes(line) for line in range(first[passage], last[passage]) if rows.entry[line]])
    ]


def _rising(entries: Sequence[bytes]) -> bool:
    pages = [int(match[1]) for entry in entries if (match := _PAGE.search(entry))]
    falls = sum(after < before for before, after in pairwise(pages))
    return len(pages) >= _LEAST and pages[-1] > pages[0] and falls * 10 <= len(pages)
