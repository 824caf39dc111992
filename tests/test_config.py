"""Configuration: what composes, what it comes to, and what is refused with which words."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from pipeline.benchmarks.officeqa import load
from pipeline.config import compose_harness, resolve
from pipeline.config.compose import config_folder
from pipeline.errors import BenchmarkError, ConfigError
from pipeline.harness.config import Profile
from tests.variants import VARIANTS, variant

ENDPOINT = ("backbone.model=NAME", "serving.urls=[http://127.0.0.1:1/v1]")


def options(group: str) -> list[str]:
    return sorted(path.stem for path in (config_folder() / group).glob("*.yaml"))


def refusal(*overrides: str, config_dirs: tuple[Path, ...] = ()) -> str:
    with pytest.raises(ConfigError) as caught:
        resolve(overrides, config_dirs)
    return str(caught.value)


# --- options ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("harness", options("harness"))
def test_every_harness_composes_for_a_run_and_for_a_trace(harness: str) -> None:
    arm = resolve([f"harness={harness}"]).arms[0]
    assert arm.harness_name == harness
    assert arm.harness == compose_harness([f"harness={harness}"]).harness


def needed(backbone: str) -> list[str]:
    """What only the user can give of an option."""
    if backbone in ("custom", "qwen", "glm", "qwen_1gpu", "glm_1gpu"):
        return list(ENDPOINT)
    return ["serving.script=FILE"] if backbone == "scripted" else []


@pytest.mark.parametrize("backbone", options("backbone"))
def test_every_backbone_composes_with_the_serving_it_names(backbone: str) -> None:
    arm = resolve([f"backbone={backbone}", *needed(backbone)]).arms[0]
    assert arm.backbone.name == backbone
    own = {"reference": "process", "embedded": "embedded", "scripted": "scripted"}
    expected = own.get(backbone, "endpoint")
    assert f".{expected}.serve" in arm.serving._target_


@pytest.mark.parametrize("benchmark", options("benchmark"))
def test_every_benchmark_composes(benchmark: str) -> None:
    documents = {"officeqa": "[d]", "custom": "d"}.get(benchmark)
    own = ["benchmark.questions=q.csv", f"benchmark.documents={documents}"] if documents else []
    arm = resolve([f"benchmark={benchmark}", *own]).arms[0]
    assert arm.benchmark_name == arm.benchmark.name == benchmark


@pytest.mark.parametrize("benchmark", ["officeqa_full", "officeqa_pro_v1", "officeqa_pro_v2"])
def test_a_benchmark_whose_files_are_the_users_to_get_says_how(
    benchmark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OFFICEQA_DIR", str(tmp_path))
    monkeypatch.setenv("OFFICEQA_PRO_V2_DIR", str(tmp_path))
    config = resolve([f"benchmark={benchmark}"]).arms[0].benchmark
    with pytest.raises(BenchmarkError, match="hf download databricks/officeqa") as caught:
        load(config)
    assert f"{tmp_path}/{benchmark.removesuffix('_v1')}.csv" in str(caught.value)


@pytest.mark.parametrize("experiment", options("experiment"))
def test_every_experiment_composes(experiment: str) -> None:
    spec = resolve([f"experiment={experiment}"])
    assert spec.arms and spec.name.startswith(f"{experiment}-")


@pytest.mark.parametrize("cluster", options("cluster"))
def test_every_cluster_composes(cluster: str) -> None:
    assert resolve([f"cluster={cluster}"]).cluster.address == {"local": "local", "existing": "auto"}[cluster]


def test_the_variants_are_those_of_the_contract_and_differ_in_their_switches_alone() -> None:
    names = {"longharness" if name == "full" else name: name for name in VARIANTS}
    assert set(names) == set(options("harness")) - {"extended"}
    for option, name in names.items():
        assert compose_harness([f"harness={option}"]).harness == variant(name), name


def test_the_extended_harness_is_the_full_one_with_the_extended_profile() -> None:
    extended = compose_harness(["harness=extended"]).harness
    assert extended.profile is Profile.extended
    assert replace(extended, profile=Profile.paper) == variant("full")


def test_what_is_no_language_model_is_labelled_so() -> None:
    for name in options("backbone"):
        arm = resolve([f"backbone={name}", *needed(name)]).arms[0]
        assert arm.backbone.language_model == (name not in ("reference", "scripted"))


# --- arms ------------------------------------------------------------------------------------------------


def test_lists_of_options_become_one_arm_for_each_combination() -> None:
    spec = resolve(["harness=[longharness,append_only]", "backbone=[reference,embedded]"])
    assert [arm.name for arm in spec.arms] == [
        "longharness+reference",
        "longharness+embedded",
        "append_only+reference",
        "append_only+embedded",
    ]
    assert [arm.harness.switches.revise for arm in spec.arms] == [True, True, False, False]
    assert spec.arms[1].serving._target_ != spec.arms[0].serving._target_


def test_a_harness_key_reaches_every_arm() -> None:
    spec = resolve(["harness=[longharness,notes]", "harness.budget.turns=7"])
    assert [arm.harness.budget.turns for arm in spec.arms] == [7, 7]


def test_a_key_reaches_only_the_arms_that_have_it() -> None:
    spec = resolve(["backbone=[reference,embedded]", "serving.n_ctx=4096"])
    assert not hasattr(spec.arms[0].serving, "n_ctx")
    assert spec.arms[1].serving.n_ctx == 4096


def test_a_key_that_no_arm_has_is_refused() -> None:
    message = refusal("backbone=[reference,embedded]", "serving.urls=[http://x/v1]")
    assert message == (
        "serving.urls=[http://x/v1] (in none of the 2 arms): there is no key 'serving.urls'; "
        "serving has: _target_, module, startup_timeout"
    )


def test_arms_in_full_have_their_own_overrides_and_the_command_line_wins() -> None:
    arms = "arms=[{name: short, harness: notes, overrides: ['harness.budget.turns=3', 'tasks.limit=2']}, {}]"
    short, default = resolve([arms]).arms
    assert (short.name, short.harness.budget.turns, short.tasks.limit) == ("short", 3, 2)
    assert (default.name, default.harness.budget.turns) == ("longharness+reference", 200)
    assert resolve([arms, "harness.budget.turns=5"]).arms[0].harness.budget.turns == 5


def test_an_arm_cannot_override_what_belongs_to_the_run() -> None:
    message = refusal("arms=[{harness: notes, overrides: ['seeds=3']}]")
    assert message.startswith("arms[0]: seeds=3 is no override of one arm")


def test_listed_arms_and_listed_options_do_not_mix() -> None:
    assert "add arms=[] to choose your own" in refusal("experiment=quickstart", "harness=notes")
    spec = resolve(["experiment=quickstart", "arms=[]", "harness=notes"])
    assert [arm.name for arm in spec.arms] == ["notes+reference"]


def test_an_option_listed_twice_is_refused() -> None:
    assert "two arms are named 'notes+reference'" in refusal("harness=[notes,notes]")


# --- seeds, names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "meant"),
    [("3", (0, 1, 2)), ("1", (0,)), ("[3]", (3,)), ("[0,1,2]", (0, 1, 2)), ("[7,2]", (7, 2))],
)
def test_seeds_say_how_many_or_which(given: str, meant: tuple[int, ...]) -> None:
    assert resolve([f"seeds={given}"]).seeds == meant


@pytest.mark.parametrize(
    "given",
    [
        "0",
        "-1",
        "true",
        "1.5",
        "[]",
        "[a]",
        "[-1]",
        "[9223372036854775808]",
        "[1.5]",
        "'3'",
        "null",
        "[true]",
    ],
)
def test_other_seeds_are_refused_with_both_forms_explained(given: str) -> None:
    assert "seeds=3 means 0, 1, 2) or a list of them (seeds=[3] is seed 3)" in refusal(f"seeds={given}")


@pytest.mark.parametrize("given", ["1000000000000", f"[{','.join(map(str, range(10_001)))}]"])
def test_more_seeds_than_a_run_can_have_are_refused(given: str) -> None:
    assert "are too many, 10000 are the most" in refusal(f"seeds={given}")


def test_a_seed_listed_twice_is_refused() -> None:
    assert refusal("seeds=[1,1]") == "seeds=[1, 1]: a seed is listed twice"


def test_the_same_command_names_the_same_run_and_another_does_not() -> None:
    name = resolve(["harness=notes"]).name
    assert name == resolve(["harness=notes"]).name
    assert name.startswith("ledgerqa-")
    assert name != resolve(["harness=notes", "harness.budget.turns=3"]).name
    assert name != resolve(["harness=notes", "seeds=2"]).name


def test_where_and_on_how_many_processors_it_runs_does_not_name_a_run() -> None:
    elsewhere = ["cluster=existing", "actors.count=7", "root=elsewhere", "cluster.num_cpus=1"]
    assert resolve(elsewhere).name == resolve().name


def test_a_run_can_be_named() -> None:
    spec = resolve(["run=mine", "root=some/where"])
    assert spec.root / spec.name == Path("some/where/mine")
    assert "one folder" in refusal("run=../mine")


@pytest.mark.parametrize("name", [" ", "'a '", "'a\tb'", "x" * 201])
def test_a_name_that_can_hardly_be_a_folders_is_refused(name: str) -> None:
    assert "give a name of at most 200 bytes" in refusal(f"run='{name}'" if name == " " else f"run={name}")


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("backbone.max_tokens=0", "is too small: 1 is the least"),
        ("backbone.max_tokens=-5", "can't be negative"),
        ("backbone.client.attempts=0", "is too small: 1 is the least"),
        ("backbone.window=0", "is too small: 1 is the least"),
        ("backbone.traffic.ramp=0", "is too small: 1 is the least"),
        ("backbone.traffic.kv_share=7", "it is a share, from 0 to 1"),
        ("backbone.traffic.metrics_interval=0", "give some seconds"),
        ("backbone.price.input=nan", "must be a finite number"),
        ("backbone.client.total_timeout=-1", "can't be negative"),
        ("corpus.index.k1=inf", "must be a finite number"),
        ("corpus.index.b=nan", "must be a finite number"),
    ],
)
def test_numbers_without_a_meaning_are_refused(override: str, said: str) -> None:
    assert said in refusal(override)


def test_a_number_of_the_servers_own_may_be_negative() -> None:
    sampling = resolve(["backbone.sampling.extra={presence_penalty: -1.0}"]).arms[0].backbone.sampling
    assert sampling.extra == {"presence_penalty": -1.0}


def test_the_stored_configuration_holds_every_value_of_every_arm() -> None:
    spec = resolve(["harness=[longharness,notes]", "seeds=2", "run=mine"])
    assert spec.config["seeds"] == [0, 1]
    assert [arm["harness"]["switches"]["conclusion"] for arm in spec.config["arms"]] == [
        "structured",
        "notes",
    ]
    assert spec.config["arms"][0]["corpus"]["passage_tokens"] == 1024


# --- what is refused -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("override", "message"),
    [
        (
            "harness=note",
            "there is no harness 'note'; nearest: notes; harness has: append_only, extended, longharness, ",
        ),
        ("harness=[notes,nostate]", "harness=nostate: there is no harness 'nostate'; nearest: no_state; "),
        ("experiment=quikstart", "there is no experiment 'quikstart'; nearest: quickstart"),
        ("harness.budget.turn=3", "there is no key 'harness.budget.turn'; nearest: harness.budget.turns"),
        ("harnes.budget.turns=3", "there is no key 'harnes.budget.turns'; nearest: harness.budget.turns"),
        ("turns=3", "there is no key 'turns'; nearest: harness.budget.turns"),
        ("task.limit=3", "there is no key 'task.limit'; nearest: tasks.limit"),
        ("+harness.depth=3", "there is no key 'harness.depth'"),
        (
            "harness.budget={turn: 3}",
            "Key 'turn' not in 'BudgetConfig'; nearest: turns (key harness.budget.turn)",
        ),
        ("harness.budget.turns=many", "Value 'many' of type 'str' could not be converted to Integer"),
        ("harness.budget=3", "Invalid type assigned: int is not a subclass of BudgetConfig"),
        ("harness.history.reasoning=all", "Invalid value 'all', expected one of [none, thought, full]"),
        ("harness.budget.turns=-1", "harness.budget.turns=-1: it can't be negative"),
        ("tasks.limit=-1", "tasks.limit=-1: it can't be negative"),
        ("harness=notes,longharness", "write a list: harness=[…,…]"),
        ("harness=[]", "list the names of options"),
        ("harness=null", "harness takes the name of an option"),
        ("experiment=[smoke]", "experiment takes the name of an option"),
        ("~harness", "a key can't be deleted"),
        ("harness.budget.turns=[3", "can't be read: no viable alternative at input '[3'"),
        ("--seeds", "can't be read"),
        ("root=${oc.env:LONGHARNESS_NO_SUCH}", "Environment variable 'LONGHARNESS_NO_SUCH' not found"),
        ("backbone=custom", "backbone needs values that only you can give: backbone.model=…"),
        ("serving=endpoint", "serving needs values that only you can give: serving.urls=…"),
        ("seed=3", "there is no key 'seed'; nearest: seeds"),
    ],
)
def test_a_mistake_is_named_with_the_nearest_right_word(override: str, message: str) -> None:
    assert message in refusal(override)


def test_quoted_task_ids_keep_their_zeros() -> None:
    assert resolve(["tasks.ids=[0123,17,'1e3']"]).arms[0].tasks.ids == ["0123", "17", "1e3"]


# --- the user's own folder -------------------------------------------------------------------------------


@dataclass
class OwnConfig:
    """A plug-in's configuration, as a user writes it."""

    _target_: str = "tests.test_config.OwnHarness"
    depth: int = 3


