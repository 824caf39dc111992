"""What of the model's context window a prompt takes, and what is left for the reply."""

from __future__ import annotations

import re
from collections import OrderedDict

from pipeline.protocols import Request

LEAST = 256
"""Tokens that are asked for whatever the window leaves: to refuse the prompt is then the server's part."""
_MARGIN = 64  # tokens
_UNSEEN_MARGIN = 0.1  # of the tokens that are only estimated
_TOKENS_A_BYTE = 0.25  # before the server has counted anything
_REMEMBERED = 4_096  # episodes

# How servers say what they take. Each names its numbers so that `_left` can tell.
_SAID = tuple(
    re.compile(pattern)
    for pattern in (
        r"context length is (?P<window>\d+) tokens and your request has (?P<prompt>\d+) input",  # vLLM
        r"context length is (?P<window>\d+) tokens\W+However, you requested \d+ tokens "
        r"\((?P<prompt>\d+) in the messages",  # OpenAI, older vLLM
        r"supports at most (?P<most>\d+) completion tokens",  # OpenAI
        r"max_tokens: \d+ > (?P<most>\d+)",  # Anthropic
        r"exceed context limit: (?P<prompt>\d+) \+ \d+ > (?P<window>\d+)",  # Anthropic
    )
)


def fitting(most: int, window: int | None, prompt: int, unseen: int = 0) -> int:
    """Return how many tokens to ask for: `most`, or what a prompt of so many tokens leaves of the window.

    `unseen` of the prompt's tokens are only estimated. Never less than `LEAST`, unless `most` is.
    """
    if window is None:
        return most
    return min(most, max(LEAST, window - prompt - _MARGIN - int(unseen * _UNSEEN_MARGIN)))


def corrected(said: str, sent: int) -> int | None:
    """Return the `max_tokens` that a refusal's own numbers leave, if it is of use and less than was sent."""
    for pattern in _SAID:
        if found := pattern.search(said):
            numbers = {name: int(value) for name, value in found.groupdict().items()}
            left = numbers.get("most", numbers.get("window", 0) - numbers.get("prompt", 0))
            return left if min(LEAST, sent) <= left < sent else None
    return None


class PromptTokens:
    """Estimates a prompt's tokens: what the server counted for the episode's last one, and what is new."""

    def __init__(self) -> None:
        self._ratio = _TOKENS_A_BYTE
        self._last: OrderedDict[str, tuple[int, int]] = OrderedDict()  # bytes and tokens, by episode

    def estimate(self, episode: str, size: int) -> tuple[int, int]:
        """Return the tokens of a prompt of `size` bytes, and how many of them the server hasn't counted."""
        known, tokens = self._last.get(episode, (0, 0))
        if known > size:  # compacted, or another conversation of the same episode
            known, tokens = 0, 0
        unseen = int((size - known) * self._ratio)
        return tokens + unseen, unseen

    def counted(self, episode: str, size: int, tokens: int) -> None:
        """Take down what the server counted."""
        if not tokens or not size:
            return
        self._ratio = tokens / size
        self._last[episode] = (size, tokens)
        self._last.move_to_end(episode)
        if len(self._last) > _REMEMBERED:
            self._last.popitem(last=False)


def prompt_bytes(request: Request) -> int:
    """The size of a request's messages as they are sent."""
    return sum(len(message.encoded) for message in request.messages)
