"""A plan and a run that is there: what is refused, what is merged, and how far it is; nothing is started."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.benchmarks.tasks import Benchmark
from pipeline.errors import ConfigError, RunError
from pipeline.harness.config import BudgetConfig, HarnessConfig
from pipeline.runs import tables
from pipeline.runs.config import TasksConfig
from pipeline.runs.folder import RunFolder, write_json
from pipeline.runs.lease import Lease
from pipeline.runs.library import Library
from pipeline.runs.merging import Regolded
from pipeline.runs.run import look, merge_run, plan_run, store_run
from pipeline.runs.spec import ArmSpec, RunSpec
from pipeline.runs.standing import Counts
from tests.runs.sample import SampleConfig, arm, load, spec


def regold(config: SampleConfig) -> Benchmark:
    """The sample, with other gold for t0 and t1."""
    benchmark = load(config)
    t0, t1, *others = benchmark.tasks
    t0 = replace(t0, gold=replace(t0.gold, answer="0"))
    t1 = replace(t1, gold=replace(t1.gold, documents=("report_2.txt",), tolerance=0.5))
    return replace(benchmark, tasks=(t0, t1, *others))


def judged(config: SampleConfig) -> Benchmark:
    """The sample, with a scorer that needs a judge."""
    return replace(load(config), scorers=("answer", "equality"))


def unscored(config: SampleConfig) -> Benchmark:
    """The sample, with a scorer that isn't there."""
    return replace(load(config), scorers=("tests.runs.nowhere",))


def of(base: ArmSpec, loader: str) -> ArmSpec:
    return replace(base, benchmark=replace(base.benchmark, _target_=f"tests.runs.test_merging.{loader}"))


@pytest.fixture
def base(documents: Path) -> ArmSpec:
    return arm("a", documents, "http://unused/v1", tasks=3)


def stored(run: RunSpec) -> RunFolder:
    """The folder of `run`, planned, and nothing done."""
    folder, library = RunFolder(run.root / run.name), Library()
    folder.create()
    store_run(folder, run, merge_run(folder, run, plan_run(run, library), library))
    return folder


def finish(folder: RunFolder, *tasks: str) -> list[str]:
    """Commit the episodes of `tasks`, as compaction does; return their ids."""
    rows = [row for row in tables.read_plan(folder.path).to_pylist() if row["task_id"] in tasks]
    ids: list[str] = [row["episode_id"] for row in rows]
    tables.commit(folder.path, "episodes-0", {}, episodes={one: [1, "actor0000-0.jsonl"] for one in ids})
    return ids


def content(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_look_at_a_new_run_leaves_nothing_behind(tmp_path: Path, base: ArmSpec) -> None:
    _, found = look(spec(tmp_path / "runs", [base]), Library())
    assert found.total == Counts(done=0, owed=0, new=3, again=0)
    assert not (tmp_path / "runs").exists()


def test_a_look_tells_done_from_owed_from_new_and_changes_nothing(tmp_path: Path, base: ArmSpec) -> None:
    folder = stored(spec(tmp_path, [base]))
    finish(folder, "t0", "t1")
    before = content(folder.path)
    fewer = replace(base, tasks=TasksConfig(ids=["t1", "t2"]))
    plan, found = look(spec(tmp_path, [fewer], seeds=(0, 1)), Library())
    assert found.arms == {"a": Counts(done=1, owed=1, new=2, again=0)}
    assert found.total.planned == plan.episodes.num_rows == 4
    assert found.earlier == 1
    assert content(folder.path) == before


def test_a_look_needs_no_lease(tmp_path: Path, base: ArmSpec) -> None:
    run = spec(tmp_path, [base])
    with Lease(stored(run)):
        assert look(run, Library())[1].total.owed == 3


def test_a_look_refuses_an_arm_that_was_another_one(tmp_path: Path, base: ArmSpec) -> None:
    stored(spec(tmp_path, [base]))
    changed = replace(base, harness=HarnessConfig(budget=BudgetConfig(turns=3)))
    with pytest.raises(RunError, match=r"harness\.budget\.turns: 20 → 3"):
        look(spec(tmp_path, [changed]), Library())


def test_a_look_refuses_a_task_that_has_changed(tmp_path: Path, base: ArmSpec) -> None:
    stored(spec(tmp_path, [base]))
    changed = replace(base, benchmark=replace(base.benchmark, question="How much for department {n}?"))
    with pytest.raises(RunError, match="task 't0' of arm 'a' has changed since this run began"):
        look(spec(tmp_path, [changed]), Library())


def test_a_look_refuses_a_folder_that_a_run_could_not_use(tmp_path: Path, base: ArmSpec) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match=r"can't be made or written to \(Not a directory\)"):
        look(spec(tmp_path / "file", [base]), Library())
    with pytest.raises(RunError, match="File name too long"):
        look(spec(tmp_path, [base], name="n" * 300), Library())
    folder = stored(spec(tmp_path, [base]))
    record = folder.read_record()
    folder.record.unlink()
    with pytest.raises(RunError, match="holds a run but no run"):
        look(spec(tmp_path, [base]), Library())
    write_json(folder.record, record | {"schema_version": 1})
    with pytest.raises(RunError, match="has schema version 1"):
        look(spec(tmp_path, [base]), Library())


def test_scorers_are_looked_for_before_anything_runs(tmp_path: Path, base: ArmSpec) -> None:
    with pytest.raises(ConfigError, match=r"scorer 'tests\.runs\.nowhere': there is no module"):
        look(spec(tmp_path, [of(base, "unscored")]), Library())
    assert look(spec(tmp_path, [of(base, "judged")]), Library())[1].judged == ("equality",)
    assert look(spec(tmp_path, [base]), Library())[1].judged == ()


def test_changed_gold_is_named_and_runs_nothing_again(tmp_path: Path, base: ArmSpec) -> None:
    folder = stored(spec(tmp_path, [base]))
    finish(folder, "t0", "t1", "t2")
    assert look(spec(tmp_path, [base]), Library())[1].regolded == ()
    changed = spec(tmp_path, [of(base, "regold")])
    _, found = look(changed, Library())
    assert found.regolded == (
        Regolded("sample", "t0", ("answer",)),
        Regolded("sample", "t1", ("documents", "tolerance")),
    )
    assert found.total == Counts(done=3, owed=0, new=0, again=0)
    stored(changed)
    assert {row["answer"] for row in tables.read_gold(folder.path).to_pylist()} == {"0", "1007", "1014"}
    assert look(changed, Library())[1].regolded == ()
    stored(spec(tmp_path, [base]))  # back again: the run still says that there was another
    assert [row["task_id"] for row in folder.read_record()["regolded"]] == ["t0", "t1"]


def test_a_score_by_a_gold_that_is_no_more_is_dropped(tmp_path: Path, base: ArmSpec) -> None:
    folder = stored(spec(tmp_path, [base]))
    ids = finish(folder, "t0", "t1", "t2")
    values = {"scorer": "mine", "version": "1", "params": "{}", "metric": "exact", "value": 1.0, "reason": ""}
    tables.replace(folder.path, "scores", [{"episode_id": one, **values} for one in ids])
    stored(spec(tmp_path, [base]))
    assert tables.read(folder.path, "scores").num_rows == 3
    stored(spec(tmp_path, [of(base, "regold")]))
    assert tables.read(folder.path, "scores")["episode_id"].to_pylist() == [ids[2]]
