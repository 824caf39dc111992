"""Index build: our columnar build and bm25s, on the same passages, in one run.

    python jobs/bench/index.py --tokens 1e6

Each builder has a process of its own. CPU seconds are user and system; the peak is its resident set, text
included. `bm25s` is at its defaults (its own tokenizer); `bm25s, our terms` indexes what we index.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bulletins import arguments, documents


def ours(folder: Path, work: Path) -> dict[str, Any]:
    """Build and save; the stages are told apart by their first report of progress."""
    from pipeline.corpus import build
    from pipeline.corpus.config import CorpusConfig

    began: dict[str, float] = {}
    corpus = build(
        [folder], CorpusConfig(), None, lambda stage, *_: began.setdefault(stage, time.process_time())
    )
    indexed = time.process_time()
    corpus.save(work / "ours")
    size = sum(
        file.stat().st_size
        for name in ("data", "indices", "indptr")
        for file in (work / "ours").glob(f"{name}.*")
    )
    return {
        "cpu": indexed - began["index"],
        "whole": time.process_time() - began["fingerprint"],
        "disk": size,
        "passages": len(corpus.arrays()["passage_starts"]),
        "terms": len(corpus.arrays()["vocabulary_keys"]),
        "postings": len(corpus.arrays()["data"]),
    }


def peer(folder: Path, work: Path, our_terms: bool) -> dict[str, Any]:
    """Build and save by bm25s."""
    import bm25s

    from pipeline.corpus import Corpus
    from pipeline.corpus.tokens import terms

    corpus = Corpus.open(work / "ours")
    texts = passages(corpus)
    began = time.process_time()
    index = bm25s.BM25(method="lucene", backend="numpy")
    tokens = [terms(text) for text in texts] if our_terms else bm25s.tokenize(texts, show_progress=False)
    index.index(tokens, show_progress=False)
    cpu = time.process_time() - began
    index.save(work / "peer")
    size = sum(file.stat().st_size for file in (work / "peer").glob("*.npy"))
    return {"cpu": cpu, "whole": None, "disk": size, "postings": len(index.scores["data"])}


def passages(corpus: Any) -> list[str]:
    """Return all passages' texts, in order."""
    found = []
    for name in corpus.document_ids:
        document, number = corpus.number(name), 0
        while (passage := corpus.passage(f"{name}#{number}")) is not None:
            found.append(corpus.text(document, passage.start, passage.end))
            number += 1
    return found


def main() -> None:
    parser = arguments(
        argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    )
    parser.add_argument("--builder", choices=["ours", "bm25s", "bm25s, our terms"], help=argparse.SUPPRESS)
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.builder is not None:
        run = ours if options.builder == "ours" else lambda *at: peer(*at, our_terms="our" in options.builder)
        result = run(options.documents, options.work)
        result["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        print(json.dumps(result))
        return
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        (work / "documents").mkdir()
        folder = documents(options, work / "documents")
        results = {}
        for builder in ("ours", "bm25s", "bm25s, our terms"):
            command = [
                sys.executable,
                __file__,
                "--builder",
                builder,
                "--documents",
                str(folder),
                "--work",
                str(work),
            ]
            results[builder] = json.loads(
                subprocess.run(command, check=True, capture_output=True, text=True).stdout
            )
        mine = results["ours"]
        text = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        print(f"{text / 4e6:.1f}M tokens, {mine['passages']:,} passages, {mine['terms']:,} terms")
        print(
            f"{'builder':<18}{'CPU s':>8}{'whole':>8}{'peak MB':>9}{'disk MB':>9}{'postings':>12}{'ratio':>7}"
        )
        for name, result in results.items():
            whole = f"{result['whole']:.2f}" if result["whole"] is not None else "-"
            peak, disk, ratio = result["peak"] / 1e6, result["disk"] / 1e6, result["cpu"] / mine["cpu"]
            row = f"{name:<18}{result['cpu']:>8.2f}{whole:>8}{peak:>9.0f}{disk:>9.1f}"
            print(row + f"{result['postings']:>12,}{ratio:>7.1f}")


if __name__ == "__main__":
    main()
