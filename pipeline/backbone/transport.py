"""One HTTP exchange with a replica: its timeouts, its key, and what came of it."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from random import Random
from types import TracebackType
from typing import Self

import aiohttp
from yarl import URL

from pipeline.backbone.config import ClientConfig
from pipeline.backbone.failures import Asked, Failure, classify
from pipeline.backbone.serving import Endpoint
from pipeline.backbone.stream import Assembly, CutStream, StreamError
from pipeline.backbone.wire import Form, Reply, decode, encode
from pipeline.errors import ConfigError
from pipeline.protocols import Request, ToolCall

LARGEST = 32 * 2**20
"""Bytes of a reply that are read; a model that is asked for so many tokens says less."""
_SAID = 500  # characters of a server's own message that an error repeats
_HEAD = 2 * _SAID  # bytes that are looked through for the key before they are cut to so many
_AFTER_DONE = 1.0  # seconds for which a stream that has said its last may stay open
_LOOK_SECONDS = 10.0  # for a look at what a server says of itself


@dataclass(frozen=True)
class Answer:
    """What came of an exchange. `first_token_s`: seconds from sending to the first token of a stream."""

    reply: Reply | Failure
    status: int | None = None
    first_token_s: float | None = None


class Transport:
    """Connections to the replicas of one endpoint; use it as an async context manager.

    Raises `ConfigError` when the environment lacks the API key that the endpoint asks for.
    """

    def __init__(self, endpoint: Endpoint, config: ClientConfig) -> None:
        self.endpoint = endpoint
        self._config = config
        self._key = _key(endpoint.api_key_env)
        self._open: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._open = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),  # as many as there are episodes
            timeout=aiohttp.ClientTimeout(
                total=self._config.total_timeout, sock_connect=self._config.connect_timeout
            ),
            trust_env=not self.endpoint.node_local,  # a proxy is of no use on loopback
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._open is not None:
            await self._open.close()

    @property
    def session(self) -> aiohttp.ClientSession:
        """The connections. Raises `RuntimeError` outside of the context."""
        if self._open is None:
            raise RuntimeError("it is an async context manager: enter it first")
        return self._open

    def authorization(self) -> dict[str, str]:
        """The header that holds the key, if there is one."""
        return {} if self._key is None else {"Authorization": f"Bearer {self._key}"}

    def redacted(self, text: str) -> str:
        """The text without the key, which some servers repeat."""
        return text.replace(self._key, "[key]") if self._key else text

    def _clean(self, reply: Reply | Failure) -> Reply | Failure:
        """The reply without the key, which a server may repeat in any part of it."""
        if self._key is None or isinstance(reply, Failure):
            return reply  # what a failure says is redacted where it is made
        calls = tuple(
            ToolCall(*map(self.redacted, (call.id, call.name, call.arguments))) for call in reply.tool_calls
        )
        return replace(
            reply,
            text=self.redacted(reply.text),
            reasoning=reply.reasoning and self.redacted(reply.reasoning),
            refusal=reply.refusal and self.redacted(reply.refusal),
            finish=self.redacted(reply.finish),
            model=reply.model and self.redacted(reply.model),
            tool_calls=calls,
        )

    async def ask(self, url: str, request: Request, form: Form) -> Answer:
        """Send a request and read the reply. Whatever goes wrong is a `Failure` in the answer."""
        data = encode(request, self.endpoint.model, form)
        reading = _Reading(self._config, form.stream)
        asked = Asked(
            form.schema,
            bool(request.tools),
            form.stream,
            any(message.tool_calls for message in request.messages),
        )
        try:
            reply = await self._exchange(url, data, reading, asked)
        except StreamError as error:
            said = self.redacted(str(error))
            reply = Failure(classify(error.status, said, asked), f"in the stream: {said[:_SAID]}")
        except CutStream as error:
            reply = Failure("connection", str(error))
        except (aiohttp.ClientError, OSError) as error:  # a timeout among them
            reply = reading.whole() or Failure(reading.failed(error), self.redacted(_described(error)))
        except ValueError as error:
            head = self.redacted(reading.body[:_HEAD].decode("utf-8", "replace"))[:_SAID]
            said = f"{self.redacted(_described(error)).splitlines()[0]} at {head!r}"
            reply = Failure("malformed", f"no chat completion: {said}")
        return Answer(self._clean(reply), reading.status, reading.first_token_s)

    async def _exchange(self, url: str, data: bytes, reading: _Reading, asked: Asked) -> Reply | Failure:
        headers = {"Content-Type": "application/json", **self.authorization()}
        async with (
            reading.patience(),
            self.session.post(
                f"{url.rstrip('/')}/chat/completions", data=data, headers=headers, allow_redirects=False
            ) as response,
        ):
            await reading.read(response)
            if response.status != 200:
                said = self.redacted(reading.body.decode("utf-8", "replace").strip())
                kind = classify(response.status, said, asked)
                return Failure(
                    kind, f"status {response.status}: {said[:_SAID]}", retry_after(response.headers)
                )
        return reading.assembly.reply() if reading.assembly else decode(bytes(reading.body))

    async def look(self, url: str) -> str | None:
        """Return what a replica says at `url`, or None if it says nothing there.

        Raises `OSError` or `aiohttp.ClientError` if it couldn't be reached.
        """
        timeout = aiohttp.ClientTimeout(total=_LOOK_SECONDS, sock_connect=self._config.connect_timeout)
        headers = self.authorization()
        async with self.session.get(url, headers=headers, timeout=timeout, allow_redirects=False) as response:
            if response.status != 200:
                return None
            return (await bounded(response)).decode("utf-8", "replace")


class _Reading:
    """What has been read of one reply, and how long its next bytes may take."""

    def __init__(self, config: ClientConfig, stream: bool) -> None:
        self._config = config
        self._started = time.monotonic()
        self._limit = asyncio.timeout(config.first_byte_timeout if stream else None)
        self._begun = False
        self.assembly: Assembly | None = None
        self.body = bytearray()
        self.status: int | None = None
        self.first_token_s: float | None = None

    def patience(self) -> asyncio.Timeout:
        """The limit on the wait for the next bytes."""
        return self._limit

    async def read(self, response: aiohttp.ClientResponse) -> None:
        """Read the reply to its end. Raises `ValueError` if it is larger than any reply is."""
        self.status, clock, size = response.status, asyncio.get_running_loop().time, 0
        if response.status == 200 and response.content_type == "text/event-stream":
            self.assembly = Assembly()
        async for chunk in response.content.iter_any():
            self._begun, size = True, size + len(chunk)
            if size > LARGEST:
                raise ValueError(f"it has more than {LARGEST} bytes")
            self._take(chunk)
            done = self.assembly is not None and self.assembly.done
            self._limit.reschedule(clock() + (_AFTER_DONE if done else self._config.stall_timeout))

    def whole(self) -> Reply | None:
        """The reply, if the stream had said its last before it was cut or hung."""
        return self.assembly.reply() if self.assembly and self.assembly.done else None

    def failed(self, error: OSError | aiohttp.ClientError) -> str:
        """The kind of failure that `error` is."""
        return timed_out(error, self._limit, self._begun)

    def _take(self, chunk: bytes) -> None:
        if self.assembly is None:
            self.body += chunk
            return
        self.body[:] = chunk[:_HEAD]  # for an error's message
        self.assembly.feed(chunk)
        if self.assembly.begun and self.first_token_s is None:
            self.first_token_s = time.monotonic() - self._started


async def bounded(response: aiohttp.ClientResponse) -> bytes:
    """Return the body, or its first `LARGEST` bytes."""
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) >= LARGEST:
            break
    return bytes(body[:LARGEST])


def label(url: str) -> str:
    """The replica's name in records and errors: without user, password or query."""
    parts = URL(url)
    return f"{parts.host}:{parts.port}{parts.path.removesuffix('/v1').rstrip('/')}"


