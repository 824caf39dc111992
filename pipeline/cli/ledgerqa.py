"""Generate LedgerQA: statistical bulletins with questions, gold answers and gold evidence.

examples:
  longharness ledgerqa data/ledgerqa
  longharness ledgerqa data/large benchmark.tokens=10000000 benchmark.seed=7 benchmark.questions_per_kind=50
  longharness ledgerqa data/hard benchmark.distractors=3 benchmark.late_percent=15 benchmark.noise_percent=5
  longharness ledgerqa data/lists 'benchmark.kinds=[list,calendar]' benchmark.operands=8
  longharness evaluate benchmark=ledgerqa benchmark.folder=data/ledgerqa

The same values give the same bytes. A run with benchmark=ledgerqa generates what it needs by itself; one with
benchmark.folder checks every file and records the folder's own parameters.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import asdict
from pathlib import Path

from pipeline.cli.arguments import add_json, add_overrides, print_config, print_json


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("folder", type=Path, help="where to write it; must not exist or be empty")
    add_overrides(parser)
    add_json(parser)


def run(arguments: Namespace) -> int:
    """Generate the dataset and say what it holds."""
    from pipeline.benchmarks.ledgerqa import generate
    from pipeline.config import resolve

    spec = resolve(["benchmark=ledgerqa", *arguments.overrides], arguments.config_dirs)
    if arguments.cfg:
        print_config(spec.config["arms"][0]["benchmark"])
        return 0
    manifest = generate(spec.arms[0].benchmark, arguments.folder)
    if arguments.json:
        print_json(asdict(manifest))
    else:
        questions = sum(manifest.questions.values())
        print(
            f"{arguments.folder}: {manifest.documents:,} documents, {manifest.tokens:,} tokens, "
            f"{questions:,} questions"
        )
    return 0
