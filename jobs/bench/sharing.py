"""Sharing: what one more actor costs, with the corpus as arrays in the object store and with it pickled.

    python jobs/bench/sharing.py --tokens 1e6 --actors 4

Private memory (USS) is what an actor holds alone, before it attaches and after ten searches and reads.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import bm25s
import ray
from bulletins import arguments, documents

from pipeline.corpus import Corpus, build
from pipeline.corpus.config import CorpusConfig


def private_bytes() -> int:
    """Return the memory that this process shares with no other."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return 1024 * sum(
        int(line.split()[1]) for line in lines if line.startswith(("Private_Clean", "Private_Dirty"))
    )


@ray.remote(num_cpus=0)
class Actor:
    """Attaches to what it is given by reference, and says what that cost."""

    def arrays(self, reference: list[Any]) -> tuple[float, int]:
        """Attach to the arrays behind `reference`; return seconds to attach and private bytes after use."""
        before, began = private_bytes(), time.perf_counter()
        corpus = Corpus.attach(*ray.get(reference[0]))
        attached = time.perf_counter() - began
        for number in range(10):
            corpus.search(f"table {number} millions of dollars")
            corpus.text(0, 1_000 * number, 1_000 * number + 60_000)
        self._corpus = corpus
        return attached, private_bytes() - before

    def pickled(self, reference: list[Any]) -> tuple[float, int]:
        """Get the object behind `reference` whole; return seconds that took and private bytes after it."""
        before, began = private_bytes(), time.perf_counter()
        self._both = ray.get(reference[0])
        return time.perf_counter() - began, private_bytes() - before


def main() -> None:
    parser = arguments(
        argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    )
    parser.add_argument("--actors", type=int, default=4)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        (work / "documents").mkdir()
        corpus = build([documents(options, work / "documents")], CorpusConfig(), None)
        corpus.save(work / "saved")
        peer = bm25s.BM25.load(work / "saved", show_progress=False)
    texts = [corpus.text(number, 0, corpus.length(number)) for number in range(len(corpus.document_ids))]
    size = sum(array.nbytes for array in corpus.arrays().values())
    ray.init(num_cpus=2, include_dashboard=False, logging_level="error")
    try:
        shared, both = ray.put((corpus.arrays(), corpus.meta())), ray.put((peer, texts))
        layouts = {
            "arrays": lambda actor: actor.arrays.remote([shared]),
            "pickled": lambda actor: actor.pickled.remote([both]),
        }
        print(f"corpus of {size / 1e6:.0f} MB, {options.actors} actors; medians")
        print(f"{'layout':<10}{'attach ms':>10}{'private MB':>12}")
        for name, attach in layouts.items():
            actors = [Actor.remote() for _ in range(options.actors)]
            results = ray.get([attach(actor) for actor in actors])
            seconds, private = (sorted(column)[len(results) // 2] for column in zip(*results, strict=True))
            print(f"{name:<10}{seconds * 1e3:>10.2f}{private / 1e6:>12.1f}")
            for actor in actors:
                ray.kill(actor)
    finally:
        ray.shutdown()


if __name__ == "__main__":
    main()
