"""A backbone is ready when a real completion came back from it: health routes answer before models do."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from pipeline.backbone.client import ChatClient
from pipeline.backbone.config import BackboneConfig
from pipeline.backbone.serving import Endpoint
from pipeline.errors import ModelRequestFailed
from pipeline.protocols import Message, Request, Sampling

_MAX_TOKENS = 16


def first_completion(
    endpoint: Endpoint, backbone: BackboneConfig, *, timeout: float, patience: float = 0.0
) -> None:
    """Ask each of the endpoint's replicas, on its own, for a few tokens.

    A request may take `timeout` seconds, and is repeated for `patience` seconds while it fails.
    Raises `BackboneUnavailable` or `ModelRequestFailed`, as the client does.
    """
    # In a thread: the caller may be inside an event loop of its own (a notebook is).
    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, _complete_each(endpoint, backbone, timeout, patience)).result()


async def _complete_each(
    endpoint: Endpoint, backbone: BackboneConfig, timeout: float, patience: float
) -> None:
    client = replace(
        backbone.client, attempts=1, patience=patience, total_timeout=timeout, backoff=0.2, max_backoff=2.0
    )
    # That it isn't there yet is no news: no breaker, which would say so.
    traffic = replace(backbone.traffic, breaker_failures=1_000_000)
    sampling = Sampling(backbone.sampling.temperature, backbone.sampling.top_p, backbone.sampling.extra)
    request = Request((Message("user", "Reply with the word ready."),), _MAX_TOKENS, sampling=sampling)

    async def ask(url: str) -> None:
        async with ChatClient(
            replace(endpoint, urls=(url,)), replace(backbone, client=client, traffic=traffic)
        ) as alone:
            try:
                await alone.complete(request)
            except ModelRequestFailed as error:
                if error.kind != "empty":  # it did answer: a model may have nothing to say to this
                    raise

    await asyncio.gather(*(ask(url) for url in endpoint.urls))
