"""Plan, run or resume, score, and print the table of results.

examples:
  longharness evaluate experiment=quickstart
  longharness evaluate benchmark=ledgerqa 'harness=[longharness,append_only]' seeds=3
  longharness evaluate experiment=quickstart --dry-run

The same command again does what is owed and nothing else; run=NAME with one more seed or arm extends that
run. Ctrl-C stops it: what was recorded is kept. --dry-run makes every check that a run makes before it starts
anything, and says what is done, owed and new. Exit status 1: an episode is owed or its replay differs, a
scorer failed, or more answers than judge.max_unscored allows (a share, 0.05) got no score.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pipeline.cli.arguments import add_json, add_overrides, print_config, print_json
from pipeline.errors import RunError

if TYPE_CHECKING:
    from pipeline.runs.library import Library
    from pipeline.runs.plan import Plan
    from pipeline.runs.run import RunResult
    from pipeline.runs.spec import RunSpec
    from pipeline.runs.standing import Standing

RESUMED = "what was recorded is kept: the same command again goes on there"
"""What is said after Ctrl-C."""


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
    from pipeline.cli.beginning import beginning
    from pipeline.cli.progress import StageProgress
    from pipeline.runs.folder import RunFolder
    from pipeline.runs.lease import Lease
    from pipeline.runs.progress import Progress, beside, shown
    from pipeline.runs.run import run as run_spec

    check_judge(spec.judge)
    with shown(Progress()) as progress:

        def begun(plan: Plan, found: Standing) -> None:
            for line in beginning(str(spec.root / spec.name), plan, found, spec.judge):
                progress.say(f"longharness evaluate: {line}")

        result = run_spec(spec, progress, begun)
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
        done = f"{result.finished} of {result.total} episodes done{beside(result.earlier)}"
        print(f"{result.folder}: {done}; tables, results and journal")
    for note in (*_notes(result), *scoring.notes(scored, spec.judge.max_unscored, result.folder)):
        print(f"longharness evaluate: {note}", file=sys.stderr)
    return 1 if scored.errors or scored.lacking(spec.judge.max_unscored) or not result.complete else 0


def dry_run(spec: RunSpec, json: bool) -> int:
    """Check all that a run checks; print what it would run: per arm, its episodes and what they may spend."""
    from pipeline.analysis import check_judge
    from pipeline.cli.beginning import beginning, by_state, states
    from pipeline.cli.forecast import lines
    from pipeline.runs.library import Library
    from pipeline.runs.progress import Progress, beside, shown
    from pipeline.runs.run import look

    check_judge(spec.judge)
    run = str(spec.root / spec.name)
    with shown(Progress()) as progress:
        library = Library(progress)
        plan, found = look(spec, library)
        progress.stage = "planned"
    arms, total = list(_arms(spec, plan, found, library)), found.total
    if json:
        gold = [asdict(task) for task in found.regolded]
        state = {**by_state(total), "earlier": found.earlier, "regolded": gold, "judged": found.judged}
        print_json({"run": run, "episodes": total.planned, **state, "arms": arms})
    else:
        print(f"{run}: {total.planned:,} episodes: {states(total)}{beside(found.earlier)}")
        for arm in arms:
            for line in lines(arm):
                print(line)
    _, *notes = beginning(run, plan, found, spec.judge)
    for note in (*notes, *_held(spec)):
        print(f"longharness evaluate: {note}", file=sys.stderr)
    return 0


def _arms(spec: RunSpec, plan: Plan, found: Standing, library: Library) -> Iterator[dict[str, Any]]:
    from pipeline.cli.beginning import by_state
    from pipeline.cli.forecast import forecast

    for name, arm in plan.arms.items():
        counts = found.arms[name]
        yield {
            "arm": name,
            "tasks": len(arm.tasks),
            "seeds": len(spec.seeds),
            "episodes": counts.planned,
            **by_state(counts),
            "documents": sum(library.documents[corpus] for corpus in set(arm.record["corpora"].values())),
            **forecast(arm, counts.planned, spec.root),
        }


def _held(spec: RunSpec) -> Iterator[str]:
    from pipeline.runs.folder import RunFolder
    from pipeline.runs.lease import refuse_if_held

    try:
        refuse_if_held(RunFolder(spec.root / spec.name))
    except RunError as error:
        yield f"a run would be refused now: {error}"


def _notes(result: RunResult) -> Iterator[str]:
    for mismatch in result.mismatches:
        yield f"replay differs from the record, no rows were made: {mismatch}"
    for reason, count in result.reasons.items():
        yield f"{count} owed: {reason}"
    if result.stopped:
        yield f"stopped with {result.finished} of {result.total} episodes done"
    if result.owed:
        yield f"{result.owed} episodes are owed: the same command again runs them and nothing else"
