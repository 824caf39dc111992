"""What a request that passes the gateway was sent with, as the table `requests` has it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

_PROMPT = ("system", "instructions", "messages", "input")
_SAMPLING = (
    "temperature", "top_p", "top_k", "min_p", "n", "stop", "stop_sequences", "frequency_penalty",
    "presence_penalty", "repetition_penalty", "max_tokens", "max_completion_tokens", "max_output_tokens",
    "reasoning", "reasoning_effort", "thinking",
)  # fmt: skip


@dataclass(frozen=True)
class Sent:
    """The seed, how else the reply is sampled (JSON), and the SHA-256 of the prompt.

    The prompt is the array of messages; where an API has a system prompt apart, an array of both.
    """

    seed: int | None
    sampling: str
    prompt_sha256: str


def sent(body: Mapping[str, Any]) -> Sent:
    """Read the body of a request of any of the three APIs."""
    seed = body.get("seed")
    sampling = {name: body[name] for name in _SAMPLING if body.get(name) is not None}
    prompt = [body[name] for name in _PROMPT if body.get(name) is not None]
    return Sent(
        seed if isinstance(seed, int) else None,
        orjson.dumps(sampling, option=orjson.OPT_SORT_KEYS).decode(),
        hashlib.sha256(orjson.dumps(prompt[0] if len(prompt) == 1 else prompt)).hexdigest(),
    )
