"""The corpus's configuration: how documents become passages and an index."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class IndexEngine(StrEnum):
    """What builds and searches the index: our columnar build, or bm25s itself, the tested reference."""

    columnar = "columnar"
    bm25s = "bm25s"


@dataclass
class IndexConfig:
    """BM25 (Lucene's form, as bm25s has it). `contents_weight` scales what looks like a contents page."""

    engine: IndexEngine = IndexEngine.columnar
    k1: float = 1.5
    b: float = 0.75
    contents_weight: float = 0.5


@dataclass
class CorpusConfig:
    """A corpus. `passage_tokens` is the largest passage, in estimated tokens (contract 3, read)."""

    passage_tokens: int = 1_024
    index: IndexConfig = field(default_factory=IndexConfig)
