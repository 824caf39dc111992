"""Score a run again from its recorded answers, or bare answers by a benchmark's scorer. No model is asked.

examples:
  longharness score outputs/NAME
  longharness score --answers FILE.jsonl --scorer pipeline.benchmarks.scorers.officeqa

A line of FILE.jsonl is {"gold": "…", "answer": "…", "tolerance": 0.05}; it is printed with its score.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from pipeline.cli.arguments import add_json, print_json
from pipeline.cli.status import add_run, run_folder
from pipeline.errors import UnusableInput

OFFICEQA = "pipeline.benchmarks.scorers.officeqa"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the verb's arguments."""
    add_run(parser, optional=True)
    parser.add_argument("--answers", type=Path, metavar="FILE", help="score these instead (JSON lines)")
    parser.add_argument("--scorer", default=OFFICEQA, metavar="MODULE", help=f"for --answers ({OFFICEQA})")
    add_json(parser)


def run(arguments: Namespace) -> int:
    """Score and print."""
    if (arguments.run is None) == (arguments.answers is None):
        raise UnusableInput("give a run, or --answers FILE")
    return score_run(arguments) if arguments.run else score_answers(arguments)


def score_answers(arguments: Namespace) -> int:
    """Print every line with its score."""
    from pipeline.analysis import score_lines
    from pipeline.benchmarks.scorers import is_judged, load_scorer

    scorer = load_scorer(arguments.scorer)
    if is_judged(scorer):
        raise UnusableInput(f"scorer {scorer.NAME} needs a judge: it scores a run's episodes")
    for line in score_lines(arguments.answers, scorer):
        print_json(line)
    return 0


def score_run(arguments: Namespace) -> int:
    """Replace the run's scores and results, and print its table."""
    from rich.console import Console

    from pipeline.analysis import as_json, score, screen, summary, write

    folder = run_folder(arguments.run)
    scored = score(folder)
    found = summary(folder)
    write(found, folder)
    if arguments.json:
        print_json(as_json(found))
    else:
        Console().print(screen(found))
    return 1 if scored.owed or scored.errors else 0
