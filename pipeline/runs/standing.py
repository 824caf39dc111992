"""How a plan stands with its run's folder before anything starts: what is done, what is owed, what is new."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pipeline.runs.folder import RunFolder
from pipeline.runs.journal import Attempt
from pipeline.runs.merging import Merged, Regolded
from pipeline.runs.plan import Plan
from pipeline.runs.replay import accepted_attempts, committed_attempts
from pipeline.runs.retry import stale, to_retry


@dataclass(frozen=True)
class Counts:
    """Episodes of the plan: `done` have a result, `owed` were planned before and have none, `new` weren't.

    `again` of the `owed` had a result, and are run once more (`tasks.retry_status`).
    """

    done: int
    owed: int
    new: int
    again: int

    @property
    def planned(self) -> int:
        """All of them."""
        return self.done + self.owed + self.new


@dataclass(frozen=True)
class Standing:
    """The plan's episodes by arm. The run has `earlier` ones, which the plan doesn't ask for.

    `judged` are the scorers that need a judge, by name.
    """

    arms: Mapping[str, Counts]
    earlier: int
    regolded: tuple[Regolded, ...]
    judged: tuple[str, ...]

    @property
    def total(self) -> Counts:
        """The counts of all arms."""
        every = self.arms.values()
        return Counts(
            sum(one.done for one in every),
            sum(one.owed for one in every),
            sum(one.new for one in every),
            sum(one.again for one in every),
        )


def standing(folder: RunFolder, plan: Plan, merged: Merged, attempts: Sequence[Attempt]) -> Standing:
    """Compare `plan` with the run in `folder`, whose journal holds `attempts`. Writes nothing."""
    accepted = accepted_attempts(folder.path, attempts)
    again = to_retry(plan, accepted)
    committed = committed_attempts(folder.path)
    done = (accepted.keys() | committed.keys()) - again - stale(committed, attempts)
    states: dict[str, Counter[str]] = {name: Counter() for name in plan.arms}
    for row in plan.rows():
        episode, counts = row["episode_id"], states[row["arm"]]
        counts["again"] += episode in again
        counts["done" if episode in done else "owed" if episode in merged.known else "new"] += 1
    return Standing(
        arms={
            name: Counts(one["done"], one["owed"], one["new"], one["again"]) for name, one in states.items()
        },
        earlier=merged.episodes.num_rows - plan.episodes.num_rows,
        regolded=merged.regolded,
        judged=tuple(dict.fromkeys(name for arm in plan.arms.values() for name in arm.judged)),
    )
