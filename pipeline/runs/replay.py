"""Replay: an episode rebuilt from its journal without a model, and compared with what was recorded live."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipeline.corpus import Corpus
from pipeline.errors import ReplayMismatch, RunError
from pipeline.harness import Reply, Trace
from pipeline.plugins import locate
from pipeline.protocols import Harness, Outcome, TaskView
from pipeline.runs import journal, tables
from pipeline.runs.folder import RunFolder
from pipeline.runs.freeze import thawed
from pipeline.runs.journal import RecordedEpisode
from pipeline.runs.library import Library
from pipeline.runs.plan import task_view


@dataclass
class Replayed:
    """What the replay of a run found. `unfinished` are planned episodes that have no result yet."""

    episodes: int = 0
    turns: int = 0
    unfinished: int = 0
    mismatches: list[str] = field(default_factory=list)


def replay_run(folder: Path, progress: Callable[[Replayed], None] | None = None) -> Replayed:
    """Replay every finished episode of the run in `folder`, from its plan, journal and corpora alone.

    A corpus is opened from the cache, or built again from its documents; its fingerprint must be the recorded
    one. Raises `RunError` if the folder is no run or is damaged, `CorpusError` if a corpus can't be had.
    """
    run, found = _Run(folder), Replayed()
    for row in run.plan:
        recorded = run.recorded(row)
        if recorded is None:
            found.unfinished += 1
            continue
        try:
            run.rebuild(row, recorded)
        except ReplayMismatch as mismatch:
            found.mismatches.append(str(mismatch))
        found.episodes += 1
        found.turns += len(recorded.turns)
        if progress:
            progress(found)
    return found


def replay_episode(folder: Path, episode: str) -> tuple[Trace, Outcome]:
    """Return the trace and the end of the one episode of task `episode`, or whose id begins with that.

    Raises `RunError` if it is not exactly one, or has no result yet; otherwise as `rebuild` and `replay_run`.
    """
    run = _Run(folder)
    rows = [row for row in run.plan if row["task_id"] == episode or row["episode_id"].startswith(episode)]
    if len(rows) != 1:
        among = rows or run.plan
        named = [f"{row['episode_id'][:12]} ({row['arm']}, {row['task_id']})" for row in among[:10]]
        named += ["…"] if len(among) > len(named) else []
        raise RunError(
            f"{len(rows)} episodes of {folder} are {episode!r} by task or id: name one of {', '.join(named)}"
        )
    recorded = run.recorded(rows[0])
    if recorded is None:
        raise RunError(f"episode {rows[0]['episode_id'][:12]} of {folder} has no result yet")
    return run.rebuild(rows[0], recorded), recorded.outcome


class _Run:
    """A run's plan, and what it takes to rebuild its episodes."""

    def __init__(self, folder: Path) -> None:
        run = RunFolder(folder)
        record = run.read_record()
        self.plan: list[dict[str, Any]] = tables.read_plan(folder).to_pylist()
        self._journal = run.journal
        self._attempts = accepted_attempts(folder, journal.scan(run.journal))
        self._harnesses = {name: harness(arm["harness"]) for name, arm in record["arms"].items()}
        self._corpora = Library(records=record["corpora"])

    def recorded(self, row: Mapping[str, Any]) -> RecordedEpisode | None:
        """Return what was recorded of a planned episode; None if it has no result yet."""
        attempt = self._attempts.get(row["episode_id"])
        return journal.load(self._journal, attempt) if attempt else None

    def rebuild(self, row: Mapping[str, Any], recorded: RecordedEpisode) -> Trace:
        corpus = self._corpora.get(row["corpus"])
        return rebuild(self._harnesses[row["arm"]], task_view(row), corpus, recorded)


def rebuild(harness: Harness, task: TaskView, corpus: Corpus, record: RecordedEpisode) -> Trace:
    """Return the trace that the recorded replies give.

    Raises `ReplayMismatch` if a state, the number of turns or the outcome is not the recorded one.
    """
    replies = [Reply(turn.response, turn.reasoning) for turn in record.turns]
    trace = harness.replay(task, corpus, replies)
    where = f"episode {record.attempt.episode}, attempt {record.attempt.attempt}"
    for recorded, replayed in zip(record.turns, trace.turns, strict=False):
        if recorded.state_sha256 != replayed.state_sha256:
            raise ReplayMismatch(
                f"{where}, turn {recorded.turn}: recorded state {recorded.state_sha256}, "
                f"replayed {replayed.state_sha256}"
            )
    if len(trace.turns) != len(record.turns):
        raise ReplayMismatch(f"{where}: {len(record.turns)} turns recorded, {len(trace.turns)} replayed")
    # Replies alone can't tell of a request that failed: there the replay is cut short, and has no outcome.
    expected = None if record.outcome.status == "model_request_failed" else record.outcome
    if _facts(trace.outcome) != _facts(expected):
        raise ReplayMismatch(f"{where}: recorded outcome {expected}, replayed {trace.outcome}")
    return trace


def accepted_attempts(folder: Path, attempts: Iterable[journal.Attempt]) -> dict[str, journal.Attempt]:
    """Return the accepted attempt of each finished episode: the one in the tables, else the lowest."""
    every = list(attempts)
    accepted, _ = journal.settle(every, ())
    committed = committed_attempts(folder)
    kept = {a.episode: a for a in every if a.finished and committed.get(a.episode) == [a.attempt, a.segment]}
    return accepted | kept


def committed_attempts(folder: Path) -> dict[str, list[Any]]:
    """Return number and segment of the attempt that is in the tables, of each episode there."""
    return {
        episode: attempt
        for record in tables.commits(folder)
        for episode, attempt in record.get("episodes", {}).items()
    }


def harness(record: Mapping[str, Any]) -> Harness:
    """Return the harness that `run.json` describes. Raises `RunError` if this version has no such one."""
    try:
        config = thawed(record)
        made: Harness = locate(config._target_)(config)
        return made
    except Exception as error:  # whatever a plug-in of another version does with the record
        raise RunError(f"run.json: the harness {record.get('_type_')} can't be rebuilt: {error}") from error


def _facts(outcome: Outcome | None) -> Any:
    return outcome and (outcome.status, outcome.answer, tuple(outcome.cited))
