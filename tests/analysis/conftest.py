"""A small run folder, written by the writers that a real run uses."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from pipeline.runs import tables
from pipeline.runs.folder import SCHEMA_VERSION, RunFolder, write_json

SCORER = "pipeline.benchmarks.scorers.officeqa"
GOLDS = {"t1": "100", "t2": "Nebraska"}
KINDS = {"t1": "single", "t2": "arithmetic"}

MakeRun = Callable[[Iterable[dict[str, Any]]], Path]


def row(schema: Any, **values: Any) -> dict[str, Any]:
    """Return a row of all the schema's columns, null where not given."""
    return {name: values.get(name) for name in schema.names}


def episode(arm: str, task: str, seed: int, answer: str | None, **values: Any) -> dict[str, Any]:
    """A finished episode; without an answer it ran out of turns."""
    return {
        "episode_id": f"{arm}-{task}-{seed}",
        "arm": arm,
        "task_id": task,
        "seed": seed,
        "benchmark": "ledgerqa",
        "status": "answered" if answer is not None else "turns_exhausted",
        "answer": answer,
        "turns": 10,
        "prompt_tokens": 1_000,
        "cached_tokens": 900,
        "completion_tokens": 50,
        **values,
    }


def owed(arm: str, task: str, seed: int) -> dict[str, Any]:
    """A planned episode without a result."""
    return {**episode(arm, task, seed, None), "status": None}


@pytest.fixture
def make_run(tmp_path: Path) -> MakeRun:
    """Return a function that writes a run folder of such episodes."""

    def make(episodes: Iterable[dict[str, Any]]) -> Path:
        folder = RunFolder(tmp_path / "demo")
        folder.create()
        every = list(episodes)
        arms = dict.fromkeys(one["arm"] for one in every)
        write_json(
            folder.record,
            {
                "schema_version": SCHEMA_VERSION,
                "name": "demo",
                "arms": {arm: _arm(arm) for arm in arms},
                "corpora": {},
            },
        )
        plan = [
            row(tables.PLAN, **{**one, "fields": [("kind", KINDS[one["task_id"]]), ("operands", "1")]})
            for one in every
        ]
        gold = [
            row(tables.GOLD, benchmark="ledgerqa", task_id=task, scorers=[SCORER], answer=answer)
            for task, answer in GOLDS.items()
        ]
        tables.write_file(folder.plan, tables.from_rows(plan, tables.PLAN))
        tables.write_file(folder.gold, tables.from_rows(gold, tables.GOLD))
        schema = tables.TABLES["episodes"]
        for number, one in enumerate(every):  # a part an episode, as compaction may leave them
            if one["status"] is not None:
                part = tables.write_part(folder.path, "episodes", [row(schema, **one)])
                tables.commit(folder.path, f"episodes-{number}", {"episodes": part})
        return folder.path

    return make


def _arm(name: str) -> dict[str, Any]:
    return {
        "harness_name": "longharness",
        "backbone_name": name,
        "backbone": {"model": f"{name}-model"},
        "benchmark": "ledgerqa",
        "scorers": [SCORER],
        "breakdowns": ["kind", "phrasing"],
        "revision": None,
        "language_model": name != "reference",
    }
