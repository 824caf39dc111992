"""All probes of an endpoint, one replica after the other; the first that isn't there is said at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from pipeline.backbone.config import BackboneConfig
from pipeline.backbone.failures import FAULTS, Failure
from pipeline.backbone.probing import features
from pipeline.backbone.probing.asking import Asking, Gone, impatient
from pipeline.backbone.probing.features import Seen
from pipeline.backbone.probing.findings import Finding
from pipeline.backbone.probing.window import window
from pipeline.backbone.serving import Endpoint
from pipeline.backbone.serving.about import about
from pipeline.backbone.serving.fit import History
from pipeline.backbone.transport import Transport, label


@dataclass(frozen=True)
class Needs:
    """What an arm asks of its backbone: the history that it may come to, and whether it calls tools."""

    history: History = field(default_factory=History)
    tools: bool = False


def probe(
    of: str, endpoint: Endpoint, backbone: BackboneConfig, needs: Needs | None = None
) -> Iterator[Finding]:
    """Yield what is found of each replica; of the first that answers, everything, where there are `needs`.

    Raises `ConfigError` when the environment lacks the API key that the endpoint asks for.
    """
    for url in endpoint.urls:
        name = of if len(endpoint.urls) == 1 else f"{of} {label(url)}"
        seen = asyncio.run(_collected(endpoint, backbone, url, needs))
        for one in seen:
            yield Finding(name, *one)
        if any(one[0] == "completion" and one[1] for one in seen):
            needs = None


async def _collected(
    endpoint: Endpoint, backbone: BackboneConfig, url: str, needs: Needs | None
) -> list[Seen]:
    async with Transport(endpoint, impatient(backbone.client)) as transport:
        seen: list[Seen] = []
        try:
            async for one in _probed(Asking(transport, backbone, url), needs):
                seen.append(one)
        except Gone as error:
            name = "answers" if seen else "reachable"
            seen.append((name, False, f"{label(url)}: {error}", error.failure.fault.remedy))
        except (aiohttp.ClientError, OSError) as error:
            found = transport.redacted(f"{label(url)}: {type(error).__name__}: {error}")
            seen.append(("reachable", False, found, FAULTS["connection"].remedy))
        return seen


async def _probed(asking: Asking, needs: Needs | None) -> AsyncIterator[Seen]:
    said = await about(asking.transport, asking.url)
    yield "reachable", True, _server(label(asking.url), said), ""
    yield _listed(asking.transport.endpoint.model, said)
    reply = (await asking.ask("Reply with the word ready.", 16)).reply
    if isinstance(reply, Failure):
        works = reply.kind in ("empty", "refused")
        yield "completion", works, f"{reply}", reply.fault.remedy
        return
    yield "completion", True, f"{reply.text[:60]!r} by {reply.model or asking.transport.endpoint.model}", ""
    if needs is None:
        return
    yield features.usage(reply)
    yield await features.streaming(asking)
    yield await features.json_schema(asking)
    yield await features.tools(asking, needs.tools)
    yield await features.seeds(asking)
    yield await features.prefix_cache(asking)
    yield await window(asking, needs.history)


def _server(at: str, said: dict[str, Any]) -> str:
    return f"{at}, version {said['version']}" if "version" in said else at


def _listed(model: str, said: dict[str, Any]) -> Seen:
    models = said.get("models")
    if models is None:
        return "model", None, "the server lists no models", "compare backbone.model with its own name for it"
    if model in models:
        return "model", True, model, ""
    shown = ", ".join(models[:5]) + (" …" if len(models) > 5 else "")
    return "model", None, f"{model} is not among the server's: {shown}", f"backbone.model={models[0]}, maybe"
