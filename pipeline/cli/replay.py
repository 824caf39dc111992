"""Rebuild every finished episode of a run without a model, and compare every state with the record.

examples:
  longharness replay outputs/NAME
  longharness replay NAME --json

It reads the run's plan and journal, and its corpora: from the cache, or built again from their documents.
Exit status 1: an episode differs from its record.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from dataclasses import asdict

from pipeline.cli.arguments import add_json, print_json
from pipeline.cli.status import add_run, run_folder


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the verb's arguments."""
    add_run(parser)
    add_json(parser)


def run(arguments: Namespace) -> int:
    """Replay the run and print what was compared."""
    from pipeline.runs.replay import replay_run

    found = replay_run(run_folder(arguments.run))
    for mismatch in found.mismatches:
        print(f"longharness replay: {mismatch}", file=sys.stderr)
    if arguments.json:
        print_json(asdict(found))
    else:
        print(
            f"{found.episodes} episodes, {found.turns} turns replayed; {len(found.mismatches)} differ; "
            f"{found.unfinished} planned episodes have no result yet"
        )
    return 1 if found.mismatches else 0
