"""Who judges: a config group at a run's root, on which no episode depends."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.backbone.config import JudgeConfig
from pipeline.config import compose_judge, resolve
from pipeline.errors import ConfigError, RunError

URL = "judge.urls=[http://host/v1]"


def test_nobody_judges_by_default() -> None:
    assert resolve().judge == JudgeConfig()


def test_the_official_judge_of_aa_lcr_is_an_instruct_model_at_temperature_zero() -> None:
    judge = resolve(["judge=aa_lcr_official", URL]).judge
    assert judge.model == "Qwen/Qwen3-235B-A22B-Instruct-2507"
    assert (judge.sampling.temperature, judge.repeats) == (0, 3)


def test_openais_models_get_their_own_field_for_tokens() -> None:
    judge = resolve(["judge=gpt", "judge.model=x", "judge.max_tokens=99"]).judge
    assert judge.urls == ["https://api.openai.com/v1"] and judge.api_key_env == "OPENAI_API_KEY"
    assert judge.sampling.temperature is None
    assert judge.sampling.extra == {"max_tokens": None, "max_completion_tokens": 99}


def test_a_judge_is_stored_with_the_run_and_does_not_name_it() -> None:
    plain, judged = resolve(), resolve(["judge=endpoint", "judge.model=x", URL])
    assert plain.name == judged.name and plain.arms == judged.arms
    assert plain.config["judge"]["model"] is None
    assert judged.config["judge"]["urls"] == ["http://host/v1"]


def test_a_judge_reaches_a_run_of_several_arms() -> None:
    spec = resolve(["harness=[longharness,notes]", "judge=endpoint", "judge.model=x", URL, "judge.repeats=5"])
    assert len(spec.arms) == 2 and spec.judge.repeats == 5


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (["judge=endpoint"], r"judge needs values that only you can give: judge\.model=… judge\.urls=…"),
        (["judge=gpt"], r"judge needs values that only you can give: judge\.model=…"),
        (["judge=endpoint", "judge.model=x", "judge.urls=[]"], r"judge\.urls is empty"),
        (["judge.model=x"], r"judge\.urls is empty"),
        (["judge.concurrency=0"], "1 is the least"),
        (["judge.max_unscored=1.5"], "it is a share"),
        (["judge.max_unscored=-1"], "can't be negative"),
    ],
)
def test_a_judge_that_can_judge_nothing_is_refused(overrides: list[str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        resolve(overrides)


def test_scoring_takes_the_stored_judge_and_changes_it(tmp_path: Path) -> None:
    stored = tmp_path / "config.yaml"
    stored.write_text("judge: {name: endpoint, model: m, urls: [http://host/v1], sampling: {top_p: 0.5}}\n")
    assert compose_judge(stored).model == "m"
    assert compose_judge(stored, ["judge.repeats=7"]).repeats == 7
    assert compose_judge(stored, ["judge.repeats=7"]).sampling.top_p == 0.5
    assert compose_judge(stored, ["judge=gpt", "judge.model=x"]).sampling.top_p is None
    assert compose_judge(stored, ["judge=none"]).model is None


def test_a_run_that_stores_no_judge_has_none(tmp_path: Path) -> None:
    assert compose_judge(None) == compose_judge(tmp_path / "config.yaml") == JudgeConfig()
    (tmp_path / "config.yaml").write_text("seeds: [0]\n")
    assert compose_judge(tmp_path / "config.yaml") == JudgeConfig()


@pytest.mark.parametrize("text", ["judge: [", "- a\n", "\x00"])
def test_a_stored_configuration_that_cannot_be_read_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.yaml").write_text(text)
    with pytest.raises(RunError, match=r"config\.yaml can't be read"):
        compose_judge(tmp_path / "config.yaml")


def test_a_stored_judge_of_another_shape_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("judge: {modl: m}\n")
    with pytest.raises(ConfigError, match="modl"):
        compose_judge(tmp_path / "config.yaml")
