"""Servers that run already: each is checked by a real completion before a run starts."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pipeline.backbone.config import EndpointConfig
from pipeline.backbone.serving import Endpoint
from pipeline.backbone.serving.endpoint import serve
from pipeline.errors import BackboneUnavailable, ConfigError, ModelRequestFailed
from tests.backbone.faults import completion, faulty, replied
from tests.backbone.requests import hasty


def opened(config: EndpointConfig) -> Endpoint:
    with serve(config, hasty(), Path()) as endpoint:
        return endpoint


async def test_every_url_is_asked_for_a_completion() -> None:
    async with faulty(completion()) as a, faulty(completion("")) as b:
        endpoint = await asyncio.to_thread(opened, EndpointConfig(urls=[a.url, b.url + "/"]))
    assert endpoint == Endpoint((a.url, b.url), "asked-for", node_local=True)
    assert len(a.bodies) == len(b.bodies) == 1


async def test_a_server_that_still_loads_is_waited_for() -> None:
    async with faulty(replied(503, "loading"), replied(503, "loading"), completion()) as server:
        await asyncio.to_thread(opened, EndpointConfig(urls=[server.url]))
    assert len(server.bodies) == 3


@pytest.mark.parametrize(
    ("step", "error", "said"),
    [
        (replied(401, "no"), BackboneUnavailable, "serving.api_key_env"),
        (replied(404, "no model"), BackboneUnavailable, "backbone.model"),
        (replied(400, "seed is not supported"), ModelRequestFailed, "seed is not supported"),
    ],
)
async def test_what_failed_is_said_at_once(step: object, error: type[Exception], said: str) -> None:
    async with faulty(step) as server:  # type: ignore[arg-type]
        with pytest.raises(error, match=said):
            await asyncio.to_thread(opened, EndpointConfig(urls=[server.url]))
    assert len(server.bodies) == 1


async def test_a_dead_url_is_given_up_after_the_startup_timeout() -> None:
    async with faulty(completion()) as gone:
        pass
    with pytest.raises(BackboneUnavailable, match="Check that the server runs"):
        await asyncio.to_thread(opened, EndpointConfig(urls=[gone.url], startup_timeout=0.5))


@pytest.mark.parametrize("tokens", [0, -4])
def test_a_kv_cache_of_no_token_is_refused(tokens: int) -> None:
    with pytest.raises(ConfigError, match=r"serving\.kv_tokens"):
        opened(EndpointConfig(urls=["http://127.0.0.1:1/v1"], kv_tokens=tokens))


@pytest.mark.parametrize(
    ("urls", "said"),
    [
        ([], "empty"),
        (["localhost:8000/v1"], "http://HOST:PORT/v1"),
        (["ftp://h/v1"], "http://HOST:PORT/v1"),
        (["http://u:hunter2@h/v1"], "api_key_env"),
    ],
)
def test_an_unusable_url_is_a_config_error(urls: list[str], said: str) -> None:
    with pytest.raises(ConfigError, match=said) as raised:
        opened(EndpointConfig(urls=urls))
    assert "hunter2" not in str(raised.value)
