"""Single requests to one replica, each sent once: a probe has no patience."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pipeline.backbone.config import BackboneConfig, ClientConfig
from pipeline.backbone.failures import Failure
from pipeline.backbone.transport import Answer, Transport
from pipeline.backbone.wire import Form, Reply
from pipeline.protocols import Message, Request, Sampling

LENGTHS = ("max_tokens", "max_completion_tokens")
_CONNECT, _SILENCE, _TOTAL = 5.0, 60.0, 120.0  # seconds
_REASONED = 1_024
"""Tokens of a reply that may hold thoughts before it comes to what is asked."""


class Gone(Exception):
    """The replica can't be reached any more, or hangs: it is asked nothing else."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(str(failure))
        self.failure = failure


def impatient(client: ClientConfig) -> ClientConfig:
    """The client's timeouts, as far as they suit a look."""
    return replace(
        client,
        connect_timeout=min(client.connect_timeout, _CONNECT),
        first_byte_timeout=min(client.first_byte_timeout, _SILENCE),
        stall_timeout=min(client.stall_timeout, _SILENCE),
        total_timeout=min(client.total_timeout, _TOTAL),
    )


@dataclass(frozen=True)
class Asking:
    """Asks the replica at `url`."""

    transport: Transport
    backbone: BackboneConfig
    url: str

    @property
    def sampling(self) -> Sampling:
        """As the backbone's configuration has it."""
        sampling = self.backbone.sampling
        return Sampling(sampling.temperature, sampling.top_p, sampling.extra)

    @property
    def roomy(self) -> int:
        """Tokens for a reply that may think first."""
        return min(self.backbone.max_tokens, _REASONED)

    async def ask(
        self, prompt: str, max_tokens: int, *, stream: bool = False, schema: Mapping[str, Any] | None = None,
        tools: tuple[Mapping[str, Any], ...] = (), sampling: Sampling | None = None, seed: int = 0,
    ) -> Answer:  # fmt: skip
        """Return what comes of one request. Raises `Gone` if it is that the replica isn't there."""
        request = Request(
            (Message("user", prompt),),
            max_tokens,
            schema=schema,
            tools=tools,
            sampling=sampling or self.sampling,
            seed=seed,
        )
        form = Form(schema=schema is not None, stream=stream, max_tokens=max_tokens)
        answer = await self.transport.ask(self.url, request, form)
        if isinstance(answer.reply, Failure) and answer.reply.kind == "connection":
            # Some servers close a connection that they said to keep: a new one tells.
            answer = await self.transport.ask(self.url, request, form)
        if isinstance(answer.reply, Failure) and (answer.reply.fault.away or answer.reply.kind == "timeout"):
            raise Gone(answer.reply)
        return answer

    async def ask_for(self, max_tokens: int) -> Reply | Failure:
        """Return what comes of a request for so many tokens, whatever the configuration caps them to."""
        extra = {
            name: max_tokens if name in LENGTHS and value is not None else value
            for name, value in self.backbone.sampling.extra.items()
        }
        sampling = replace(self.sampling, extra=extra)
        return (await self.ask("Reply with the word ready.", max_tokens, sampling=sampling)).reply
