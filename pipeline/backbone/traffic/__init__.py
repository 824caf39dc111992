"""Which replica a request goes to, and when: one place decides it for all episodes that share an endpoint.

An episode is given a replica by its first request, the one with the most room in its KV cache, and stays
there until that replica is away: its prefix cache is there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

MOVE_AFTER = 2
"""Failures of a request at its episode's replica after which it tries another, though that may be there."""


@dataclass(frozen=True)
class Grant:
    """Leave to send one request of `episode` to the replica at `url`.

    `free`: the replica's KV cache is unknown and nobody waits for it, so that the episode's next requests
    need not ask for a while, until one of them fails.
    """

    number: int
    episode: str
    url: str
    free: bool = False


@dataclass(frozen=True)
class End:
    """How a request that had a grant ended.

    `there`: the replica answered it, with whatever. `away`: it couldn't be reached, or hung. Neither, if the
    request was given up. `prompt`: the tokens of its prompt, as the server counted them, or 0.
    """

    there: bool = False
    away: bool = False
    prompt: int = 0


class Traffic(Protocol):
    """Hands out grants."""

    async def acquire(self, episode: str, tokens: int, avoid: frozenset[str] = frozenset()) -> Grant:
        """Wait for leave to send a prompt of about so many tokens, to a replica outside `avoid` if possible.

        Raises `BackboneUnavailable` once no replica could be reached for longer than the client's patience.
        """
        ...

    def release(self, grant: Grant, end: End) -> None:
        """Give a grant back. Every grant must be."""
        ...

    def ended(self, episode: str) -> None:
        """The episode asks no more: its place, and any grant of it that is left, are free."""
        ...
