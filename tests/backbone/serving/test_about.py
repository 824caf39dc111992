"""What servers say of themselves, for a run's record."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from pipeline.backbone.config import ClientConfig
from pipeline.backbone.serving import Endpoint
from pipeline.backbone.serving.about import about_servers
from tests.backbone.faults import completion, faulty

VLLM = {
    "/v1/models": {"data": [{"id": "asked-for", "root": "org/name", "max_model_len": 9, "created": 5}]},
    "/version": {"version": "0.32.0"},
    "/server_info": {"vllm_config": {"seed": 0}, "vllm_env": {"VLLM_API_KEY": "hidden"}},
}
LLAMA = {
    "/v1/models": {"data": [{"id": "asked-for", "owned_by": "llamacpp"}]},
    "/props": {"build_info": "b123", "model_path": "/home/somebody/model.gguf"},
}


def said(looks: dict[str, Any], key: str | None = None) -> dict[str, Any]:
    async def run() -> dict[str, Any]:
        async with faulty(completion()) as server:
            server.looks |= {
                path: text if isinstance(text, str) else json.dumps(text) for path, text in looks.items()
            }
            endpoint = replace(server.endpoint, api_key_env=key)
            (found,) = await asyncio.to_thread(about_servers, endpoint, ClientConfig())
            return found

    return asyncio.run(run())


def test_a_vllm_says_its_version_its_model_and_its_flags_but_not_its_environment() -> None:
    found = said(VLLM)
    assert found["version"] == "0.32.0" and found["flags"] == {"seed": 0}
    assert found["model"] == {"id": "asked-for", "root": "org/name", "max_model_len": 9}
    assert "hidden" not in json.dumps(found)


def test_a_llama_cpp_says_its_build_and_no_path() -> None:
    found = said(LLAMA)
    assert found["version"] == "llama.cpp b123" and "somebody" not in json.dumps(found)


@pytest.mark.parametrize(
    "looks",
    [{}, {"/v1/models": "<html>"}, {"/v1/models": "[1]", "/version": "{}"}, {"/v1/models": '{"data": [3]}'}],
)
def test_a_server_that_says_nothing_of_use_has_only_its_name(looks: dict[str, Any]) -> None:
    assert said(looks).keys() == {"replica"}


def test_a_server_that_is_not_there_says_why() -> None:
    (found,) = about_servers(Endpoint(("http://127.0.0.1:9/v1",), "m", node_local=True), ClientConfig())
    assert "127.0.0.1:9" in found["error"]


def test_a_key_that_a_server_repeats_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ABOUT_KEY", "canary-77")
    found = said({"/version": '{"version": "canary-77"}'}, "ABOUT_KEY")
    assert found["version"] == "[key]"
