"""Tables: one definition of their columns, and parts that count once they are committed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import RunError
from pipeline.runs import tables


def claim(index: int) -> dict[str, Any]:
    return {
        "episode_id": "x",
        "turn": 1,
        "list": "unresolved",
        "index": index,
        "text": "?",
        "evidence": [],
        "stale": [],
    }


def test_every_column_is_described_and_every_table_is_keyed() -> None:
    for schema in (*tables.TABLES.values(), tables.PLAN):
        keyed = schema.names[0] == "episode_id" or schema == tables.TABLES["serving"]
        assert keyed and schema.metadata[b"longharness.version"]
        assert all(field.metadata[b"description"] for field in schema)


def test_no_column_of_the_plan_is_gold() -> None:
    gold_only = set(tables.GOLD.names) - {"benchmark", "task_id"}
    assert not gold_only & set(tables.PLAN.names)


def test_a_row_with_an_unknown_or_a_missing_column_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(KeyError, match="colour"):
        tables.write_part(tmp_path, "conclusions", [claim(0) | {"colour": "red"}])
    with pytest.raises(KeyError, match="stale"):
        tables.write_part(tmp_path, "conclusions", [{k: v for k, v in claim(0).items() if k != "stale"}])


def test_a_part_counts_once_a_commit_names_it(tmp_path: Path) -> None:
    part = tables.write_part(tmp_path, "conclusions", [claim(0)])
    assert tables.read(tmp_path, "conclusions").num_rows == 0
    tables.commit(tmp_path, "first", {"conclusions": part})
    assert tables.read(tmp_path, "conclusions").to_pylist() == [claim(0)]
    tables.write_part(tmp_path, "conclusions", [claim(1)])
    assert tables.prune(tmp_path) == 1
    assert tables.read(tmp_path, "conclusions", ["index"]).to_pylist() == [{"index": 0}]


def test_a_part_is_on_disk_before_a_commit_can_name_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: set[int] = set()
    sync = os.fsync

    def observed(file: int) -> None:
        sync(file)
        synced.add(os.fstat(file).st_ino)

    monkeypatch.setattr(os, "fsync", observed)
    part = tables.write_part(tmp_path, "conclusions", [claim(0)])
    assert (tmp_path / "tables" / "conclusions" / part).stat().st_ino in synced


def test_a_derived_table_is_replaced_whole(tmp_path: Path) -> None:
    def row(value: float | None) -> dict[str, Any]:
        names = tables.TABLES["scores"].names
        return dict.fromkeys(names, "x") | {"value": value}

    tables.replace(tmp_path, "scores", [row(None)])
    tables.replace(tmp_path, "scores", [row(1.0), row(0.0)])
    assert tables.read(tmp_path, "scores")["value"].to_pylist() == [1.0, 0.0]
    assert len(list((tmp_path / "tables" / "scores").iterdir())) == 1


def test_a_column_that_is_null_in_one_part_keeps_its_type(tmp_path: Path) -> None:
    names = tables.TABLES["scores"].names
    for number, value in enumerate((None, 0.5)):
        part = tables.write_part(tmp_path, "scores", [dict.fromkeys(names, "x") | {"value": value}])
        tables.commit(tmp_path, str(number), {"scores": part})
    assert tables.read(tmp_path, "scores")["value"].to_pylist() == [None, 0.5]


def test_a_missing_part_and_an_unknown_table_are_named(tmp_path: Path) -> None:
    tables.commit(tmp_path, "first", {"turns": "part-gone.parquet"})
    with pytest.raises(RunError, match=r"part-gone\.parquet"):
        tables.read(tmp_path, "turns")
    with pytest.raises(RunError, match="no table 'turn'"):
        tables.read(tmp_path, "turn")


@pytest.mark.parametrize("record", ["{", "[]", "{}", '{"parts": []}', '{"parts": {"episodes": 5}}'])
def test_a_damaged_commit_is_named_with_what_to_do(record: str, tmp_path: Path) -> None:
    tables.commit(tmp_path, "episodes-1", {})
    (path,) = (tmp_path / "tables" / "commits").iterdir()
    path.write_text(record)
    for use in (tables.commits, lambda folder: tables.drop_episodes(folder, {"e"})):
        with pytest.raises(RunError, match=r"episodes-1\.json is damaged .*: delete it"):
            use(tmp_path)
