"""What `doctor` finds of a backbone, of servers that can and that can't."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace

import pytest

from pipeline.backbone.config import BackboneConfig, ClientConfig, SamplingConfig
from pipeline.backbone.probing import Finding, Needs, probe
from pipeline.backbone.probing.window import named_window
from pipeline.backbone.serving import Endpoint
from pipeline.backbone.serving.fit import History
from pipeline.errors import ConfigError
from tests.backbone.faults import FaultyServer, Step, faulty, hang, replied, reset
from tests.backbone.probing.served import Served, served

BACKBONE = BackboneConfig("test", "asked-for", max_tokens=4_096)
NEEDS = Needs()


def findings(
    served_by: Served | Step, backbone: BackboneConfig = BACKBONE, needs: Needs | None = NEEDS, **looks: str
) -> dict[str, Finding]:
    """Probe one server, over a socket; `looks` are what it says at /v1/models, /version, /props."""

    async def run() -> list[Finding]:
        step = served_by.reply if isinstance(served_by, Served) else served_by
        async with faulty(step) as server:
            server.looks |= {paths[name]: text for name, text in looks.items()}
            return await asyncio.to_thread(lambda: list(probe("test", server.endpoint, backbone, needs)))

    paths = {"models": "/v1/models", "version": "/version", "props": "/props"}
    return {finding.name: finding for finding in asyncio.run(run())}


def works(found: Mapping[str, Finding]) -> dict[str, bool | None]:
    return {name: finding.works for name, finding in found.items()}


# --- A server that can


def test_a_server_that_can_do_all_has_nothing_to_mend() -> None:
    model = Served(window=2_000_000)
    found = findings(model, models='{"data": [{"id": "asked-for"}]}', version='{"version": "0.32.0"}')
    assert all(finding.works for finding in found.values()), found
    assert {"reachable", "model", "completion", "usage", "streaming", "JSON schema", "native tools"} < set(
        found
    )
    assert "version 0.32.0" in found["reachable"].found
    assert model.asked < 15


def test_of_several_replicas_all_are_reached_and_one_is_asked_for_all() -> None:
    async def run() -> list[Finding]:
        async with served(Served()) as one, served(Served()) as other:
            endpoint = replace(one.endpoint, urls=(one.url, other.url))
            return await asyncio.to_thread(lambda: list(probe("test", endpoint, BACKBONE, Needs())))

    found = asyncio.run(run())
    assert len({finding.of for finding in found}) == 2
    assert [finding.name for finding in found].count("completion") == 2
    assert [finding.name for finding in found].count("seed") == 1


# --- One that can't, each with its remedy


def test_a_schema_that_is_ignored_is_told_from_one_that_is_refused() -> None:
    assert "ignored: the reply was 'ready'" in findings(Served(schema=False))["JSON schema"].found
    refusing = findings(Served(refused=("response_format",)))["JSON schema"]
    assert refusing.found.startswith("refused: schema_unsupported")
    assert (refusing.works, "harness.action.mode=text" in refusing.remedy) == (None, True)


def test_missing_tools_fail_only_a_run_that_calls_them() -> None:
    model = Served(refused=("tools",))
    assert findings(model)["native tools"].works is None
    needed = findings(model, needs=Needs(tools=True))["native tools"]
    assert needed.works is False and "--tool-call-parser" in needed.remedy
    assert "no call came" in findings(Served(tools=False))["native tools"].found


def test_a_seed_that_changes_nothing_is_seen_by_the_same_request_sent_twice() -> None:
    found = findings(Served(seeded=False))["seed"]
    assert found.works is None and "another reply" in found.found and "batch_invariant" in found.remedy
    assert findings(Served())["seed"].works is True


def test_a_model_whose_options_take_the_seed_out_is_not_asked_about_it() -> None:
    backbone = replace(BACKBONE, sampling=SamplingConfig(extra={"seed": None}))
    assert "none is sent" in findings(Served(), backbone)["seed"].found


def test_temperatures_that_are_refused_are_said_and_prove_nothing() -> None:
    found = findings(Served(refused=("temperature",)))["seed"]
    assert (found.works, found.found) == (None, "temperature 0 is refused; temperature 1 is refused")


def test_usage_and_cached_tokens_that_are_not_reported_are_said() -> None:
    found = findings(Served(counts=False))
    assert found["usage"].works is None and found["cached tokens"].works is None
    found = findings(Served(caches=False))
    assert found["usage"].works is True
    assert "--enable-prefix-caching" in found["cached tokens"].remedy


def test_replies_that_come_whole_are_told_from_a_refusal_to_stream() -> None:
    assert findings(Served(streams=False))["streaming"].found == "replies come whole"
    assert "refused" in findings(Served(refused=("stream",)))["streaming"].found


# --- The window


def test_the_window_is_the_one_that_the_servers_list_names() -> None:
    found = findings(Served(), models='{"data": [{"id": "asked-for", "max_model_len": 262144}]}')["window"]
    assert "a window of 262,144 tokens" in found.found and "list of models" in found.found


def test_without_a_list_the_refusal_of_too_long_a_reply_names_it() -> None:
    found = findings(Served(window=131_072))["window"]
    assert "a window of 131,072 tokens" in found.found and "refusal" in found.found


def test_the_share_of_the_arms_own_history_that_fits_is_said() -> None:
    small = Needs(History(turns=10, searches=5, read_tokens=20_000))
    assert findings(Served(), needs=small)["window"].works is True
    found = findings(Served())["window"]
    assert (found.works, "holds about 1" in found.found, "200 turns" in found.found) == (None, True, True)


def test_a_window_without_room_for_a_history_stops_a_run() -> None:
    found = findings(Served(window=8_192))["window"]
    assert found.works is False and "longer window" in found.remedy


def test_a_window_set_larger_than_the_servers_stops_a_run() -> None:
    found = findings(Served(window=32_768), replace(BACKBONE, window=65_536))["window"]
    assert found.works is False and "backbone.window=null" in found.remedy


def test_a_server_that_names_no_window_is_said_not_to() -> None:
    assert findings(Served(window=None))["window"].found == "the server doesn't say"


@pytest.mark.parametrize(
    ("said", "window"),
    [
        ("This model's maximum context length is 32768 tokens. However, you requested 100000009", 32_768),
        ('{"error":{"type":"exceed_context_size_error","n_prompt_tokens":9001,"n_ctx":8192}}', 8_192),
        ("input length and `max_tokens` exceed context limit: 9 + 100000000 > 200000, decrease", 200_000),
        ("max_tokens is too large: 100000000. This model supports at most 16384 completion tokens", None),
    ],
)
def test_refusals_name_the_window_in_their_own_ways(said: str, window: int | None) -> None:
    assert named_window(said) == window


# --- Servers that aren't there, or hostile


def test_a_refused_connection_is_the_only_finding() -> None:
    endpoint = Endpoint(("http://127.0.0.1:9/v1",), "m", node_local=True)
    (found,) = probe("test", endpoint, BACKBONE, Needs())
    assert (found.name, found.works) == ("reachable", False)
    assert "check that the server runs" in found.remedy


@pytest.mark.parametrize("step", [reset, hang])
def test_a_server_that_drops_or_hangs_is_asked_once(step: Step) -> None:
    async def run() -> tuple[list[Finding], FaultyServer]:
        async with faulty(step) as server:
            client = ClientConfig(first_byte_timeout=0.5, total_timeout=0.5)
            backbone = replace(BACKBONE, client=client)
            return await asyncio.to_thread(
                lambda: list(probe("test", server.endpoint, backbone, Needs()))
            ), server

    found, server = asyncio.run(run())
    assert found[-1].works is False and found[-1].name == "answers"
    assert len(server.bodies) <= 2  # the connection that aiohttp may open anew


@pytest.mark.parametrize(
    ("step", "remedy"),
    [
        (replied(401, "no such key"), "api_key_env"),
        (replied(404, "no such model"), "backbone.model"),
        (replied(402, "pay first"), "balance"),
        (replied(500, "broken"), "log"),
        (replied(200, "<html>", Content_Type="text/html"), "to /v1"),
    ],
)
def test_an_error_of_the_first_completion_is_said_with_its_remedy(step: Step, remedy: str) -> None:
    found = findings(step)
    assert works(found)["completion"] is False and remedy in found["completion"].remedy
    assert "seed" not in found


def test_a_model_of_another_name_is_said_with_the_names_there_are() -> None:
    found = findings(Served(), models='{"data": [{"id": "other"}]}')["model"]
    assert (found.works, found.remedy) == (None, "backbone.model=other, maybe")


def test_what_a_server_says_is_shown_without_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROBED_KEY", "canary-6213")

    async def run() -> list[Finding]:
        async with faulty(replied(500, "got Bearer canary-6213")) as server:
            server.looks["/version"] = '{"version": "canary-6213"}'
            endpoint = replace(server.endpoint, api_key_env="PROBED_KEY")
            found = await asyncio.to_thread(lambda: list(probe("test", endpoint, BACKBONE, Needs())))
            assert server.authorizations == ["Bearer canary-6213"]
            return found

    shown = repr(asyncio.run(run()))
    assert "canary" not in shown and "[key]" in shown


def test_a_key_that_is_not_set_is_a_configuration_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PROBED_KEY", raising=False)
    endpoint = Endpoint(("http://127.0.0.1:9/v1",), "m", "PROBED_KEY")
    with pytest.raises(ConfigError, match="PROBED_KEY"):
        list(probe("test", endpoint, BACKBONE, Needs()))
