"""The index: BM25 in Lucene's form, precomputed as bm25s does it, in a columnar build.

A column holds one term's passages (ascending) and scores; terms are sorted by their UTF-8 bytes, so that a
query finds a term by bisection in one blob. The arrays are those of a bm25s index and bit for bit equal to
what bm25s computes from the same terms.

For passage p of length l (in terms) and a term that occurs tf times in it and in df of N passages:
`score = ln(1 + (N - df + 0.5) / (df + 0.5)) * tf / (tf + k1 * (1 - b + b * l / mean(l)))`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import bm25s
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.corpus.config import IndexConfig, IndexEngine
from pipeline.corpus.terms import occurrences, ragged
from pipeline.corpus.tokens import terms as terms_of

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Batch:
    """Texts to index: `rows[i]` (UTF-8) belongs to passage `passages[i]`, which no other batch has."""

    rows: Sequence[bytes]
    passages: np.ndarray


class IndexBuilder(Protocol):
    """Takes batches of passages, in order, and makes the arrays of an index of them."""

    def add(self, batch: Batch) -> None:
        """Index a batch."""
        ...

    def finish(self) -> Arrays:
        """Return `data`, `indices`, `indptr`, and the sorted terms, as `vocabulary` (blob, starts, keys)."""
        ...


def builder(config: IndexConfig, passages: int) -> IndexBuilder:
    """Return the builder that `config.engine` names, for so many passages."""
    if config.engine is IndexEngine.bm25s:
        return Reference(config, passages)
    return Columnar(config, passages)


@dataclass(frozen=True)
class _Piece:
    """A batch's postings by its own terms, then passage; `counts` says how many each term has."""

    terms: pa.Array
    counts: np.ndarray
    passages: np.ndarray
    frequencies: np.ndarray


class Columnar:
    """The columnar build, in pyarrow and numpy."""

    def __init__(self, config: IndexConfig, passages: int) -> None:
        self._config = config
        self._lengths = np.zeros(passages, np.int64)
        self._pieces: list[_Piece] = []

    def add(self, batch: Batch) -> None:
        """Index a batch: term frequencies are run lengths of its sorted (term, passage) keys."""
        row, term, distinct = occurrences(batch.rows)
        passage = batch.passages[row]
        np.add.at(self._lengths, passage, 1)
        key = (term.astype(np.int64) << 32) | passage
        key.sort()
        first = np.flatnonzero(np.diff(key, prepend=-1))
        frequencies = np.diff(first, append=len(key))
        key = key[first]
        self._pieces.append(
            _Piece(
                distinct.cast(pa.large_binary()),
                np.bincount(key >> 32, minlength=len(distinct)),
                (key & 0xFFFFFFFF).astype(np.int32),
                frequencies.astype(np.int32),
            )
        )

    def finish(self) -> Arrays:
        """Merge the vocabularies, then put every posting where its term's column and its passage say."""
        numbers, names = _merge([piece.terms for piece in self._pieces])
        documents = np.zeros(len(names), np.int64)
        for piece, number in zip(self._pieces, numbers, strict=True):
            documents[number] += piece.counts
        indptr = np.zeros(len(names) + 1, np.int64)
        np.cumsum(documents, out=indptr[1:])
        data, indices = np.empty(indptr[-1], np.float32), np.empty(indptr[-1], np.int32)
        idf, norm = _idf(documents, len(self._lengths)), _norm(self._lengths, self._config)
        heads = indptr[:-1].copy()
        while self._pieces:
            piece, number = self._pieces.pop(0), numbers.pop(0)
            at = ragged(heads[number], piece.counts)
            heads[number] += piece.counts
            indices[at] = piece.passages
            saturated = piece.frequencies / (norm[piece.passages] + piece.frequencies)
            data[at] = np.repeat(idf[number], piece.counts) * saturated
        return {"data": data, "indices": indices, "indptr": indptr, **_blob(names)}


def _merge(vocabularies: Sequence[pa.Array]) -> tuple[list[np.ndarray], pa.Array]:
    """Return each vocabulary's term numbers in the order of all terms' bytes, and the sorted terms."""
    merged = pa.chunked_array(vocabularies, pa.large_binary()).combine_chunks()
    encoded = pc.dictionary_encode(merged)
    order = pc.sort_indices(encoded.dictionary).to_numpy()
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    numbers = rank[encoded.indices.to_numpy()]
    ends = np.cumsum([len(terms) for terms in vocabularies]).tolist()
    return [numbers[a:b] for a, b in pairwise([0, *ends])], encoded.dictionary.take(pa.array(order))


def _idf(documents: np.ndarray, passages: int) -> np.ndarray:
    frequencies, inverse = np.unique(documents, return_inverse=True)
    values = [math.log(1 + (passages - df + 0.5) / (df + 0.5)) for df in frequencies.tolist()]
    return np.array(values, np.float32)[inverse]


def _norm(lengths: np.ndarray, config: IndexConfig) -> np.ndarray:
    if not lengths.any():
        return np.ones(len(lengths))
    norm: np.ndarray = config.k1 * ((1 - config.b) + config.b * lengths / lengths.mean())
    return norm


def _blob(names: pa.Array) -> Arrays:
    starts = np.zeros(len(names) + 1, np.int64)
    np.cumsum(pc.binary_length(names).to_numpy(), out=starts[1:])
    blob = np.frombuffer(b"".join(names.to_pylist()), np.uint8)
    return {"vocabulary": blob, "vocabulary_starts": starts, "vocabulary_keys": _keys(blob, starts)}


def _keys(blob: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return each term's first eight bytes as one number, in the order of the terms."""
    padded = np.concatenate((blob, np.zeros(8, np.uint8)))
    keys = np.zeros(len(starts) - 1, np.uint64)
    for place in range(8):
        inside = place < np.diff(starts)
        keys = (keys << np.uint64(8)) | np.where(inside, padded[starts[:-1] + place], 0).astype(np.uint64)
    return keys


class Reference:
    """The tested reference: terms by `tokens.terms` passage by passage, the index by bm25s itself."""

    def __init__(self, config: IndexConfig, passages: int) -> None:
        self._config = config
        self._terms: list[list[str]] = [[] for _ in range(passages)]

    def add(self, batch: Batch) -> None:
        """Keep a batch's terms."""
        for row, passage in zip(batch.rows, batch.passages.tolist(), strict=True):
            self._terms[passage] += terms_of(row.decode())

    def finish(self) -> Arrays:
        """Let bm25s index the terms, numbered in the order of their bytes."""
        names = sorted({term.encode() for terms in self._terms for term in terms})
        numbers = {name.decode(): number for number, name in enumerate(names)}
        index = bm25s.BM25(method="lucene", k1=self._config.k1, b=self._config.b, backend="numpy")
        arrays: dict[str, Any] = {"data": [], "indices": [], "indptr": [0]}
        if names:
            ids = [[numbers[term] for term in terms] for terms in self._terms]
            index.index((ids, numbers), create_empty_token=False, show_progress=False)
            arrays = index.scores
        return {
            "data": np.asarray(arrays["data"], np.float32),
            "indices": np.asarray(arrays["indices"], np.int32),
            "indptr": np.asarray(arrays["indptr"], np.int64),
            **_blob(pa.array(names, pa.large_binary())),
        }
