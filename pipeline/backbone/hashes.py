"""The SHA-256 of each request's prompt, at the cost of what is new in it."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from typing import Any

from pipeline.protocols import Message, Request

_REMEMBERED = 4_096  # episodes


class PromptHashes:
    """Hashes prompts that mostly only grow: what an episode's last one began with is not read again."""

    def __init__(self) -> None:
        self._last: OrderedDict[str, tuple[tuple[Message, ...], Any]] = OrderedDict()

    def sha256(self, request: Request) -> str:
        """Return the hash of the request's messages, as the JSON array in which they are sent.

        The last message's tail is another in the next request (contract 5.3): the state is kept before it.
        """
        before, last = request.messages[:-1], request.messages[-1:]
        known, digest = self._last.get(request.episode, ((), hashlib.sha256(b"[")))
        if not _begins(before, known):
            known, digest = (), hashlib.sha256(b"[")
        digest = digest.copy()
        for message in before[len(known) :]:
            digest.update(message.encoded)
            digest.update(b",")
        self._last[request.episode] = before, digest
        self._last.move_to_end(request.episode)
        if len(self._last) > _REMEMBERED:
            self._last.popitem(last=False)
        whole = digest.copy()
        whole.update(b",".join(message.encoded for message in last) + b"]")
        return str(whole.hexdigest())

    def forget(self, episode: str) -> None:
        """Let go of an episode that asks no more."""
        self._last.pop(episode, None)


def _begins(messages: tuple[Message, ...], known: tuple[Message, ...]) -> bool:
    """Whether `messages` begins with `known`; mostly these are the same objects."""
    return len(messages) >= len(known) and all(
        one is other or one == other for one, other in zip(messages, known, strict=False)
    )
