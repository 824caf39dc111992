"""A plan and a run's folder: what would make the run another one is refused; the rest is merged, and stored.

Checking and merging write nothing: `evaluate --dry-run` does as much as a run does before it starts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.errors import RunError
from pipeline.runs import tables
from pipeline.runs.folder import RunFolder, write_json
from pipeline.runs.plan import Plan

_GOLD_KEYS = ("benchmark", "task_id")


@dataclass(frozen=True)
class Regolded:
    """A task of the run whose gold is another one now; `columns` are those of `gold.parquet` that differ."""

    benchmark: str
    task_id: str
    columns: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.task_id} ({', '.join(self.columns)})"


@dataclass(frozen=True)
class Merged:
    """A plan merged with what the run's folder holds, ready to be stored.

    `known` are the ids of the episodes that were planned before. `regolded` are the tasks whose gold has
    changed since: no episode depends on it, so none runs again, but all their scores do.
    """

    record: Mapping[str, Any]
    episodes: pa.Table
    gold: pa.Table
    known: frozenset[str]
    regolded: tuple[Regolded, ...]


def merge(folder: RunFolder, plan: Plan, record: Mapping[str, Any]) -> Merged:
    """Merge `plan` with the run in `folder`, whose `run.json` is `record`: earlier episodes and arms stay.

    Raises `RunError` if an arm of the same name was another one, or a task was; it says what changed.
    """
    for name, arm in plan.arms.items():
        if name in record["arms"]:
            _check_unchanged(name, record["arms"][name], arm.record)
    before = tables.read_plan(folder.path) if folder.plan.exists() else tables.PLAN.empty_table()
    episodes = _merge(before, plan.episodes, ["episode_id"])
    _check_one_task_each(episodes)
    gold = tables.read_gold(folder.path) if folder.gold.exists() else tables.GOLD.empty_table()
    arms = {name: _merge_arm(record["arms"].get(name, {}), arm.record) for name, arm in plan.arms.items()}
    return Merged(
        record={**record, "arms": record["arms"] | arms},
        episodes=episodes,
        gold=_merge(plan.gold, gold, list(_GOLD_KEYS)),
        known=frozenset(before["episode_id"].to_pylist()),
        regolded=tuple(_regolded(gold, plan.gold)),
    )


def store(folder: RunFolder, merged: Merged) -> None:
    """Write what `merge` gave. Scores by a gold that is no more are dropped first, whoever made them."""
    if merged.regolded:
        _drop_scores(folder, merged)
    changed = {(row.benchmark, row.task_id): list(row.columns) for row in merged.regolded}
    for row in merged.record.get("regolded", []):
        columns = changed.setdefault((row["benchmark"], row["task_id"]), [])
        columns += [name for name in row["columns"] if name not in columns]
    regolded = [{"benchmark": b, "task_id": t, "columns": names} for (b, t), names in changed.items()]
    write_json(folder.record, {**merged.record, "regolded": regolded})  # first: no plan without its record
    tables.write_file(folder.plan, merged.episodes)
    tables.write_file(folder.gold, merged.gold)


def _regolded(old: pa.Table, new: pa.Table) -> Iterator[Regolded]:
    known = {tuple(row[key] for key in _GOLD_KEYS): row for row in old.to_pylist()}
    for row in new.to_pylist():
        before = known.get(tuple(row[key] for key in _GOLD_KEYS), row)
        # Which scorers a benchmark has is no part of its gold: their scores stand side by side.
        columns = [name for name in row if name != "scorers" and row[name] != before[name]]
        if columns:
            yield Regolded(row["benchmark"], row["task_id"], tuple(columns))


def _drop_scores(folder: RunFolder, merged: Merged) -> None:
    tasks = {(row.benchmark, row.task_id) for row in merged.regolded}
    planned = merged.episodes.select(["episode_id", *_GOLD_KEYS]).to_pylist()
    episodes = [row["episode_id"] for row in planned if (row["benchmark"], row["task_id"]) in tasks]
    scores = tables.read(folder.path, "scores")
    gone = pc.is_in(scores["episode_id"], pa.array(episodes, pa.string()))
    if pc.any(gone).as_py():
        tables.replace(folder.path, "scores", scores.filter(pc.invert(gone)))


def _check_unchanged(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    """Refuse an arm whose episodes would not be comparable to those that are there."""
    kept = ("harness", "backbone", "benchmark", "prompt_sha256")
    before = dict(_leaves({key: old[key] for key in kept}))
    after = dict(_leaves({key: new[key] for key in kept}))
    shared = old["corpora"].keys() & new["corpora"].keys()
    before |= {f"corpora.{corpus}": old["corpora"][corpus] for corpus in shared}
    after |= {f"corpora.{corpus}": new["corpora"][corpus] for corpus in shared}
    changes = [
        f"{key}: {before.get(key)} → {after.get(key)}"
        for key in sorted(before.keys() | after.keys())
        if before.get(key) != after.get(key)
    ]
    if changes:
        raise RunError(
            f"arm {name!r} of this run was another one; changed: {'; '.join(changes)}. "
            "Give the arm another name, or start a new run"
        )


def _check_one_task_each(episodes: pa.Table) -> None:
    """Refuse a second episode of the same arm, task and seed: the task itself has changed."""
    keys = ["arm", "benchmark", "task_id", "seed"]
    counts = episodes.select(keys).group_by(keys).aggregate([([], "count_all")])
    for row in counts.to_pylist():
        if row["count_all"] > 1:
            raise RunError(
                f"task {row['task_id']!r} of arm {row['arm']!r} has changed since this run began: "
                "its question, answer format or corpus differs. Start a new run"
            )


def _merge(first: pa.Table, second: pa.Table, keys: list[str]) -> pa.Table:
    """Return `first` and those rows of `second` whose keys it has not."""
    known = set(zip(*(first[key].to_pylist() for key in keys), strict=True))
    new = [key not in known for key in zip(*(second[key].to_pylist() for key in keys), strict=True)]
    return pa.concat_tables([first, second.filter(pa.array(new, pa.bool_()))])


def _merge_arm(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    return {**new, "corpora": {**old.get("corpora", {}), **new["corpora"]}}


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _leaves(item, f"{path}.{key}" if path else str(key))
    else:
        yield path, value
