"""What a server does with a request's options: streams, JSON schemas, tools, seeds, repeated prompts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from uuid import uuid4

import orjson

from pipeline.backbone.failures import Failure
from pipeline.backbone.probing.asking import Asking
from pipeline.backbone.transport import Answer
from pipeline.backbone.wire import Reply

Seen = tuple[str, bool | None, str, str]
"""A finding but for what it is of: name, works, found, remedy."""

_READY = "Reply with the word ready."
_FEW = 16  # tokens
_SENTENCE = "Write one sentence about something unusual."
_SENTENCE_TOKENS = 48
_SEED = 11
_WORDS = 1_700  # of a prompt that fills more than the 1,024 tokens from which on some servers cache
_CAN_BE_CUT = "it thought for as long as it could: ask with more backbone.max_tokens"


async def streaming(asking: Asking) -> Seen:
    """Whether replies come as they are generated, with their usage."""
    answer = await asking.ask(_READY, _FEW, stream=True)
    reply = answer.reply
    off = "set backbone.client.stream=false: replies are awaited whole, and a stall is seen late"
    if isinstance(reply, Failure):
        return "streaming", None, f"refused: {reply}", off
    if answer.first_token_s is None:
        return "streaming", None, "replies come whole", off
    if reply.usage is None:
        return "streaming", None, "streams say no token usage", f"{off}, but counted"
    return "streaming", True, f"first token after {answer.first_token_s:.2f} s", ""


def usage(reply: Reply) -> Seen:
    """Whether the server counts tokens."""
    if reply.usage is None or not reply.usage.prompt:
        remedy = "costs and tokens of a run will be 0: have the server report `usage`"
        return "usage", None, "no token usage is reported", remedy
    return "usage", True, f"{reply.usage.prompt} prompt and {reply.usage.completion} completion tokens", ""


async def json_schema(asking: Asking) -> Seen:
    """Whether a schema that no model would follow by itself is enforced."""
    name = f"k{uuid4().hex[:6]}"
    schema = {
        "type": "object",
        "properties": {name: {"type": "string", "enum": ["v1", "v2"]}},
        "required": [name],
        "additionalProperties": False,
    }
    remedy = (
        "operations are parsed from plain text, with more refused turns: serve the model with structured "
        "output (vLLM: on by default), or set harness.action.mode=text"
    )
    reply = (await asking.ask(_READY, asking.roomy, schema=schema)).reply
    if isinstance(reply, Failure):
        return "JSON schema", None, f"refused: {reply}", remedy
    if _follows(reply.text, name):
        return "JSON schema", True, "enforced", ""
    if reply.finish == "length" and not reply.text.strip():
        return "JSON schema", None, "no reply to tell by", _CAN_BE_CUT
    return "JSON schema", None, f"ignored: the reply was {reply.text[:60]!r}", remedy


async def tools(asking: Asking, needed: bool) -> Seen:
    """Whether the server takes tools and makes native calls of what the model writes."""
    function = {
        "name": "report",
        "description": "Reports a number.",
        "parameters": {
            "type": "object",
            "properties": {"value": {"type": "integer"}},
            "required": ["value"],
            "additionalProperties": False,
        },
    }
    remedy = (
        "harness.action.mode=tools needs them: serve with the model's parser (vLLM: "
        "--enable-auto-tool-choice --tool-call-parser NAME), or keep harness.action.mode=json_schema"
    )
    asked = "Call the tool `report` with the value 7."
    answer = await asking.ask(asked, asking.roomy, tools=({"type": "function", "function": function},))
    reply = answer.reply
    if isinstance(reply, Failure):
        return "native tools", False if needed else None, f"refused: {reply}", remedy
    if reply.tool_calls:
        call = reply.tool_calls[0]
        return "native tools", True, f"called {call.name}({call.arguments})", ""
    return "native tools", None, f"taken, but no call came of it: {reply.text[:60]!r}", remedy


async def seeds(asking: Asking) -> Seen:
    """Whether the same seed gives the same text, at the temperatures 0 and 1."""
    if "seed" in asking.sampling.extra and asking.sampling.extra["seed"] is None:
        remedy = "episodes of the same seed differ: run several seeds, and compare means"
        return "seed", None, "none is sent: the model's options take it out", remedy
    said = [await _repeated(asking, temperature) for temperature in (0.0, 1.0)]
    found = "; ".join(text for text, _ in said)
    told = [same for _, same in said if same is not None]
    remedy = (
        "the same episode may come out otherwise: run several seeds, and compare means (vLLM: "
        "serving.batch_invariant=true)"
    )
    return "seed", True if told and all(told) else None, found, remedy


async def _repeated(asking: Asking, temperature: float) -> tuple[str, bool | None]:
    """What comes of asking the same twice, and whether it is the same; None where it is refused."""
    sampling = replace(asking.sampling, temperature=temperature)
    answers = [await asking.ask(_SENTENCE, _SENTENCE_TOKENS, sampling=sampling, seed=_SEED) for _ in range(2)]
    first, second = map(_text, answers)
    if first is None or second is None:
        return f"temperature {temperature:g} is refused", None
    same = "the same" if first == second else "another"
    return f"temperature {temperature:g}: same seed, {same} reply", first == second


async def prefix_cache(asking: Asking) -> Seen:
    """Whether a long prompt that is sent again is said to come from the cache."""
    words = " ".join(_words(uuid4().hex[:8]))
    prompt = f"{words}\n\n{_READY}"
    replies = [(await asking.ask(prompt, _FEW)).reply for _ in range(2)]
    again = replies[1]
    if isinstance(again, Failure):
        return "cached tokens", None, f"a prompt of {_WORDS:,} words failed: {again}", again.fault.remedy
    counted = again.usage
    if counted and counted.cached:
        found = f"{counted.cached:,} of the {counted.prompt:,} tokens of a prompt sent twice"
        return "cached tokens", True, found, ""
    return (
        "cached tokens",
        None,
        "none reported of a prompt sent twice",
        "each turn may pay for its whole history: start the server with prefix caching, and with cached "
        "tokens in its usage (vLLM: --enable-prefix-caching --enable-prompt-tokens-details)",
    )


def _words(first: str) -> Iterator[str]:
    """Words that no earlier probe began with."""
    yield first
    said = ("table", "total", "outlays", "of", "the", "month", "and", "year", "stand", "below")
    for number in range(_WORDS - 1):
        yield said[number * number % 7 + number % 4]


def _follows(text: str, name: str) -> bool:
    try:
        value = orjson.loads(text)
    except ValueError:
        return False
    return isinstance(value, dict) and value.keys() == {name} and value[name] in ("v1", "v2")


def _text(answer: Answer) -> str | None:
    """All that the model wrote; None if the request failed."""
    if isinstance(answer.reply, Failure):
        return None
    return f"{answer.reply.reasoning or ''}\n{answer.reply.text}"
