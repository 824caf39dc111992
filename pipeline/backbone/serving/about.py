"""What servers say of themselves: version, model, window, flags; for a run's record, and for a look."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import aiohttp
import orjson

from pipeline.backbone.config import ClientConfig
from pipeline.backbone.serving import Endpoint
from pipeline.backbone.transport import Transport, label

_PASSING = ("permission", "created")  # of a model's entry: other at each start, and about nothing


def about_servers(endpoint: Endpoint, client: ClientConfig) -> list[dict[str, Any]]:
    """Return what each replica of `endpoint` says of itself; one that can't be asked says so in `error`.

    Raises `ConfigError` when the environment lacks the API key that the endpoint asks for.
    """
    # In a thread: the caller may be inside an event loop of its own.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, _each(endpoint, client)).result()


async def _each(endpoint: Endpoint, client: ClientConfig) -> list[dict[str, Any]]:
    async with Transport(endpoint, client) as transport:
        return list(await asyncio.gather(*(_about(transport, url) for url in endpoint.urls)))


async def _about(transport: Transport, url: str) -> dict[str, Any]:
    try:
        return {"replica": label(url), **await about(transport, url)}
    except (aiohttp.ClientError, OSError) as error:
        return {"replica": label(url), "error": transport.redacted(f"{type(error).__name__}: {error}")}


async def about(transport: Transport, url: str) -> dict[str, Any]:
    """Return what the server at `url`, to `/v1`, says of itself: only what it does say.

    `model` and `models` are of `/v1/models`: the entry of the model that is asked for, and the names of all.
    `version` is vLLM's or llama.cpp's; `flags` what a vLLM in development mode says of its configuration.
    Raises `OSError` or `aiohttp.ClientError` if it can't be reached.
    """
    root = url.rstrip("/").removesuffix("/v1")
    entries = [entry for entry in _listed(await _looked(transport, f"{url.rstrip('/')}/models"), "data")]
    found: dict[str, Any] = {}
    if entries:
        found["models"] = [str(entry.get("id")) for entry in entries]
    for entry in entries:
        if entry.get("id") == transport.endpoint.model:
            found["model"] = {name: value for name, value in entry.items() if name not in _PASSING}
    version = await _looked(transport, f"{root}/version")
    if isinstance(version, dict) and "version" in version:
        found["version"] = version["version"]
        flags = await _looked(transport, f"{root}/server_info?config_format=json")
        if isinstance(flags, dict) and "vllm_config" in flags:  # beside it stands its environment: not ours
            found["flags"] = flags["vllm_config"]
    elif any(entry.get("owned_by") == "llamacpp" for entry in entries):
        properties = await _looked(transport, f"{root}/props")
        if isinstance(properties, dict) and "build_info" in properties:
            found["version"] = f"llama.cpp {properties['build_info']}"
    return found


async def _looked(transport: Transport, url: str) -> Any:
    """What is said there, without the key; None for what is no JSON, and for a look that takes too long."""
    try:
        text = await transport.look(url)
    except aiohttp.ConnectionTimeoutError:
        raise
    except TimeoutError:
        return None
    try:
        return None if text is None else orjson.loads(transport.redacted(text))
    except ValueError:
        return None


def _listed(body: Any, name: str) -> list[dict[str, Any]]:
    entries = body.get(name) if isinstance(body, dict) else None
    return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
