"""Documents → passages → index → document map: what the agent searches and reads (contract 3, 5.4)."""

from pipeline.corpus.building import build
from pipeline.corpus.corpus import Corpus
from pipeline.corpus.records import Hit, Passage, SameTitle, SearchResult, Table
from pipeline.corpus.tokens import estimate_tokens

__all__ = ["Corpus", "Hit", "Passage", "SameTitle", "SearchResult", "Table", "build", "estimate_tokens"]
