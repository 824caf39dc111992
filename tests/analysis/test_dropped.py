"""Rows of episodes that are taken out of a run's tables: of all its tables, and of no other episode."""

from __future__ import annotations

from pipeline.analysis import score, summary
from pipeline.runs import tables
from tests.analysis.conftest import MakeRun, episode


def test_an_episode_that_is_dropped_has_no_row_in_any_table(make_run: MakeRun) -> None:
    folder = make_run([episode("qwen", "t1", seed, "100") for seed in range(3)])
    score(folder)
    before = {name: tables.read(folder, name).to_pylist() for name in ("episodes", "scores")}
    tables.drop_episodes(folder, ["qwen-t1-1"])
    for name, rows in before.items():
        left = tables.read(folder, name).to_pylist()
        assert left == [row for row in rows if row["episode_id"] != "qwen-t1-1"] != rows
    assert (summary(folder).arms[0].figures.done, summary(folder).arms[0].figures.owed) == (2, 1)
    assert tables.prune(folder) == 0  # the parts that held it are gone


def test_dropping_an_episode_that_is_in_no_table_changes_nothing(make_run: MakeRun) -> None:
    folder = make_run([episode("qwen", "t1", 0, "100")])
    score(folder)
    before = [tables.read(folder, name).to_pylist() for name in ("episodes", "scores")]
    tables.drop_episodes(folder, ["none"])
    assert [tables.read(folder, name).to_pylist() for name in ("episodes", "scores")] == before
