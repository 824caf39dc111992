"""What traffic asks of a replica itself: a canary completion, its metrics, its context window."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import orjson

from pipeline.backbone.config import BackboneConfig
from pipeline.backbone.failures import Failure
from pipeline.backbone.serving import Endpoint
from pipeline.backbone.traffic.local import LocalTraffic
from pipeline.backbone.traffic.replica import Measured
from pipeline.backbone.transport import Transport
from pipeline.backbone.wire import Form
from pipeline.protocols import Message, Request, Sampling

_CANARY_TOKENS = 16
_METRIC = re.compile(r"^vllm:(\w+)(?:\{(.*)\})? (\d+(?:\.\d+)?(?:e[-+]?\d+)?)$", re.MULTILINE)
_BLOCKS = re.compile(r'(block_size|num_gpu_blocks)="(\d+)"')


@dataclass(frozen=True)
class Upstream:
    """The replicas of an endpoint, as traffic asks them."""

    transport: Transport
    backbone: BackboneConfig

    async def canary(self, url: str) -> bool:
        """Whether a small completion comes back in time, or at least an answer that is no breakdown."""
        sampling = self.backbone.sampling
        request = Request(
            (Message("user", "Reply with the word ready."),),
            _CANARY_TOKENS,
            sampling=Sampling(sampling.temperature, sampling.top_p, sampling.extra),
        )
        try:
            async with asyncio.timeout(self.backbone.traffic.canary_timeout):
                reply = (await self.transport.ask(url, request, Form())).reply
        except TimeoutError:
            return False
        return not isinstance(reply, Failure) or not (reply.fault.move and reply.fault.retry)

    async def look(self, url: str) -> Measured | None:
        """Return what a vLLM's metrics say; None for another server. Raises as `Transport.look` does."""
        text = await self.transport.look(f"{_root(url)}/metrics")
        return None if text is None or "vllm:" not in text else read_metrics(text)

    async def window(self, url: str) -> int | None:
        """Return the context window that the server names, in tokens. Raises as `Transport.look` does."""
        text = await self.transport.look(f"{url.rstrip('/')}/models")
        window = _max_model_len(text or "", self.transport.endpoint.model)
        if window is None and text is not None and "llamacpp" in text:
            window = _n_ctx(await self.transport.look(f"{_root(url)}/props") or "")
        return window


@asynccontextmanager
async def traffic_to(endpoint: Endpoint, backbone: BackboneConfig) -> AsyncIterator[LocalTraffic]:
    """Traffic to an endpoint, with connections of its own."""
    async with Transport(endpoint, backbone.client) as transport:
        upstream = Upstream(transport, backbone)
        async with LocalTraffic(endpoint, backbone, upstream.canary, upstream.look) as traffic:
            yield traffic


def read_metrics(text: str) -> Measured:
    """Read a vLLM's metrics, in Prometheus' text format; engines of one server are added up."""
    tokens, usage, preemptions = 0, 0.0, 0.0
    for name, labels, value in _METRIC.findall(text):
        if name == "cache_config_info":
            blocks = dict(_BLOCKS.findall(labels))
            tokens += int(blocks.get("block_size", 0)) * int(blocks.get("num_gpu_blocks", 0))
        elif name == "kv_cache_usage_perc":
            usage = max(usage, float(value))
        elif name == "num_preemptions_total":
            preemptions += float(value)
    return Measured(tokens or None, usage, preemptions)


def _root(url: str) -> str:
    return url.rstrip("/").removesuffix("/v1")


def _max_model_len(text: str, model: str) -> int | None:
    """The window of `model` in a list of models, as vLLM gives it."""
    try:
        models = {entry["id"]: entry.get("max_model_len") for entry in orjson.loads(text)["data"]}
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return _positive(models.get(model))


def _n_ctx(text: str) -> int | None:
    """The window of a llama.cpp server, from its properties."""
    try:
        return _positive(orjson.loads(text)["default_generation_settings"]["n_ctx"])
    except (ValueError, KeyError, TypeError):
        return None


def _positive(window: object) -> int | None:
    return window if isinstance(window, int) and window > 0 else None
