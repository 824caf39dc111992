"""Scoring and selection: which passages match a query best, and nothing of what they look like."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import bm25s
import numpy as np

from pipeline.corpus.config import IndexConfig, IndexEngine

_BLOCK = 512
"""The best of every so many passages bounds the top k from below, so that only a few are sorted."""


@dataclass(frozen=True)
class Ranking:
    """The best passages, by falling score, ties in passage order; how many scored above 0."""

    passages: np.ndarray
    scores: np.ndarray
    matched: int


class _Scorer(Protocol):
    def scores(self, terms: Sequence[int]) -> np.ndarray:
        """Return every passage's score, padded with zeros to whole blocks; the caller may write to it."""
        ...


class _Columnar:
    """Adds postings into one buffer that every search reuses: not for several threads at once."""

    def __init__(self, arrays: dict[str, np.ndarray], padded: int) -> None:
        self._data, self._indices, self._indptr = arrays["data"], arrays["indices"], arrays["indptr"]
        self._buffer = np.zeros(padded, np.float32)

    def scores(self, terms: Sequence[int]) -> np.ndarray:
        self._buffer.fill(0)
        for term in terms:
            start, end = int(self._indptr[term]), int(self._indptr[term + 1])
            np.add.at(self._buffer, self._indices[start:end], self._data[start:end])
        return self._buffer


class _Reference:
    """Scores by bm25s itself."""

    def __init__(self, arrays: dict[str, np.ndarray], padded: int, passages: int) -> None:
        self._index = bm25s.BM25(method="lucene", backend="numpy")
        self._index.scores = {name: arrays[name] for name in ("data", "indices", "indptr")}
        self._index.scores["num_docs"] = passages
        self._index.nonoccurrence_array = None
        self._padded = padded

    def scores(self, terms: Sequence[int]) -> np.ndarray:
        scores = np.zeros(self._padded, np.float32)
        if terms:
            found = self._index.get_scores_from_ids(list(terms))
            scores[: len(found)] = found
        return scores


class Searcher:
    """Ranks passages for a query's terms."""

    def __init__(self, arrays: dict[str, np.ndarray], config: IndexConfig, passages: int) -> None:
        padded = -(-passages // _BLOCK) * _BLOCK
        self._scorer: _Scorer = (
            _Columnar(arrays, padded)
            if config.engine is IndexEngine.columnar
            else _Reference(arrays, padded, passages)
        )
        self._vocabulary, self._starts = arrays["vocabulary"], arrays["vocabulary_starts"]
        self._keys, self._indptr, self._passages = arrays["vocabulary_keys"], arrays["indptr"], passages
        self._contents, self._contents_weight = arrays["contents"], np.float32(config.contents_weight)

    def terms(self, names: Sequence[str]) -> dict[str, int]:
        """Return the numbers of those terms that some passage has, in the order of `names`, each once.

        Eight bytes of each term, as one number, narrow the search in the sorted vocabulary down.
        """
        wanted = [name.encode() for name in dict.fromkeys(names)]
        keys = np.array([int.from_bytes(name[:8].ljust(8, b"\0")) for name in wanted], np.uint64)
        firsts = np.searchsorted(self._keys, keys, "left").tolist()
        ends = np.searchsorted(self._keys, keys, "right").tolist()
        found = {}
        for name, first, end in zip(wanted, firsts, ends, strict=True):
            number = bisect_left(range(end), name, lo=first, key=self._name)
            if number < end and self._name(number) == name:
                found[name.decode()] = number
        return found

    def _name(self, term: int) -> bytes:
        return self._vocabulary[self._starts[term] : self._starts[term + 1]].tobytes()

    def weights(self, terms: Mapping[str, int]) -> dict[str, float]:
        """Return the terms' inverse document frequencies."""
        return {
            name: math.log(1 + (self._passages - frequency + 0.5) / (frequency + 0.5))
            for name, number in terms.items()
            for frequency in [int(self._indptr[number + 1] - self._indptr[number])]
        }

    def rank(self, terms: Sequence[int], excluded: Sequence[tuple[int, int]], top: int) -> Ranking:
        """Return the `top` best passages that lie in none of the `excluded` ranges of passages."""
        scores = self._scorer.scores(terms)
        scores[self._contents] *= self._contents_weight
        for start, end in excluded:
            scores[start:end] = 0
        passages = best(scores, top)
        return Ranking(passages, scores[passages], int(np.count_nonzero(scores > 0)))


def best(scores: np.ndarray, top: int) -> np.ndarray:
    """Return the `top` passages of the highest scores above 0, by (falling score, passage).

    `scores` has whole blocks. The `top`-th best block maximum is a score that at least `top` passages reach.
    """
    maxima = scores.reshape(-1, _BLOCK).max(axis=1)
    bound = np.partition(maxima, -top)[-top] if len(maxima) > top else np.float32(0)
    blocks = np.flatnonzero((maxima >= bound) & (maxima > 0))
    rows = scores.reshape(-1, _BLOCK)[blocks]
    block, offset = np.nonzero((rows >= bound) & (rows > 0))
    passages = blocks[block] * _BLOCK + offset
    if len(passages) > 4 * top:
        bound = np.partition(scores[passages], -top)[-top]
        passages = passages[scores[passages] >= bound]
    return passages[np.lexsort((passages, -scores[passages]))][:top]
