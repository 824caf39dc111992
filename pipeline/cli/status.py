"""Say how far a run is, from another terminal.

examples:
  longharness status outputs/NAME
  longharness status NAME --json

Exit status 0: every planned episode has its rows. 1: something is owed, or still running.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from pipeline.cli.arguments import add_json, print_json
from pipeline.errors import RunError


def add_run(parser: ArgumentParser, optional: bool = False) -> None:
    """Add the positional argument `RUN`."""
    text = "a run's folder, or its name under outputs/"
    parser.add_argument("run", metavar="RUN", nargs="?" if optional else None, help=text)


def run_folder(run: str) -> Path:
    """Return the folder of the run that `RUN` names. Raises `RunError` if there is none."""
    for folder in (Path(run), Path("outputs") / run):
        if (folder / "run.json").is_file():
            return folder
    raise RunError(f"there is no run {run!r}: neither that folder nor outputs/{run} holds a run.json")


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the verb's arguments."""
    add_run(parser)
    add_json(parser)


def run(arguments: Namespace) -> int:
    """Print the run's progress, by its driver's account if it has one, and by its tables."""
    from pipeline.runs.progress import line
    from pipeline.runs.status import status

    facts = status(run_folder(arguments.run))
    if arguments.json:
        print_json(facts)
    else:
        driver = facts["driver"]
        print(f"{facts['committed']} of {facts['planned']} planned episodes are in the tables")
        print(f"driven by process {driver['pid']} on {driver['host']}" if driver else "no driver is running")
        if facts["progress"]:
            print(f"{'now' if driver else 'last'}: {line(facts['progress'])}")
    return 0 if facts["committed"] == facts["planned"] else 1
