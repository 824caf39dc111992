"""A corpus: documents, passages, tables and an index, as a flat dictionary of arrays and a small JSON.

All state is numpy arrays, so that it is saved as `.npy` files, memory-mapped, or put once in an object store
and attached by many processes without a copy.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from fnmatch import translate
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal
from weakref import proxy

import numpy as np

from pipeline.corpus import store, tokens
from pipeline.corpus.config import CorpusConfig, IndexConfig, IndexEngine
from pipeline.corpus.documents import Documents
from pipeline.corpus.outline import outline
from pipeline.corpus.records import Hit, Passage, SameTitle, SearchResult, Table
from pipeline.corpus.search import Searcher
from pipeline.corpus.snippets import snippet

CANDIDATES = 3
"""So many candidates for each hit asked for are looked at, so that near-identical ones can be collapsed."""

ABOVE = 4_096
"""So many characters of a table above a passage are searched for the year that its rows inherit."""

ALSO = 8
"""At most so many near-identical passages are named with a hit."""


class Corpus:
    """A searchable document collection. One instance serves one thread; it is cheap to attach another."""

    def __init__(self, arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any]) -> None:
        # An array that came through an object store has a dtype object of its own, with which numpy's
        # `add.at` misses its fast path: a view has numpy's own.
        self._arrays = {name: array.view(array.dtype.str) for name, array in arrays.items()}
        self._meta = dict(meta)
        self.config = _config(meta["config"])
        self._documents = Documents(self._arrays)
        self._searcher = Searcher(self._arrays, self.config.index, len(self._arrays["passage_starts"]))
        own: Corpus = proxy(self)  # the caches must not keep it, and its files, alive
        self._matching = lru_cache(maxsize=64)(lambda patterns: own._match(patterns))
        self._outline = lru_cache(maxsize=4)(lambda tokens: own._draw_outline(tokens))

    @classmethod
    def attach(cls, arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any]) -> Corpus:
        """Return a corpus over `arrays()` and `meta()` of another one; nothing is copied."""
        return cls(arrays, meta)

    @classmethod
    def open(cls, path: Path) -> Corpus:
        """Return the corpus saved at `path`, memory-mapped. Raises `CorpusError` if it is damaged."""
        return cls(*store.load(path))

    def save(self, path: Path) -> None:
        """Write the corpus to a new folder `path`, whole or not at all; `bm25s.BM25.load` reads it too."""
        store.save(self._arrays, self._meta, path)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return all arrays, by name."""
        return dict(self._arrays)

    def meta(self) -> dict[str, Any]:
        """Return what the arrays don't hold, as JSON values: format, fingerprint, config."""
        return dict(self._meta)

    @property
    def fingerprint(self) -> str:
        """The SHA-256 over format version, config, ids and bytes."""
        return str(self._meta["fingerprint"])

    @property
    def document_ids(self) -> Sequence[str]:
        """All document ids, sorted by code point; a document's number is its place here."""
        return self._documents.ids

    def number(self, document_id: str) -> int | None:
        """Return the number of a document, or None if there is none of that id."""
        at = bisect_left(self._documents.ids, document_id)
        return at if self._documents.ids[at : at + 1] == [document_id] else None

    def length(self, document: int) -> int:
        """Return a document's length in code points."""
        return self._documents.length(document)

    def text(self, document: int, start: int, end: int) -> str:
        """Return the code points `start:end` of a document, exactly as in its file (contract 3.9)."""
        return self._documents.text(document, start, end)

    def tokens(self, document: int, start: int, end: int) -> int:
        """Return the estimated tokens of `text(document, start, end)` (contract 4.5)."""
        return (self._documents.byte(document, end) - self._documents.byte(document, start) + 3) // 4

    def clip(self, document: int, start: int, end: int, tokens: int) -> int:
        """Return the largest `end'` ≤ `end` such that `start:end'` has at most `tokens` estimated tokens.

        If that cuts, it cuts after the last line end in the range, else at a code point (contract 3.6).
        """
        first, last = self._documents.byte(document, start), self._documents.byte(document, end)
        if last - first <= tokens * 4:
            return min(end, self.length(document))
        piece = self._documents.bytes(first, first + tokens * 4).decode(errors="ignore")
        return start + (piece.rfind("\n") + 1 or len(piece))

    def passage(self, passage_id: str) -> Passage | None:
        """Return the passage of id `document#n`, or None if there is none."""
        name, _, index = passage_id.rpartition("#")
        document = self.number(name)
        if document is None or not re.fullmatch(r"0|[1-9][0-9]{0,9}", index):
            return None
        first, end = self._passages(document)
        return self._passage(first + int(index)) if int(index) < end - first else None

    def _passages(self, document: int) -> tuple[int, int]:
        firsts = self._arrays["passage_firsts"]
        return int(firsts[document]), int(firsts[document + 1])

    def _document_of(self, passage: int) -> int:
        return int(np.searchsorted(self._arrays["passage_firsts"], passage, "right")) - 1

    def _passage(self, passage: int) -> Passage:
        document = self._document_of(passage)
        first, end = self._passages(document)
        starts, name = self._arrays["passage_starts"], self._documents.ids[document]
        last = int(starts[passage + 1]) if passage + 1 < end else self.length(document)
        return Passage(f"{name}#{passage - first}", name, int(starts[passage]), last)

    def tables(self, document: int) -> Sequence[Table]:
        """Return a document's tables, in order."""
        firsts = self._arrays["table_firsts"]
        return [self._table(table) for table in range(int(firsts[document]), int(firsts[document + 1]))]

    def _table(self, table: int) -> Table:
        start, end = self._arrays["table_ranges"][table].tolist()
        return Table(self._string("table_titles", table), start, end)

    def _string(self, name: str, number: int) -> str:
        start, end = self._arrays[f"{name}_starts"][number : number + 2].tolist()
        return self._arrays[name][start:end].tobytes().decode()

    def matching(self, patterns: Sequence[str]) -> np.ndarray:
        """Return the numbers of the documents that a filter selects, ascending; all for an empty filter.

        An entry is an id, else a case-sensitive glob in which `*` crosses `/`; entries add up (contract 3.4).
        """
        return self._matching(tuple(patterns))

    def _match(self, patterns: tuple[str, ...]) -> np.ndarray:
        ids = self._documents.ids
        if not patterns:
            return np.arange(len(ids))
        found: set[int] = set()
        globs: list[str] = []
        for pattern in patterns:
            number = self.number(pattern)
            if number is not None:
                found.add(number)
            elif re.search(r"[*?\[]", pattern):
                globs.append(pattern)
        if globs:
            matches = re.compile("|".join(translate(glob) for glob in globs)).match
            found.update(number for number, name in enumerate(ids) if matches(name))
        return np.array(sorted(found), np.int64)

    def search(
        self,
        query: str,
        *,
        documents: Sequence[str] = (),
        top_k: int = 10,
        order: Literal["score", "document"] = "score",
    ) -> SearchResult:
        """Return the best `top_k` passages for `query` among the documents of a filter (contract 3.1, 3.4).

        BM25 with the IDF of the whole corpus; ties break by passage order. Near-identical passages are one
        hit. `order="document"` gives the same hits in passage order.
        """
        selected = self.matching(documents)
        terms = self._searcher.terms(tokens.terms(query))
        ranking = self._searcher.rank(list(terms.values()), self._outside(selected), top_k * CANDIDATES)
        groups = self._collapse(ranking.passages, top_k)
        weights = self._searcher.weights(terms)
        scores = dict(zip(ranking.passages.tolist(), ranking.scores.tolist(), strict=True))
        leaders = sorted(groups) if order == "document" else list(groups)
        hits = tuple(self._hit(leader, scores[leader], weights, groups[leader]) for leader in leaders)
        ids = self._documents.ids
        first, last = (ids[selected[0]], ids[selected[-1]]) if len(selected) else ("", "")
        return SearchResult(hits, len(selected), first, last, ranking.matched, len(terms))

    def _outside(self, selected: np.ndarray) -> list[tuple[int, int]]:
        """Return the ranges of passages of documents that are not selected."""
        firsts = self._arrays["passage_firsts"]
        before = np.concatenate(([-1], selected))
        after = np.concatenate((selected, [len(firsts) - 1]))
        gap = after - before > 1
        return list(zip(firsts[before[gap] + 1].tolist(), firsts[after[gap]].tolist(), strict=True))

    def _collapse(self, passages: np.ndarray, top: int) -> dict[int, list[int]]:
        """Group near-identical passages under the best of them; the best `top` groups, in order."""
        signatures = self._arrays["passage_signatures"][passages].tolist()
        leaders: dict[int, int] = {}
        groups: dict[int, list[int]] = {}
        for passage, signature in zip(passages.tolist(), signatures, strict=True):
            leader = leaders.setdefault(signature, passage)
            if leader in groups:
                groups[leader].append(passage)
            elif len(groups) < top:
                groups[leader] = []
        return groups

    def _hit(self, passage: int, score: float, weights: Mapping[str, float], also: Sequence[int]) -> Hit:
        at = self._passage(passage)
        document = self._document_of(passage)
        table = int(self._arrays["passage_tables"][passage])
        start, head, above = at.start, "", None
        if table >= 0:
            body = int(self._arrays["table_bodies"][table])
            start = min(max(start, body), at.end)
            head = self._string("table_heads", table) + "\n"
            above = self.text(document, max(body, start - ABOVE), start) if body < start else ""
        return Hit(
            at.id,
            at.document,
            at.start,
            at.end,
            score,
            head + snippet(self.text(document, start, at.end), weights, above),
            self._table(table) if table >= 0 else None,
            self._same_title(table, document) if table >= 0 else None,
            tuple(self._passage(other).id for other in also[:ALSO]),
        )

    def _same_title(self, table: int, document: int) -> SameTitle | None:
        group = int(self._arrays["table_groups"][table])
        if group < 0:
            return None
        start, end = self._arrays["title_starts"][group : group + 2].tolist()
        others = [
            number for number in self._arrays["title_documents"][start:end].tolist() if number != document
        ]
        ids = self._documents.ids
        return SameTitle(len(others), ids[others[0]], ids[others[-1]]) if others else None

    def outline(self, max_tokens: int) -> str:
        """Return the document map in at most `max_tokens` estimated tokens (contract 5.4), drawn once."""
        return self._outline(max_tokens)

    def _draw_outline(self, max_tokens: int) -> str:
        sizes = [(self._documents.size(number) + 3) // 4 for number in range(len(self._documents.ids))]
        return outline(self._documents.ids, sizes, max_tokens)


def _config(values: Mapping[str, Any]) -> CorpusConfig:
    index = IndexConfig(**{**values["index"], "engine": IndexEngine(values["index"]["engine"])})
    return CorpusConfig(**{**values, "index": index})
