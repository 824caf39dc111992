"""Score a run again from its recorded answers, or bare answers by any scorer. No backbone is asked.

examples:
  longharness score NAME                        by the scorers of its benchmark
  longharness score NAME --scorer officeqa_strict
  longharness score NAME judge=endpoint judge.model=MODEL 'judge.urls=[http://HOST:8000/v1]'
  longharness score --answers FILE.jsonl --scorer answer

Another scorer, version, parameter or judge adds its scores and leaves the others; the same replaces its own.
A judge is asked only what it was not asked before; Ctrl-C keeps what it said. By default it is the one of the
run's configuration.

A line of FILE.jsonl is {"gold": "…", "answer": "…", "tolerance": 0.05}, and "question" for a scorer that
needs a judge; it is printed with its score.

Exit status 1: episodes are owed, a scorer failed, or more answers than judge.max_unscored allows (a share,
0.05) got no score. 2: unusable input; nothing has changed.
"""

from __future__ import annotations

import shlex
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.cli.arguments import add_config_dirs, add_json, print_json
from pipeline.cli.status import run_folder
from pipeline.errors import UnusableInput

if TYPE_CHECKING:
    from pipeline.analysis import Scored

OFFICEQA = "officeqa"
RESUMED = "what a judge said is kept: the same command again asks for the rest"
"""What is said after Ctrl-C."""


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the verb's arguments. Overrides stand among the words: they have a `=`."""
    parser.add_argument("--answers", type=Path, metavar="FILE", help="score these instead (JSON lines)")
    parser.add_argument(
        "--scorer",
        action="append",
        default=[],
        metavar="SCORER",
        help="one of ours by its name, or any by its import path (repeat it for several); "
        f"with --answers, one ({OFFICEQA})",
    )
    parser.add_argument("words", nargs="*", metavar="RUN", help="a run's folder, or its name under outputs/")
    add_config_dirs(parser)
    add_json(parser)
    parser.usage = "longharness score [-h] [-v] [--scorer SCORER] [--json] (RUN | --answers FILE) [judge=…]"


def run(arguments: Namespace) -> int:
    """Score and print."""
    runs = [word for word in arguments.words if "=" not in word or (Path(word) / "run.json").is_file()]
    overrides = [word for word in arguments.words if word not in runs]
    if len(runs) + (arguments.answers is not None) != 1:
        raise UnusableInput("give one run, or --answers FILE")
    if runs:
        return score_run(run_folder(runs[0]), overrides, arguments)
    return score_answers(overrides, arguments)


def score_answers(overrides: list[str], arguments: Namespace) -> int:
    """Print every line with its score; 1 if too many have none."""
    from pipeline.analysis import judge_lines, score_lines
    from pipeline.benchmarks.scorers import is_judged, load_scorer
    from pipeline.cli.beginning import JUDGE
    from pipeline.config import compose_judge

    if len(arguments.scorer) > 1:
        raise UnusableInput("--answers takes one --scorer")
    scorer = load_scorer((arguments.scorer or [OFFICEQA])[0])
    judge = compose_judge(None, overrides, arguments.config_dirs)
    if not is_judged(scorer):
        for line in score_lines(arguments.answers, scorer):
            print_json(line)
        return 0
    if judge.model is None:
        raise UnusableInput(f"scorer {scorer.NAME} needs a judge: {JUDGE}")
    lines = judge_lines(arguments.answers, scorer, judge)
    for line in lines:
        print_json(line)
    return int(sum(line["score"] is None for line in lines) > judge.max_unscored * len(lines))


def score_run(folder: Path, overrides: list[str], arguments: Namespace) -> int:
    """Add to the run's scores, or replace them, and print its table."""
    from pipeline.analysis import as_json, score, screen, summary, write
    from pipeline.cli.progress import StageProgress
    from pipeline.config import compose_judge
    from pipeline.runs.folder import RunFolder
    from pipeline.runs.lease import Lease

    judge = compose_judge(RunFolder(folder).config, overrides, arguments.config_dirs)
    with Lease(RunFolder(folder)):
        with StageProgress() as shown:
            scored = score(folder, arguments.scorer, judge, shown)
        found = summary(folder)
        write(found, folder)
    if arguments.json:
        print_json(as_json(found))
    else:
        from rich.console import Console

        Console().print(screen(found))
    for note in notes(scored, judge.max_unscored, folder, arguments.scorer):
        print(f"longharness score: {note}", file=sys.stderr)
    return 1 if scored.owed or scored.errors or scored.lacking(judge.max_unscored) else 0


def notes(scored: Scored, max_unscored: float, folder: Path, scorers: Sequence[str] = ()) -> Iterator[str]:
    """Yield what a user should know of the scores of the run in `folder`, and what to do.

    `scorers` are those that were named; without any, it was scored by its benchmark's.
    """
    for tally in scored.scorers:
        if tally.errors:
            yield f"{tally.scorer} failed on {tally.errors} of {tally.episodes} episodes, which count as 0"
        if tally.unscored:
            yield f"{tally.scorer} left {tally.unscored} of {tally.episodes} episodes unscored:"
            yield from (f"  {count} × {reason}" for reason, count in list(tally.reasons.items())[:5])
    if scored.lacking(max_unscored):
        from pipeline.analysis.verdicts import NO_JUDGE
        from pipeline.cli.beginning import JUDGE

        if any(NO_JUDGE in tally.reasons for tally in scored.scorers):
            named = [word for scorer in scorers for word in ("--scorer", scorer)]
            yield f"name a judge: {shlex.join(['longharness', 'score', str(folder), *named])} {JUDGE}"
        else:
            yield "the same command again asks for what is missing, and for nothing else"