class OwnHarness:
    """A plug-in that annotates its configuration."""

    def __init__(self, config: OwnConfig) -> None:
        self.config = config


def untyped(config: object) -> None:
    """A plug-in that doesn't."""


def own(folder: Path, group: str, name: str, text: str) -> Path:
    (folder / group).mkdir(parents=True, exist_ok=True)
    (folder / group / f"{name}.yaml").write_text(text, encoding="utf-8")
    return folder


def test_a_plugin_gets_the_schema_of_the_dataclass_that_it_asks_for(tmp_path: Path) -> None:
    own(tmp_path, "harness", "own", "_target_: tests.test_config.OwnHarness\n")
    first, second = resolve(["harness=[own,longharness]", "harness.depth=5"], [tmp_path]).arms
    assert first.harness == OwnConfig(depth=5)
    assert first.name == "own+reference"
    assert not hasattr(second.harness, "depth")
    assert "could not be converted to Integer" in refusal(
        "harness=own", "harness.depth=x", config_dirs=(tmp_path,)
    )
    assert "nearest: harness.depth" in refusal("harness=own", "harness.dept=5", config_dirs=(tmp_path,))


def test_a_plugin_that_cannot_be_loaded_or_typed_is_refused(tmp_path: Path) -> None:
    own(tmp_path, "harness", "nowhere", "_target_: no_such_module.Harness\n")
    own(tmp_path, "harness", "untyped", "_target_: tests.test_config.untyped\n")
    own(tmp_path, "harness", "none", "depth: 3\n")
    own(tmp_path, "harness", "extra", "_target_: tests.test_config.OwnHarness\ndpth: 3\n")
    dirs = (tmp_path,)
    assert "there is no module 'no_such_module'" in refusal("harness=nowhere", config_dirs=dirs)
    assert "must annotate its first parameter with a dataclass" in refusal(
        "harness=untyped", config_dirs=dirs
    )
    assert "needs _target_" in refusal("harness=none", config_dirs=dirs)
    assert "'dpth' not in 'OwnConfig'; nearest: depth" in refusal("harness=extra", config_dirs=dirs)


