"""Build the index of a folder of documents, or find it in the cache, and say what it holds.

examples:
  longharness index --documents DIR
  longharness index --documents BULLETINS --documents ERRATA --json
  longharness index --documents DIR corpus.passage_tokens=512

A corpus is cached under $LONGHARNESS_CACHE/corpora by its contents: runs over the same documents share it.
"""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace

from pipeline.cli.arguments import add_documents, add_json, add_overrides, print_json
from pipeline.cli.progress import StageProgress


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the verb's arguments."""
    add_documents(parser)
    add_overrides(parser, composed=False)
    add_json(parser)


def run(arguments: Namespace) -> int:
    """Build or open the corpus and print its size and place."""
    from pipeline.config import compose_harness
    from pipeline.corpus import build
    from pipeline.corpus.conversion import readable
    from pipeline.paths import cache_dir

    config = compose_harness(arguments.overrides, arguments.config_dirs).corpus
    cache = cache_dir() / "corpora"
    started = time.perf_counter()
    with StageProgress() as progress:
        folders = readable(arguments.documents, cache_dir(), progress)
        corpus = build(folders, config, cache, progress)
    lengths = [corpus.length(n) for n in range(len(corpus.document_ids))]
    facts = {
        "fingerprint": corpus.fingerprint,
        "folder": str(cache / corpus.fingerprint),
        "documents": len(lengths),
        "characters": sum(lengths),
        "tokens": sum(corpus.tokens(n, 0, length) for n, length in enumerate(lengths)),
        "passages": len(corpus.arrays()["passage_starts"]),
        "seconds": round(time.perf_counter() - started, 3),
    }
    if arguments.json:
        print_json(facts)
        return 0
    for name, value in facts.items():
        print(f"{name:12} {value:,}" if isinstance(value, int | float) else f"{name:12} {value}")
    return 0
