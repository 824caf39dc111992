"""Search: our ranking and bm25s' (numpy), on the same index and terms, in one run and process.

    python jobs/bench/search.py --tokens 1e6

`rank` finds the best passages (what bm25s' `retrieve` does); `search` makes hits with snippets as well.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import bm25s
import numpy as np
from bulletins import arguments, documents
from index import passages

from pipeline.corpus import build
from pipeline.corpus.config import CorpusConfig
from pipeline.corpus.tokens import terms


def timed(run: Callable[[Sequence[str]], object], queries: Sequence[Sequence[str]]) -> tuple[float, float]:
    """Return the median and the 99th percentile of CPU milliseconds a query."""
    spent = []
    for query in queries:
        began = time.process_time_ns()
        run(query)
        spent.append((time.process_time_ns() - began) / 1e6)
    return float(np.percentile(spent, 50)), float(np.percentile(spent, 99))


def main() -> None:
    parser = arguments(
        argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    )
    parser.add_argument("--queries", type=int, default=200, help="queries of each length")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        (work / "documents").mkdir()
        corpus = build([documents(options, work / "documents")], CorpusConfig(), None)
        corpus.save(work / "saved")
        peer = bm25s.BM25.load(work / "saved", show_progress=False)
    texts = passages(corpus)
    half = corpus.document_ids[:: max(2, len(corpus.document_ids) // 50)]
    searcher = corpus._searcher
    chooser = random.Random(options.seed)

    def rank(query: Sequence[str]) -> object:
        return searcher.rank(list(searcher.terms(query).values()), [], 10)

    engines: dict[str, Callable[[Sequence[str]], object]] = {
        "bm25s": lambda query: peer.retrieve([list(query)], k=min(10, len(texts)), show_progress=False),
        "rank": rank,
        "search": lambda query: corpus.search(" ".join(query)),
        "search, filtered": lambda query: corpus.search(" ".join(query), documents=half),
    }
    print(f"{len(texts):,} passages, {len(corpus.document_ids)} documents; CPU ms, p50 (p99)")
    print(f"{'engine':<18}" + "".join(f"{f'{length} terms':>18}" for length in (2, 8, 20)))
    for name, run in engines.items():
        row = f"{name:<18}"
        for length in (2, 8, 20):
            chooser.seed(options.seed)
            queries = []
            while len(queries) < options.queries:
                found = list(dict.fromkeys(terms(chooser.choice(texts))))
                if len(found) >= length:
                    queries.append(chooser.sample(found, length))
            timed(run, queries[:20])
            median, tail = timed(run, queries)
            row += f"{f'{median:.2f} ({tail:.2f})':>18}"
        print(row)


if __name__ == "__main__":
    main()
