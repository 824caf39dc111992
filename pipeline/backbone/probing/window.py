"""The context window: what the server says it is, and how much of an episode's history it holds."""

from __future__ import annotations

import re

import aiohttp

from pipeline.backbone.failures import Failure
from pipeline.backbone.probing.asking import Asking
from pipeline.backbone.probing.features import Seen
from pipeline.backbone.serving.fit import Fit, History
from pipeline.backbone.traffic.upstream import Upstream

_TOO_MANY = 100_000_000  # tokens of a reply, which no window has: the refusal says what it has
_NAMED = re.compile(
    r"(?:context|model) length (?:is|of) (?P<is>[\d,]+)"  # vLLM, Ray Serve, OpenAI
    r"|context (?:window|size) (?:is|of|\()\s?(?P<of>[\d,]+)"  # OpenAI, llama.cpp
    r"|exceed context limit: .{0,60}> (?P<limit>[\d,]+)"  # Anthropic
    r'|"n_ctx":\s*(?P<n_ctx>\d+)',  # llama.cpp
)


def named_window(said: str) -> int | None:
    """Return the context window that a server's refusal names, in tokens."""
    found = _NAMED.search(said)
    value = next((value for value in found.groups() if value), "") if found else ""
    return int(value.replace(",", "")) if value.replace(",", "") else None


async def window(asking: Asking, history: History) -> Seen:
    """How long the window is, how that was found, and the share of `history` that fits."""
    configured = asking.backbone.window
    found, how = await _found(asking)
    if configured and found and configured > found:
        return (
            "window",
            False,
            f"backbone.window is {configured:,} tokens, the server's {found:,} ({how})",
            "set backbone.window=null, or serve the model with a longer window",
        )
    size = configured or found
    if size is None:
        remedy = "set backbone.window=TOKENS: replies are then cut to what it leaves, and overflow is rarer"
        return "window", None, "the server doesn't say", remedy
    how = "backbone.window" if configured else how
    fit = Fit(size, asking.backbone.max_tokens, history)
    if not fit.room:
        return (
            "window",
            False,
            f"{size:,} tokens ({how}): {fit.history.fixed:,} of instructions and document map and "
            f"{fit.reply:,} of a reply leave nothing for a history",
            "serve the model with a longer window, or lower backbone.max_tokens and "
            "harness.document_map_tokens",
        )
    remedy = "episodes that outgrow it fail, unless harness.profile=extended compacts their history"
    return "window", True if fit.share >= 1 else None, f"{how}: {fit}", remedy


async def _found(asking: Asking) -> tuple[int | None, str]:
    try:
        named = await Upstream(asking.transport, asking.backbone).window(asking.url)
    except (aiohttp.ClientError, OSError):  # it answers completions: only this it doesn't say
        named = None
    if named is not None:
        return named, "as the server's list of models or properties says"
    reply = await asking.ask_for(_TOO_MANY)
    if isinstance(reply, Failure):
        return named_window(reply.message), "as its refusal of too long a reply says"
    return None, ""