def _key(variable: str | None) -> str | None:
    if variable is None:
        return None
    key = os.environ.get(variable, "").strip()
    if not key:
        raise ConfigError(f"serving.api_key_env: the environment variable {variable} is not set: export it")
    if not key.isprintable() or not key.isascii():
        raise ConfigError(f"serving.api_key_env: {variable} holds characters that no API key has")
    return key


def _described(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def timed_out(error: BaseException, limit: asyncio.Timeout, begun: bool) -> str:
    """The kind of failure that an `OSError` or client error is; of a timeout, which one has passed."""
    if not isinstance(error, TimeoutError) or isinstance(error, aiohttp.ConnectionTimeoutError):
        return "connection"
    if limit.expired():
        return "stall" if begun else "first_byte"
    return "timeout"


def pause(config: ClientConfig, failure: Failure, tries: int, random: Random) -> float:
    """Seconds until the next attempt: full jitter, on top of what the server asks for."""
    if failure.retry_after is not None:
        return min(failure.retry_after, config.patience) + random.uniform(0, config.backoff)
    return random.uniform(0, min(config.max_backoff, config.backoff * 2.0 ** min(tries - 1, 32)))


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds of a Retry-After header, given as a number or as a date."""
    value = headers.get("Retry-After", "")
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None
