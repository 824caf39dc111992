"""The chat client: one interface to every OpenAI-compatible server, with its retries and its records."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from random import Random
from types import TracebackType
from typing import Self

import aiohttp

from pipeline.backbone.config import BackboneConfig
from pipeline.backbone.failures import Failure
from pipeline.backbone.hashes import PromptHashes
from pipeline.backbone.serving import Endpoint
from pipeline.backbone.traffic import End, Grant, Traffic
from pipeline.backbone.traffic.local import LocalTraffic
from pipeline.backbone.traffic.upstream import Upstream
from pipeline.backbone.transport import Transport, label, pause
from pipeline.backbone.tries import Tries
from pipeline.backbone.window import PromptTokens, corrected, fitting, prompt_bytes
from pipeline.backbone.wire import Form, Reply, sampled
from pipeline.errors import BackboneUnavailable, ModelRequestFailed
from pipeline.protocols import Completion, Request, RequestRecord, Usage

_log = logging.getLogger(__name__)
_TEMPLATE_BYTES = 4_096  # that a chat template may add to a prompt, tools aside


@dataclass
class _Attempts:
    """How far a request has come."""

    form: Form
    records: list[RequestRecord] = field(default_factory=list)
    tries: Tries = field(default_factory=Tries)
    corrected: bool = False


class ChatClient:
    """A `Backbone` over HTTP; use it as an async context manager, within one event loop.

    Requests go where and when `traffic` says; without it, the client's own decides.
    Raises `ConfigError` when the environment lacks the API key that the endpoint asks for.
    """

    def __init__(self, endpoint: Endpoint, backbone: BackboneConfig, traffic: Traffic | None = None) -> None:
        self._endpoint = endpoint
        self._backbone = backbone
        self._config = backbone.client
        self._transport = Transport(endpoint, backbone.client)
        self._upstream = Upstream(self._transport, backbone)
        self._traffic = traffic
        self._open = AsyncExitStack()
        self._plain = False  # the server takes no JSON schema
        self._stream = backbone.client.stream
        self._warned: set[str] = set()
        self._tokens = PromptTokens()
        self._prompts = PromptHashes()
        self._window = backbone.window
        self._asked = backbone.window is not None
        self._asking = asyncio.Lock()
        self._random = Random()

    async def __aenter__(self) -> Self:
        await self._open.enter_async_context(self._transport)
        if self._traffic is None:
            own = LocalTraffic(self._endpoint, self._backbone, self._upstream.canary, self._upstream.look)
            self._traffic = await self._open.enter_async_context(own)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._open.aclose()

    def ended(self, episode: str) -> None:
        """The episode asks no more: its place is free."""
        self._prompts.forget(episode)
        if self._traffic is not None:
            self._traffic.ended(episode)

    async def complete(self, request: Request) -> Completion:
        """Return the reply; one that ended for length is returned as it is, with `finish` `length`.

        Raises `ModelRequestFailed` (what failed is the model's or the request's fault) or, after the
        configured retries, `BackboneUnavailable`; both hold the record of every exchange.
        """
        started = time.monotonic()
        made = _Attempts(Form(request.schema is not None and not self._plain, self._stream))
        while True:
            grant = await self._granted(request, made)
            reply = await self._exchange(grant, request, made)
            if isinstance(reply, Reply):
                self._learn(request, made, grant.url)
                record = made.records[-1]
                return Completion(
                    text=reply.text,
                    reasoning=reply.reasoning,
                    finish=reply.finish,
                    usage=record.usage,
                    model=record.model,
                    replica=record.replica,
                    seconds=time.monotonic() - started,
                    requests=tuple(made.records),
                    tool_calls=reply.tool_calls,
                )
            if self._asks_for_less(reply, request, made):
                continue
            made.tries.failed(grant.url, reply)
            if made.tries.spent(self._config, reply):
                raise self._error(reply, grant.url, made)
            await asyncio.sleep(pause(self._config, reply, made.tries.count, self._random))

    async def _granted(self, request: Request, made: _Attempts) -> Grant:
        if self._traffic is None:
            raise RuntimeError("ChatClient is an async context manager: enter it first")
        tokens, _ = self._tokens.estimate(request.episode, prompt_bytes(request))
        try:
            return await self._traffic.acquire(request.episode, tokens, made.tries.avoid)
        except BackboneUnavailable as error:
            raise BackboneUnavailable(str(error), tuple(made.records)) from None

    async def _exchange(self, grant: Grant, request: Request, made: _Attempts) -> Reply | Failure:
        assert self._traffic is not None
        end = End()
        try:
            if not made.corrected:
                made.form = replace(made.form, max_tokens=await self._fitting(grant.url, request))
            started = time.monotonic()
            answer = await self._transport.ask(grant.url, request, made.form)
            seconds, usage, finish, model = time.monotonic() - started, Usage(), None, None
            reply = answer.reply
            if isinstance(reply, Reply):
                streamed = answer.first_token_s is not None
                usage = self._usage(reply, request, grant.url, streamed)
                finish, model = reply.finish, reply.model
                self._tokens.counted(request.episode, prompt_bytes(request), usage.prompt)
                reply = _judged(reply)
            made.records.append(
                RequestRecord(
                    label(grant.url),
                    model or self._endpoint.model,
                    answer.status,
                    finish,
                    usage,
                    seconds,
                    answer.first_token_s,
                    str(reply) if isinstance(reply, Failure) else None,
                    *sampled(request, made.form),
                    self._prompts.sha256(request),
                )
            )
            end = _end(reply, usage)
            return reply
        finally:
            self._traffic.release(grant, end)

    async def _fitting(self, url: str, request: Request) -> int | None:
        """The `max_tokens` that the window leaves, if that is less than the request asks for."""
        if not self._asked:
            async with self._asking:
                await self._ask_for_the_window(url)
        tokens, unseen = self._tokens.estimate(request.episode, prompt_bytes(request))
        fit = fitting(request.max_tokens, self._window, tokens, unseen)
        return fit if fit < request.max_tokens else None

    async def _ask_for_the_window(self, url: str) -> None:
        if self._asked:
            return
        try:
            self._window = await self._upstream.window(url)
        except TimeoutError:  # it has no time for this: not asked again
            pass
        except (aiohttp.ClientError, OSError):  # it is away, maybe: the next request asks again
            return
        self._asked = True

    def _asks_for_less(self, failure: Failure, request: Request, made: _Attempts) -> bool:
        """Take out of the request what the server doesn't take, if that is all; each only once."""
        form = made.form
        if failure.kind == "schema_unsupported":
            made.form = replace(form, schema=False)
        elif failure.kind == "stream_unsupported":
            made.form = replace(form, stream=False)
        elif failure.kind in ("context_overflow", "bad_request") and not made.corrected:
            left = corrected(failure.message, form.max_tokens or request.max_tokens)
            if left is not None:
                made.form, made.corrected = replace(form, max_tokens=left), True
        return made.form != form

    def _learn(self, request: Request, made: _Attempts, url: str) -> None:
        """Remember what the server doesn't take, once it has answered without."""
        if request.schema is not None and not made.form.schema:
            self._plain = True
            self._warn(url, "refuses JSON schemas: operations are parsed from its plain text")
        if self._stream and not made.form.stream:
            self._stream = False
            self._warn(url, "refuses to stream: replies are awaited whole")

    def _error(self, failure: Failure, url: str, made: _Attempts) -> ModelRequestFailed | BackboneUnavailable:
        message = f"{label(url)}, model {self._endpoint.model!r}, after {made.tries.count} tries: {failure}. "
        message += failure.fault.remedy[0].upper() + failure.fault.remedy[1:] + "."
        if failure.fault.whose == "model":
            return ModelRequestFailed(failure.kind, message, tuple(made.records))
        return BackboneUnavailable(message, tuple(made.records))

    def _usage(self, reply: Reply, request: Request, url: str, streamed: bool) -> Usage:
        """The reply's usage; what can't be right is said, and recorded as the server gave it."""
        if reply.usage is None:
            if streamed:
                self._stream = False
                self._warn(url, "reports no token usage of streamed replies: the next ones are awaited whole")
            else:
                self._warn(url, "reports no token usage: it is recorded as 0")
            return Usage()
        usage, tools = reply.usage, sum(len(str(tool)) for tool in request.tools)
        size = prompt_bytes(request) + tools + _TEMPLATE_BYTES
        if usage.prompt > size or usage.cached > usage.prompt or usage.completion > 2 * request.max_tokens:
            self._warn(
                url,
                f"reports a usage that can't be right: {usage} of a request of {size} bytes and at most "
                f"{request.max_tokens} tokens; costs and rates made of it are wrong",
            )
        return usage

    def _warn(self, url: str, what: str) -> None:
        """Say once what a server does, whatever numbers are in it."""
        if (once := what.partition(":")[0]) not in self._warned:
            self._warned.add(once)
            _log.warning("%s %s", label(url), what)


def _judged(reply: Reply) -> Reply | Failure:
    if reply.refusal or reply.finish == "content_filter":
        return Failure("refused", reply.refusal or "finish_reason content_filter")
    if not reply.text and not reply.tool_calls and reply.finish != "length":
        return Failure("empty", f"finish_reason {reply.finish}")
    return reply


def _end(reply: Reply | Failure, usage: Usage) -> End:
    """What an exchange says of its replica."""
    if isinstance(reply, Failure):
        return End(there=not reply.fault.move, away=reply.fault.away, prompt=usage.prompt)
    return End(there=True, prompt=usage.prompt)
