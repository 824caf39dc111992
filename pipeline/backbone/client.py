"""The chat client: one interface to every OpenAI-compatible server, with its retries and its records."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from random import Random
from types import TracebackType
from typing import Self

import aiohttp
from yarl import URL

from pipeline.backbone.config import BackboneConfig
from pipeline.backbone.failures import Failure, classify
from pipeline.backbone.replicas import Replicas
from pipeline.backbone.serving import Endpoint
from pipeline.backbone.wire import Reply, decode, encode
from pipeline.errors import BackboneUnavailable, ConfigError, ModelRequestFailed
from pipeline.protocols import Completion, Request, RequestRecord, Usage

_log = logging.getLogger(__name__)
_SAID = 500  # characters of a server's own message that an error repeats


class ChatClient:
    """A `Backbone` over HTTP; use it as an async context manager, within one event loop.

    Raises `ConfigError` when the environment lacks the API key that the endpoint asks for.
    """

    def __init__(self, endpoint: Endpoint, backbone: BackboneConfig) -> None:
        self._endpoint = endpoint
        self._config = backbone.client
        self._replicas = Replicas(endpoint.urls)
        self._key = _key(endpoint.api_key_env)
        self._plain = False  # the server takes no JSON schema
        self._counted = True  # the server reports usage
        self._random = Random()
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),  # as many as there are episodes
            timeout=aiohttp.ClientTimeout(
                total=self._config.total_timeout, sock_connect=self._config.connect_timeout
            ),
            trust_env=not self._endpoint.node_local,  # a proxy is of no use on loopback
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()

    async def complete(self, request: Request) -> Completion:
        """Return the reply; one that ended for length is returned as it is.

        Raises `ModelRequestFailed` (what failed is the model's or the request's fault) or, after the
        configured retries, `BackboneUnavailable`; both hold the record of every exchange.
        """
        started = time.monotonic()
        records: list[RequestRecord] = []
        failed: set[str] = set()  # replicas
        schema = request.schema is not None and not self._plain
        tries = 0
        while True:
            url = self._replicas.choose(request.episode, failed)
            reply, record = await self._exchange(url, request, schema)
            records.append(record)
            if isinstance(reply, Reply):
                self._replicas.answered(request.episode, url)
                if request.schema is not None and not schema:
                    self._remember_plain(url)
                return Completion(
                    text=reply.text,
                    reasoning=reply.reasoning,
                    finish=reply.finish,
                    usage=record.usage,
                    model=record.model,
                    replica=record.replica,
                    seconds=time.monotonic() - started,
                    requests=tuple(records),
                    tool_calls=reply.tool_calls,
                )
            if reply.kind == "schema_unsupported":
                schema = False
                continue
            tries += 1
            if self._is_final(reply, tries, time.monotonic() - started):
                raise self._error(reply, url, tries, tuple(records))
            if reply.fault.move:
                self._pass_over(url, reply, failed)
            await asyncio.sleep(self._wait(reply, tries))

    async def _exchange(
        self, url: str, request: Request, schema: bool
    ) -> tuple[Reply | Failure, RequestRecord]:
        started = time.monotonic()
        reply, status = await self._post(url, request, schema)
        usage, finish, model, error = Usage(), None, None, None
        if isinstance(reply, Reply):
            usage, finish, model = self._usage(reply, url), reply.finish, reply.model
            reply = _judged(reply)
        if isinstance(reply, Failure):
            error = str(reply)
        seconds = time.monotonic() - started
        model = model or self._endpoint.model
        return reply, RequestRecord(_label(url), model, status, finish, usage, seconds, error=error)

    async def _post(self, url: str, request: Request, schema: bool) -> tuple[Reply | Failure, int | None]:
        if self._session is None:
            raise RuntimeError("ChatClient is an async context manager: enter it first")
        headers = {"Content-Type": "application/json"}
        if self._key is not None:
            headers["Authorization"] = f"Bearer {self._key}"
        data, body, status = encode(request, self._endpoint.model, schema=schema), b"", None
        try:
            async with self._session.post(
                f"{url.rstrip('/')}/chat/completions",
                data=data,
                headers=headers,
                allow_redirects=False,
            ) as response:
                status = response.status
                body = await response.read()
                if status != 200:
                    said = self._redacted(body.decode("utf-8", "replace").strip())
                    kind = classify(status, said, schema=schema, tools=bool(request.tools))
                    return Failure(kind, f"status {status}: {said[:_SAID]}", _after(response.headers)), status
                return decode(body), status
        except TimeoutError as error:
            return Failure("timeout", self._redacted(_described(error)) or "no reply in time"), status
        except (aiohttp.ClientError, OSError) as error:
            return Failure("connection", self._redacted(_described(error))), status
        except ValueError:
            return Failure("malformed", f"no chat completion: {self._redacted(_head(body))}"), status

    def _is_final(self, failure: Failure, tries: int, seconds: float) -> bool:
        if not failure.fault.retry:
            return True
        patient = failure.fault.whose == "infrastructure" and seconds < self._config.patience
        return tries >= self._config.attempts and not patient

    def _error(
        self, failure: Failure, url: str, tries: int, records: tuple[RequestRecord, ...]
    ) -> ModelRequestFailed | BackboneUnavailable:
        message = f"{_label(url)}, model {self._endpoint.model!r}, after {tries} tries: {failure}. "
        message += failure.fault.remedy[0].upper() + failure.fault.remedy[1:] + "."
        if failure.fault.whose == "model":
            return ModelRequestFailed(failure.kind, message, records)
        return BackboneUnavailable(message, records)

    def _pass_over(self, url: str, failure: Failure, failed: set[str]) -> None:
        failed.add(url)
        if failure.kind == "connection":
            self._replicas.lost(url)
        if len(failed) == len(self._endpoint.urls):
            failed.clear()

    def _wait(self, failure: Failure, tries: int) -> float:
        """Seconds until the next attempt: full jitter, on top of what the server asks for."""
        config = self._config
        if failure.retry_after is not None:
            return min(failure.retry_after, config.patience) + self._random.uniform(0, config.backoff)
        return self._random.uniform(0, min(config.max_backoff, config.backoff * 2.0 ** min(tries - 1, 32)))

    def _usage(self, reply: Reply, url: str) -> Usage:
        if reply.usage is None and self._counted:
            self._counted = False
            _log.warning("%s reports no token usage: it is recorded as 0", _label(url))
        return reply.usage or Usage()

    def _remember_plain(self, url: str) -> None:
        if not self._plain:
            self._plain = True
            _log.warning("%s refuses JSON schemas: operations are parsed from its plain text", _label(url))

    def _redacted(self, text: str) -> str:
        return text.replace(self._key, "[key]") if self._key else text


def _key(variable: str | None) -> str | None:
    if variable is None:
        return None
    key = os.environ.get(variable, "").strip()
    if not key:
        raise ConfigError(f"serving.api_key_env: the environment variable {variable} is not set: export it")
    if not key.isprintable() or not key.isascii():
        raise ConfigError(f"serving.api_key_env: {variable} holds characters that no API key has")
    return key


def _label(url: str) -> str:
    """The replica's name in records and errors: without user, password or query."""
    parts = URL(url)
    return f"{parts.host}:{parts.port}{parts.path.removesuffix('/v1').rstrip('/')}"


def _judged(reply: Reply) -> Reply | Failure:
    if reply.refusal or reply.finish == "content_filter":
        return Failure("refused", reply.refusal or "finish_reason content_filter")
    if not reply.text and not reply.tool_calls and reply.finish != "length":
        return Failure("empty", f"finish_reason {reply.finish}")
    return reply


def _described(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _head(body: bytes) -> str:
    return repr(body[:_SAID].decode("utf-8", "replace"))


def _after(headers: Mapping[str, str]) -> float | None:
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
