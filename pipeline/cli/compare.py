"""Compare two arms of a run, or two runs, on the same tasks and seeds.

examples:
  longharness compare RUN                            a run of two arms
  longharness compare RUN --arms longharness+qwen notes+qwen
  longharness compare RUN RUN2                       the arms that both have; the same seed twice, say
  longharness compare RUN RUN2 --arms A B --json     arm A of RUN with arm B of RUN2

For each pair: whether the episodes are identical, else the turn from which they differ, and whether that turn
was asked alike: then it is the server that replied otherwise. Scores are paired by task and seed.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.cli.arguments import add_json, print_json
from pipeline.cli.status import run_folder
from pipeline.errors import UnusableInput

if TYPE_CHECKING:
    from pipeline.analysis.comparison import Comparison, Side

SHOWN = 20
"""Pairs of a kind that are printed; --json has all."""


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument(
        "runs", nargs="+", metavar="RUN", help="one run or two: folders, or names under outputs/"
    )
    parser.add_argument("--arms", nargs=2, metavar=("A", "B"), help="the first's arm and the second's")
    add_json(parser)
    parser.usage = "longharness compare [-h] [-v] [--arms A B] [--json] RUN [RUN2]"


def run(arguments: Namespace) -> int:
    """Print the comparisons."""
    from pipeline.analysis.comparison import compare

    if len(arguments.runs) > 2:
        raise UnusableInput(f"give one run or two, not {len(arguments.runs)}")
    folders = [run_folder(name) for name in arguments.runs]
    found = [compare(one, other) for one, other in sides(folders[0], folders[-1], arguments.arms)]
    if arguments.json:
        print_json([{**asdict(one), "median_turn": one.median_turn} for one in found])
        return 0
    for one in found:
        for line in lines(one):
            print(line)
    return 0


def sides(first: Path, second: Path, arms: list[str] | None) -> Iterator[tuple[Side, Side]]:
    """Yield the pairs of arms to compare. Raises `UnusableInput` if it isn't clear which."""
    from pipeline.analysis.comparison import Side
    from pipeline.runs.folder import RunFolder

    if arms is not None:
        yield Side(first, arms[0]), Side(second, arms[1])
        return
    one, other = (list(RunFolder(folder).read_record()["arms"]) for folder in (first, second))
    if first == second:
        if len(one) != 2:
            raise UnusableInput(f"{first} has {len(one)} arms: name two by --arms; {', '.join(one)}")
        yield Side(first, one[0]), Side(first, one[1])
        return
    shared = [arm for arm in one if arm in other] or (one + other if len(one) == len(other) == 1 else [])
    if not shared:
        raise UnusableInput(
            f"no arm is in both: name two by --arms; {first}: {', '.join(one)}; {second}: {', '.join(other)}"
        )
    if len(shared) == 2 and shared == one + other:
        yield Side(first, one[0]), Side(second, other[0])
        return
    yield from ((Side(first, arm), Side(second, arm)) for arm in shared)


def lines(found: Comparison) -> Iterator[str]:
    """Yield a comparison as it is printed."""
    one, other = found.names
    yield f"{one} and {other}: {found.pairs:,} pairs of episodes of the same task and seed"
    if any(found.alone):
        yield f"  without a finished partner: {found.alone[0]:,} of {one}, {found.alone[1]:,} of {other}"
    parted = len(found.divergences)
    median = f", median turn {found.median_turn:g}" if parted else ""
    yield f"  identical {found.identical:,}, diverged {parted:,}{median}"
    for part in found.divergences[:SHOWN]:
        asked = {True: "asked alike", False: "asked otherwise", None: "prompts not recorded"}
        yield f"    {part.task_id} seed {part.seed}: from turn {part.turn}, {asked[part.same_prompt]}"
    yield from _more(parted)
    yield f"  another outcome: {len(found.changes):,}"
    for change in found.changes[:SHOWN]:
        ends = " → ".join(
            f"{status} {answer!r}" if answer is not None else status
            for status, answer in zip(change.statuses, change.answers, strict=True)
        )
        yield f"    {change.task_id} seed {change.seed}: {ends}"
    yield from _more(len(found.changes))
    for paired in found.scores:
        means = " and ".join(f"{100 * mean:.1f} %" for mean in paired.means)
        signs = f"{one} more in {paired.wins:,}, less in {paired.losses:,}, equal in {paired.ties:,}"
        yield f"  {paired.scorer}, {paired.metric}: {means} of {paired.pairs:,} pairs; {signs}"


def _more(count: int) -> Iterator[str]:
    if count > SHOWN:
        yield f"    … and {count - SHOWN:,} more: --json has all"
