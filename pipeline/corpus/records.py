"""What a corpus tells about itself: tables, passages, hits."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """A table of a document: its title, and the code points from the title to the last row."""

    title: str
    start: int
    end: int


@dataclass(frozen=True)
class Passage:
    """A passage: id `document#n`, n from 0, and its code points in the document."""

    id: str
    document: str
    start: int
    end: int


@dataclass(frozen=True)
class SameTitle:
    """In how many other documents a table of the same title occurs; the first and last of them by id."""

    documents: int
    first: str
    last: str


@dataclass(frozen=True)
class Hit:
    """A passage that matches a query. `also` names passages that are nearly the same, best first.

    The snippet is for navigation (contract 3.2): best-matching lines, and of a table its title, unit line and
    header, cleaned; it is no quotation.
    """

    passage: str
    document: str
    start: int
    end: int
    score: float
    snippet: str
    table: Table | None
    same_title: SameTitle | None
    also: tuple[str, ...]


@dataclass(frozen=True)
class SearchResult:
    """Hits, and what was searched.

    `searched` documents pass the filter, `first` and `last` by id (empty if none does); `matched` of their
    passages score above 0; `indexed_terms` of the query's distinct terms occur in the corpus.
    """

    hits: tuple[Hit, ...]
    searched: int
    first: str
    last: str
    matched: int
    indexed_terms: int
