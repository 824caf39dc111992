"""`tasks.retry_status`: finished episodes that are run once more, as new attempts in place of the old ones.

What an old attempt recorded stays in the journal; a line there says that it is retired. Only then are its
rows taken out of the tables: the episode is owed, as if it had never been run. The next invocation makes good
what a crash in between left undone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

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


def retried(folder: RunFolder, plan: Plan) -> list[Attempt]:
    """Retire the attempts of planned episodes that ended as the plan has them retried; return all attempts.

    All finished attempts of such an episode are retired, so that none is chosen by how it ended.
    """
    attempts = journal.scan(folder.journal)
    accepted = accepted_attempts(folder.path, attempts)
    statuses = {name: set(arm.spec.tasks.retry_status) for name, arm in plan.arms.items()}
    again: set[str] = set()
    if any(statuses.values()):
        for row in plan.rows():
            known = accepted.get(row["episode_id"])
            if known is not None and known.status in statuses[row["arm"]]:
                again.add(row["episode_id"])
    if again:
        journal.retire(folder.journal, [a for a in attempts if a.episode in again and a.finished])
        attempts = [replace(a, retired=True) if a.episode in again and a.finished else a for a in attempts]
    retired = {(attempt.episode, attempt.attempt) for attempt in attempts if attempt.retired}
    committed = committed_attempts(folder.path)
    stale = [episode for episode, (number, _) in committed.items() if (episode, number) in retired]
    if stale:
        tables.drop_episodes(folder.path, stale)
    return attempts
