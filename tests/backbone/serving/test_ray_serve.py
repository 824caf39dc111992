"""What `serving=ray_serve` deploys, where, in which environment; and when `serving=auto` chooses it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from pipeline.backbone.config import BackboneConfig
from pipeline.backbone.serving import ray_serve
from pipeline.backbone.serving.auto import chosen
from pipeline.backbone.serving.config import AutoConfig, RayServeConfig, ServerConfig, VLLMConfig
from pipeline.backbone.serving.ray_serve_plan import Address, serve_config
from pipeline.backbone.serving.vllm_command import settings, sized
from pipeline.config import resolve
from pipeline.config.compose import config_folder
from pipeline.errors import ConfigError
from tests.backbone.requests import hasty

ADDRESS = Address("127.0.0.1", 8000)


def planned(serving: RayServeConfig, **server: Any) -> dict[str, Any]:
    backbone = BackboneConfig(model="org/model", max_tokens=100, server=ServerConfig(**server))
    return serve_config(serving, backbone, sized(serving, backbone), ADDRESS, "lh")


def engine(serving: RayServeConfig, **server: Any) -> dict[str, Any]:
    found: dict[str, Any] = planned(serving, **server)["applications"][0]["args"]["engine_kwargs"]
    return found


@pytest.mark.parametrize(("name", "backbone"), [("qwen_8gpu", "qwen"), ("glm_8gpu", "glm")])
def test_the_serve_configs_to_deploy_alone_are_what_a_run_deploys(name: str, backbone: str) -> None:
    (arm,) = resolve([f"backbone={backbone}", "serving=ray_serve", "serving.gpus=8"]).arms
    size = sized(arm.serving, arm.backbone)
    wanted = serve_config(arm.serving, arm.backbone, size, ADDRESS, backbone)
    text = (config_folder() / "ray_serve" / f"{name}.yaml").read_text(encoding="utf-8")
    assert yaml.safe_load(text) == wanted, yaml.safe_dump(wanted, sort_keys=False)
    for app in wanted["applications"]:  # the comment's command asks every replica
        assert f"http://127.0.0.1:8000{app['route_prefix']}/v1" in text


def test_each_replica_is_an_application_with_a_path_of_its_own() -> None:
    apps = planned(RayServeConfig(gpus=8), tensor_parallel=4)["applications"]
    assert [(app["name"], app["route_prefix"]) for app in apps] == [("lh-0", "/lh-0"), ("lh-1", "/lh-1")]


def test_replicas_are_of_fixed_number_checked_with_patience_and_no_request_is_logged() -> None:
    plan = planned(RayServeConfig(health_timeout=90.0))
    deployment = plan["applications"][0]["args"]["deployment_config"]
    assert deployment["num_replicas"] == 1 and "autoscaling_config" not in deployment
    assert deployment["health_check_timeout_s"] == 90.0
    assert plan["logging_config"] == {"enable_access_log": False}


def test_a_replica_holds_its_gpus_and_cpus_on_one_node() -> None:
    args = planned(RayServeConfig(cpus=2.0), tensor_parallel=2)["applications"][0]["args"]
    group = args["placement_group_config"]
    assert group == {"bundles": [{"CPU": 2.0, "GPU": 1.0}, {"GPU": 1.0}], "strategy": "STRICT_PACK"}
    assert args["engine_kwargs"]["tensor_parallel_size"] == 2 and "accelerator_config" not in args


def test_without_gpus_it_is_told_so() -> None:
    args = planned(RayServeConfig(gpus=0, cpus=0.5))["applications"][0]["args"]
    assert args["accelerator_config"] == {"kind": "cpu"}
    assert args["placement_group_config"]["bundles"] == [{"CPU": 0.5}]


def test_the_engine_is_told_what_vllm_serve_is_told() -> None:
    found = engine(RayServeConfig(flags={"max-num-seqs": 64}, max_model_len=4_096), tool_call_parser="hermes")
    assert found["enable_prefix_caching"] and found["enable_prompt_tokens_details"]
    assert (found["max_num_seqs"], found["max_model_len"], found["tool_call_parser"]) == (64, 4_096, "hermes")
    assert "served_model_name" not in found  # an LLMConfig says it elsewhere
    assert None not in found.values()


def test_the_runs_own_flags_are_not_the_users() -> None:
    with pytest.raises(ConfigError, match=r"serving\.flags\.host"):
        planned(RayServeConfig(flags={"host": "0.0.0.0"}))


def test_the_deploying_process_is_given_the_clusters_token_and_no_other_key() -> None:
    inherited = {
        "PATH": "/bin", "HOME": "/home/me", "RAY_AUTH_TOKEN": "token", "OPENAI_API_KEY": "sk-1",
        "HF_TOKEN": "hf_1", "RAY_JOB_CONFIG_JSON_ENV_VAR": "{}", "VLLM_API_KEY": "sk-2",
    }  # fmt: skip
    found = ray_serve.environment(inherited, settings(RayServeConfig(env={"MINE": "1"})))
    assert {"PATH", "HOME", "RAY_AUTH_TOKEN", "MINE"} <= found.keys()
    assert not {"OPENAI_API_KEY", "HF_TOKEN", "VLLM_API_KEY", "RAY_JOB_CONFIG_JSON_ENV_VAR"} & found.keys()


def test_its_environment_is_named_or_found_or_said_how_to_make(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ray_serve, "find_spec", lambda name: None)
    monkeypatch.delenv("LONGHARNESS_VLLM_VENV", raising=False)
    assert ray_serve.interpreter(sys.executable) == sys.executable
    with pytest.raises(ConfigError, match=r"ray\[llm\]==\d.*serving\.python"):
        ray_serve.interpreter(None)
    with pytest.raises(ConfigError, match=r"serving\.python: there is no /none"):
        ray_serve.interpreter("/none")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/python").symlink_to(sys.executable)
    monkeypatch.setenv("LONGHARNESS_VLLM_VENV", str(tmp_path))
    assert ray_serve.interpreter(None) == str(tmp_path / "bin/python")


def test_without_a_ray_cluster_it_is_refused(tmp_path: Path) -> None:
    with (
        pytest.raises(ConfigError, match="no Ray cluster"),
        ray_serve.serve(RayServeConfig(gpus=0), hasty(), tmp_path),
    ):
        pass


@pytest.mark.parametrize(
    ("joined", "gpus", "asked", "by"),
    [
        (True, 8.0, 4, RayServeConfig),
        (False, 8.0, 4, VLLMConfig),  # the run's own cluster
        (True, 0.0, 4, VLLMConfig),  # a cluster without GPUs
        (True, 8.0, 0, VLLMConfig),  # replicas without GPUs
    ],
)
def test_auto_is_ray_serve_where_a_cluster_with_gpus_is_joined(
    joined: bool, gpus: float, asked: int, by: type
) -> None:
    serving = AutoConfig(gpus=asked, port=8_000, flags={"max-num-seqs": 4})
    found = chosen(serving, hasty(), joined=joined, gpus=gpus)
    assert type(found) is by
    assert (found.gpus, found.port, found.flags) == (asked, 8_000, {"max-num-seqs": 4})


@pytest.mark.parametrize(("cluster", "address"), [("local", "local"), ("existing", "auto")])
def test_auto_knows_which_cluster_the_run_is_on(cluster: str, address: str) -> None:
    (arm,) = resolve(["backbone=qwen", "serving=auto", f"cluster={cluster}"]).arms
    assert arm.serving.cluster == address
