"""What is taken down of servers' metrics."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from pipeline.backbone.serving.metrics import kept, take

VLLM = """# HELP vllm:num_requests_running Requests in the running batch.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} 1.0
vllm:num_requests_running{engine="1",model_name="m"} 2.0
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{engine="0"} 0.25
vllm:kv_cache_usage_perc{engine="1"} 0.75
# TYPE vllm:prefix_cache_hits_total counter
vllm:prefix_cache_hits_total{engine="0"} 640.0
vllm:prefix_cache_hits_created{engine="0"} 1.7e+09
# TYPE vllm:e2e_request_latency_seconds histogram
vllm:e2e_request_latency_seconds_bucket{le="+Inf"} 3.0
vllm:e2e_request_latency_seconds_count 3.0
vllm:e2e_request_latency_seconds_sum 0.5
# TYPE process_open_fds gauge
process_open_fds 7.0
"""
RAY = 'ray_vllm_num_requests_waiting{WorkerId="w"} 4.0\n'
LLAMA = "# TYPE llamacpp:requests_processing gauge\nllamacpp:requests_processing 1\n"


def test_what_explains_speed_is_kept_and_engines_are_put_together() -> None:
    assert kept(VLLM) == {
        "num_requests_running": 3.0,
        "kv_cache_usage_perc": 0.75,
        "prefix_cache_hits_total": 640.0,
    }


def test_other_servers_names_are_known() -> None:
    assert kept(RAY) == {"num_requests_waiting": 4.0}
    assert kept(LLAMA) == {"requests_processing": 1.0}


def test_a_page_that_is_none_is_an_error() -> None:
    with pytest.raises(ValueError):
        kept("<html>not found</html>")


async def test_a_sample_names_its_replica_and_time() -> None:
    async def metrics(_: web.Request) -> web.Response:
        return web.Response(text=RAY)

    app = web.Application()
    app.router.add_get("/metrics", metrics)
    async with TestServer(app) as server:
        url = str(server.make_url("/metrics"))
        (sample,) = await asyncio.to_thread(take, url)
        with pytest.raises(OSError):
            await asyncio.to_thread(take, str(server.make_url("/none")))
    assert (sample.replica, sample.metric, sample.value) == (
        url.removeprefix("http://").removesuffix("/metrics"),
        "num_requests_waiting",
        4,
    )
    assert sample.time.tzinfo is not None
    with pytest.raises(OSError):
        take(url)
