"""What a user is told as a run begins, or would: what it is made of, what is there already, what it lacks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pipeline.runs.progress import beside

if TYPE_CHECKING:
    from pipeline.backbone.config import JudgeConfig
    from pipeline.runs.plan import Plan
    from pipeline.runs.standing import Counts, Standing

JUDGE = "judge=endpoint judge.model=MODEL 'judge.urls=[http://127.0.0.1:8000/v1]'"
"""Overrides that name a judge; what a user has to change stands in them."""
SHOWN = 5
"""So many arms or tasks are named."""


def beginning(run: str, plan: Plan, found: Standing, judge: JudgeConfig) -> Iterator[str]:
    """Yield the lines: first what `run` consists of, then what the user might not expect."""
    tasks: dict[str, set[str]] = {}
    for arm in plan.arms.values():
        tasks.setdefault(arm.spec.benchmark_name, set()).update(task.view.id for task in arm.tasks)
    benchmarks = ", ".join(f"{name} ({counted(len(ids), 'task')})" for name, ids in tasks.items())
    seeds = list(map(str, sorted(set(plan.episodes["seed"].to_pylist()))))
    yield (
        f"{run}: benchmark {benchmarks}; {_named('arm', list(plan.arms))}; {_named('seed', seeds)}; "
        f"{counted(found.total.planned, 'episode')}: {states(found.total)}{beside(found.earlier)}"
    )
    if found.regolded:
        yield (
            f"gold changed: {_named('task', list(map(str, found.regolded)))}. No model runs again; the "
            "benchmark's scorers score anew, and what other scorers said by the old gold is dropped"
        )
    if found.judged and judge.model is None:
        yield f"judge=none: answers stay unscored by {', '.join(found.judged)}; name a judge: {JUDGE}"


def states(counts: Counts) -> str:
    """Return how many episodes are done, owed and new."""
    again = f" ({counts.again:,} of them run again)" if counts.again else ""
    return f"{counts.done:,} done, {counts.owed:,} owed{again}, {counts.new:,} new"


def by_state(counts: Counts) -> Mapping[str, int]:
    """Return the same as facts."""
    return {"done": counts.done, "owed": counts.owed, "new": counts.new}


def counted(number: int, noun: str) -> str:
    """Return `1 task`, `2 tasks`."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def _named(noun: str, names: Sequence[str]) -> str:
    """Return `arm a`, `arms a, b`, `7 arms a, b, c, d, e, …`."""
    if len(names) <= SHOWN:
        return f"{noun}{'s' * (len(names) != 1)} {', '.join(names)}"
    return f"{counted(len(names), noun)} {', '.join(names[:SHOWN])}, …"