def test_a_mistake_in_a_file_names_the_file(tmp_path: Path) -> None:
    own(tmp_path, "harness", "mine", "defaults: [longharness, _self_]\nbudget: {turn: 3}\n")
    own(tmp_path, "harness", "broken", "budget: {turns: 3\n")
    own(tmp_path, "harness", "lax", "defaults: [longharness, _self_]\nextensions: {answer: off}\n")
    assert "write 'off'" in refusal("harness=lax", config_dirs=(tmp_path,))
    assert refusal("harness=mine", config_dirs=(tmp_path,)) == (
        "harness/mine.yaml: Key 'turn' not in 'BudgetConfig'; nearest: turns (key harness.budget.turn)"
    )
    broken = refusal("harness=broken", config_dirs=(tmp_path,))
    assert "broken.yaml, line 2" in broken and "not valid YAML" in broken


def test_a_config_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    message = refusal(config_dirs=(tmp_path / "conf",))
    assert message == f"--config-dir {tmp_path / 'conf'}: there is no such folder"


def test_a_config_folder_may_have_any_name(tmp_path: Path) -> None:
    folder = own(tmp_path / "it's a, [b] = c", "experiment", "mine", "# @package _global_\nseeds: 2\n")
    assert resolve(["experiment=mine"], [folder]).seeds == (0, 1)


# --- traces ----------------------------------------------------------------------------------------------


def test_a_trace_composes_a_harness_a_corpus_and_a_form_of_answer() -> None:
    trace = compose_harness(["harness=notes", "harness.budget.turns=3", "task.answer_format=letter"])
    assert trace.harness.switches == VARIANTS["notes"]
    assert (trace.harness.budget.turns, trace.task.answer_format) == (3, "letter")


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("harness=nots", "nearest: notes"),
        ("harness=[notes]", "a trace runs one harness"),
        ("harness=[longharness,notes]", "a trace runs one harness"),
        ("backbone=reference", "there is no key 'backbone'"),
        ("task.answer_format=leter", "expected one of [line, letter, text]"),
        ("harness.budget.turns=-1", "it can't be negative"),
    ],
)
def test_a_trace_refuses_what_it_cannot_use(override: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        compose_harness([override])
    assert message in str(caught.value)
