"""`tasks.retry_status`: finished episodes that are run once more, as new attempts in place of the old ones.

What an old attempt recorded stays in the journal; a line there says that it is retired. Only then are its
rows taken out of the tables: the episode is owed, as if it had never been run. The next invocation makes good
what a crash in between left undone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

from pipeline.errors import ConfigError
from pipeline.protocols import Status
from pipeline.runs import journal, tables
from pipeline.runs.folder import RunFolder
from pipeline.runs.journal import Attempt
from pipeline.runs.plan import Plan
from pipeline.runs.replay import accepted_attempts, committed_attempts


def check_statuses(statuses: Sequence[str]) -> None:
    """Raise `ConfigError` for a status that no finished episode has."""
    known = [status for status in get_args(Status) if status != "interrupted"]
    for status in statuses:
        if status not in known:
            raise ConfigError(f"tasks.retry_status: {status!r} is none of {', '.join(known)}")


def to_retry(plan: Plan, accepted: Mapping[str, Attempt]) -> set[str]:
    """Return the planned episodes whose `accepted` attempt ended as their arm has them retried."""
    statuses = {name: set(arm.spec.tasks.retry_status) for name, arm in plan.arms.items()}
    if not any(statuses.values()):
        return set()
    return {
        row["episode_id"]
        for row in plan.rows()
        if (known := accepted.get(row["episode_id"])) is not None and known.status in statuses[row["arm"]]
    }


def retried(folder: RunFolder, plan: Plan, attempts: list[Attempt]) -> list[Attempt]:
    """Retire those of all `attempts` that the plan has retried; return them all.

    All finished attempts of such an episode are retired, so that none is chosen by how it ended.
    """
    again = to_retry(plan, accepted_attempts(folder.path, attempts))
    if again:
        journal.retire(folder.journal, [a for a in attempts if a.episode in again and a.finished])
        attempts = [replace(a, retired=True) if a.episode in again and a.finished else a for a in attempts]
    if gone := stale(committed_attempts(folder.path), attempts):
        tables.drop_episodes(folder.path, gone)
    return attempts


def stale(committed: Mapping[str, Sequence[Any]], attempts: Sequence[Attempt]) -> set[str]:
    """Return the `committed` episodes whose attempt in the tables is retired: a crash left them there."""
    retired = {(attempt.episode, attempt.attempt) for attempt in attempts if attempt.retired}
    return {episode for episode, (number, _) in committed.items() if (episode, number) in retired}
