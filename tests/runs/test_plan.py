"""The plan: selection, and an episode's identity by content."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.benchmarks.tasks import CorpusSource
from pipeline.corpus import Corpus, build
from pipeline.corpus.config import CorpusConfig
from pipeline.errors import ConfigError
from pipeline.harness.config import ConclusionForm, HarnessConfig, SwitchesConfig
from pipeline.runs.config import TasksConfig
from pipeline.runs.freeze import frozen, plain, thawed
from pipeline.runs.plan import Plan, make_plan, select, task_view
from pipeline.runs.spec import ArmSpec, RunSpec
from tests.runs.sample import SampleConfig, arm, load, spec


def opened(source: CorpusSource, config: CorpusConfig) -> Corpus:
    return build(source.folders, config, None)


def planned(run: RunSpec) -> Plan:
    return make_plan(run, opened)


def ids(*arms: ArmSpec, seeds: tuple[int, ...] = (0,)) -> list[str]:
    found: list[str] = (
        planned(spec(Path("unused"), list(arms), seeds=seeds)).episodes["episode_id"].to_pylist()
    )
    return found


@pytest.fixture
def base(documents: Path) -> ArmSpec:
    return arm("a", documents, "http://unused/v1", tasks=2)


def test_an_episode_is_the_same_wherever_and_however_it_is_served(base: ArmSpec, documents: Path) -> None:
    client = replace(base.backbone.client, attempts=9)
    elsewhere = arm("another name", documents, "http://elsewhere/v1", tasks=2)
    elsewhere = replace(elsewhere, backbone=replace(base.backbone, client=client))
    assert ids(base) == ids(elsewhere)


def test_whatever_a_result_depends_on_makes_another_episode(base: ArmSpec, documents: Path) -> None:
    sampling = replace(base.backbone.sampling, temperature=0.5)
    changed = [
        replace(base, harness=replace(base.harness, document_map_tokens=3_000)),
        replace(base, harness=HarnessConfig(switches=SwitchesConfig(conclusion=ConclusionForm.notes))),
        replace(base, backbone=replace(base.backbone, model="other")),
        replace(base, backbone=replace(base.backbone, sampling=sampling)),
        replace(base, backbone=replace(base.backbone, max_tokens=5)),
        replace(base, benchmark=replace(base.benchmark, question="How much for department {n}?")),
        replace(base, corpus=CorpusConfig(passage_tokens=64)),
    ]
    seen = [set(ids(base)), set(ids(base, seeds=(1,))), *(set(ids(one)) for one in changed)]
    (documents / "c0" / "report_0.txt").write_text("Revised.\n")
    seen.append(set(ids(base)))
    assert len(set.union(*seen)) == sum(map(len, seen))


def test_the_plan_gives_an_actor_the_task_as_it_was(base: ArmSpec) -> None:
    benchmark = load(base.benchmark)
    rows = list(planned(spec(Path("unused"), [base])).rows())
    assert [task_view(row) for row in rows] == [task.view for task in benchmark.tasks]
    assert dict(rows[1]["fields"]) == {"kind": "odd"}


def test_arms_take_turns_over_the_same_task(base: ArmSpec) -> None:
    other = replace(base, name="b", backbone=replace(base.backbone, model="other"))
    rows = planned(spec(Path("unused"), [base, other], seeds=(0, 1))).rows()
    order = [(row["task_id"], row["seed"], row["arm"]) for row in rows]
    assert order == sorted(order)


def test_tasks_are_selected_by_id_field_and_number() -> None:
    tasks = load(SampleConfig(tasks=6)).tasks
    assert [task.view.id for task in select(tasks, TasksConfig(ids=["t4", "t1"]))] == ["t4", "t1"]
    assert [task.view.id for task in select(tasks, TasksConfig(where={"kind": "odd"}, limit=2))] == [
        "t1",
        "t3",
    ]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (TasksConfig(ids=["t44"]), "no task 't44'; the nearest is 't4'"),
        (TasksConfig(where={"kin": "odd"}), "field 'kin'; the nearest is 'kind'"),
        (TasksConfig(where={"kind": "evn"}), "kind=evn; the nearest is 'even'"),
        (TasksConfig(limit=0), "at least 1"),
    ],
)
def test_an_unknown_task_field_or_value_names_the_nearest(config: TasksConfig, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        select(load(SampleConfig(tasks=6)).tasks, config)


def test_one_benchmark_option_means_one_set_of_gold_answers(base: ArmSpec, documents: Path) -> None:
    other = replace(base, name="b", benchmark=replace(base.benchmark, _target_="tests.runs.test_plan.regold"))
    with pytest.raises(ConfigError, match="another gold answer"):
        planned(spec(Path("unused"), [base, replace(other, backbone=replace(base.backbone, model="m"))]))


def regold(config: SampleConfig):  # type: ignore[no-untyped-def]
    benchmark = load(config)
    tasks = tuple(replace(task, gold=replace(task.gold, answer="0")) for task in benchmark.tasks)
    return replace(benchmark, tasks=tasks)


def test_a_config_survives_its_record() -> None:
    config = HarnessConfig(switches=SwitchesConfig(conclusion=ConclusionForm.notes, revise=False))
    assert thawed(frozen(config)) == config
    assert plain(config)["switches"]["conclusion"] == "notes"
