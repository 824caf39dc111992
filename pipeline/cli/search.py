"""Search a folder of documents as an agent would: the same index, ranking and snippets.

examples:
  longharness search --documents DIR 'total outlays 1953'
  longharness search --documents DIR 'gold stock' --in '*_1953_*' --top-k 3 --order document --json

A hit's range can be read by offsets into the text (code points, end exclusive).
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import asdict

from pipeline.cli.arguments import add_documents, add_json, add_overrides, print_json
from pipeline.cli.progress import StageProgress
from pipeline.errors import ConfigError


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the verb's arguments."""
    add_documents(parser)
    parser.add_argument("query", help="what to search for")
    parser.add_argument(
        "--in", dest="within", action="append", default=[], metavar="GLOB", help="in these documents alone"
    )
    parser.add_argument("--top-k", type=int, help="how many hits, 1 to 50 (default: harness.search.top_k)")
    parser.add_argument("--order", choices=["score", "document"], default="score", help="order of the hits")
    add_overrides(parser, composed=False)
    add_json(parser)


def run(arguments: Namespace) -> int:
    """Search and print the hits."""
    from pipeline.config import compose_harness
    from pipeline.corpus import build
    from pipeline.corpus.conversion import readable
    from pipeline.paths import cache_dir

    config = compose_harness(arguments.overrides, arguments.config_dirs)
    top_k = config.harness.search.top_k if arguments.top_k is None else arguments.top_k
    if not 1 <= top_k <= 50:
        raise ConfigError(f"--top-k {top_k}: give a number from 1 to 50")
    with StageProgress() as progress:
        folders = readable(arguments.documents, cache_dir(), progress)
        corpus = build(folders, config.corpus, cache_dir() / "corpora", progress)
    if arguments.within and not len(corpus.matching(arguments.within)):
        raise ConfigError(f"--in {' '.join(arguments.within)}: no document's id matches")
    found = corpus.search(arguments.query, documents=arguments.within, top_k=top_k, order=arguments.order)
    if arguments.json:
        print_json(asdict(found))
        return 0
    print(f"{len(found.hits)} of {found.matched} matching passages; {found.searched} documents searched")
    for number, hit in enumerate(found.hits, 1):
        print(f"\n{number}. {hit.passage} [{hit.start}:{hit.end}] score {hit.score:.2f}")
        if hit.table:
            print(f"table {hit.table.title!r} [{hit.table.start}:{hit.table.end}]")
        print(hit.snippet)
    return 0
