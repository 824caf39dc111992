"""Plan, run or resume, score, and print the table of results.

examples:
  longharness evaluate experiment=quickstart
  longharness evaluate benchmark=ledgerqa 'harness=[longharness,append_only]' seeds=3
  longharness evaluate experiment=quickstart --dry-run

The same command again does what is owed and nothing else; run=NAME with one more seed or arm extends that
run. Ctrl-C stops it: what was recorded is kept. Exit status 1: an episode is owed or its replay differs, a
scorer failed, or more answers than judge.max_unscored allows (a share, 0.05) got no score.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pipeline.cli.arguments import add_json, add_overrides, print_config, print_json

if TYPE_CHECKING:
    from pipeline.runs.run import RunResult
    from pipeline.runs.spec import RunSpec


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument(
        "--dry-run", action="store_true", help="plan, print what would run, and start nothing"
    )
    add_overrides(parser)
    add_json(parser)


def run(arguments: Namespace) -> int:
    """Compose the run and evaluate it."""
    from pipeline.config import resolve

    spec = resolve(arguments.overrides, arguments.config_dirs)
    if arguments.cfg:
        print_config(spec.config)
        return 0
    return dry_run(spec, arguments.json) if arguments.dry_run else evaluate(spec, arguments.json)


def evaluate(spec: RunSpec, json: bool) -> int:
    """Run what is owed of `spec`, score the run and print its summary; 1 if something is owed or failed."""
    from pipeline.analysis import as_json, check_judge, score, screen, summary, write
    from pipeline.cli import score as scoring
    from pipeline.cli.progress import StageProgress
    from pipeline.runs.folder import RunFolder
    from pipeline.runs.lease import Lease
    from pipeline.runs.progress import Progress, shown
    from pipeline.runs.run import run as run_spec

    check_judge(spec.judge)
    with shown(Progress()) as progress:
        result = run_spec(spec, progress)
    with Lease(RunFolder(result.folder)):
        with StageProgress() as stages:
            scored = score(result.folder, judge=spec.judge, shown=stages)
        found = summary(result.folder)
        write(found, result.folder)
    if json:
        print_json(as_json(found))
    else:
        from rich.console import Console

        Console().print(screen(found))
        print(f"{result.folder}: tables, results and journal")
    for note in (*_notes(result), *scoring.notes(scored, spec.judge.max_unscored)):
        print(f"longharness evaluate: {note}", file=sys.stderr)
    return 1 if scored.errors or scored.lacking(spec.judge.max_unscored) or not result.complete else 0


def dry_run(spec: RunSpec, json: bool) -> int:
    """Print what `spec` would run: per arm, its episodes, and what they may and are expected to spend."""
    from pipeline.cli.forecast import forecast, lines
    from pipeline.runs.library import Library
    from pipeline.runs.progress import Progress, shown
    from pipeline.runs.run import plan_run

    with shown(Progress()) as progress:
        library = Library(progress)
        plan = plan_run(spec, library)
        progress.stage = "planned"
    facts: list[dict[str, Any]] = []
    for name, arm in plan.arms.items():
        episodes = len(arm.tasks) * len(spec.seeds)
        facts.append(
            {
                "arm": name,
                "tasks": len(arm.tasks),
                "seeds": len(spec.seeds),
                "episodes": episodes,
                "documents": sum(library.documents[corpus] for corpus in set(arm.record["corpora"].values())),
                **forecast(arm, episodes, spec.root),
            }
        )
    if json:
        print_json({"run": str(spec.root / spec.name), "arms": facts})
        return 0
    print(f"{spec.root / spec.name}: {plan.episodes.num_rows} episodes")
    for fact in facts:
        for line in lines(fact):
            print(line)
    return 0


def _notes(result: RunResult) -> Iterator[str]:
    for mismatch in result.mismatches:
        yield f"replay differs from the record, no rows were made: {mismatch}"
    for reason, count in result.reasons.items():
        yield f"{count} owed: {reason}"
    if result.stopped:
        yield f"stopped with {result.finished} of {result.total} episodes done"
    if result.owed:
        yield f"{result.owed} episodes are owed: the same command again runs them and nothing else"
