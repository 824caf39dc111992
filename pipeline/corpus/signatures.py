"""Signatures: equal for passages that are nearly identical, such as the same boilerplate in every issue.

Prose is nearly identical if it has the same words, whatever numbers and months; a table if it has the same
terms altogether, so that no revised figure is ever taken for the figure it revises.
"""

from __future__ import annotations

import numpy as np

from pipeline.corpus.titles import MONTHS

_CHUNK = 1 << 22
_FEW = 16
"""A passage of fewer different words (a table: terms) is no boilerplate: its signature is its own."""


def signatures(index: dict[str, np.ndarray], passage_tables: np.ndarray) -> np.ndarray:
    """Return one 64-bit number a passage: the sum of a hash of each of its terms, or of its words alone."""
    indices, indptr = index["indices"], index["indptr"]
    count, passages = len(indptr) - 1, len(passage_tables)
    mixed = _mix(np.arange(1, count + 1, dtype=np.uint64))
    worded = _words(index["vocabulary"], index["vocabulary_starts"])
    in_table = passage_tables >= 0
    sums, sizes = np.zeros((2, passages), np.uint64)
    first = 0
    while first < count:
        last = min(count, max(first + 1, int(np.searchsorted(indptr, indptr[first] + _CHUNK))))
        passage = indices[indptr[first] : indptr[last]]
        postings = np.diff(indptr[first : last + 1])
        compared = in_table[passage] | np.repeat(worded[first:last], postings)
        np.add.at(sums, passage[compared], np.repeat(mixed[first:last], postings)[compared])
        np.add.at(sizes, passage[compared], np.uint64(1))
        first = last
    own = _mix(np.arange(count + 1, count + 1 + passages, dtype=np.uint64))
    return np.where(sizes < _FEW, own, sums)


def _mix(numbers: np.ndarray) -> np.ndarray:
    """SplitMix64's finaliser: spreads consecutive numbers over all 64 bits."""
    mixed: np.ndarray = numbers * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed


def _words(vocabulary: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Which terms are neither numbers nor months."""
    head = vocabulary[starts[:-1]]
    worded: np.ndarray = (head < ord("0")) | (head > ord("9"))
    names = vocabulary.tobytes()
    longest = max(map(len, MONTHS))
    short = np.flatnonzero(np.diff(starts) <= longest)
    short = short[np.isin(head[short], [ord(month[0]) for month in MONTHS])]
    for term in short.tolist():
        if names[starts[term] : starts[term + 1]].decode() in MONTHS:
            worded[term] = False
    return worded
