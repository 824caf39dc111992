"""Rebuild every finished episode of a run without a model, and compare every state with the record.

examples:
  longharness replay outputs/NAME
  longharness replay NAME --json
  longharness replay NAME --episode TASK               # one of them, turn by turn
  longharness replay NAME --episode 3f2a --provenance  # by its own id; what its answer rests on

It reads the run's plan and journal, and its corpora: from the cache, or built again from their documents.
Exit status 1: an episode differs from its record.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from dataclasses import asdict

from pipeline.cli.arguments import add_json, print_json
from pipeline.cli.status import add_run, run_folder
from pipeline.cli.trace import add_provenance, print_turns
from pipeline.errors import UnusableInput


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the verb's arguments."""
    add_run(parser)
    parser.add_argument(
        "--episode", metavar="ID", help="show one episode: that of this task, or whose id begins so"
    )
    add_provenance(parser)
    add_json(parser)


def run(arguments: Namespace) -> int:
    """Replay the run and print what was compared, or the one episode that is asked for."""
    if arguments.episode is not None:
        from pipeline.runs.replay import replay_episode

        trace, outcome = replay_episode(run_folder(arguments.run), arguments.episode)
        print_turns(trace.turns, arguments)
        if not arguments.json:
            print(f"ended {outcome.status}" + (f": {outcome.error}" if outcome.error else ""))
        return 0
    if arguments.provenance:
        raise UnusableInput("--provenance is of one episode: add --episode ID")

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
