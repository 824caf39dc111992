"""The gateway's HTTP side: an arm's own client asks a local address, one route an episode.

What passes is passed as it is, streams chunk by chunk. Beside that, it is metered, sent where and when
traffic says, tried again while nothing of the reply has been passed on, and cut when it hangs. The key is
added here: whoever asks needs none, and whatever key they send goes no further.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Self

import aiohttp
import orjson
from aiohttp import web
from yarl import URL

from pipeline.backbone.config import BackboneConfig
from pipeline.backbone.failures import Asked, Failure, classify
from pipeline.backbone.gateway.apis import READINGS, Passing, overflow, refusal
from pipeline.backbone.gateway.meter import Allowance, Meter, Taken
from pipeline.backbone.gateway.sent import Sent, sent
from pipeline.backbone.serving import Endpoint
from pipeline.backbone.traffic import End, Grant, Traffic
from pipeline.backbone.traffic.local import LocalTraffic
from pipeline.backbone.traffic.upstream import Upstream
from pipeline.backbone.transport import LARGEST, Transport, bounded, label, pause, retry_after, timed_out
from pipeline.backbone.tries import Tries
from pipeline.backbone.window import PromptTokens
from pipeline.errors import BackboneUnavailable
from pipeline.protocols import RequestRecord, Usage

_log = logging.getLogger(__name__)
MAX_BODY = 256 * 2**20  # bytes of a request
_UNMETERED = ("messages/count_tokens",)
_DROPPED = {
    "host", "authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie", "set-cookie", "location",
    "content-length", "accept-encoding", "connection",
    "keep-alive", "proxy-authorization", "te", "trailer", "transfer-encoding", "upgrade", "expect",
    "content-encoding",
}  # fmt: skip


@dataclass
class Route:
    """One episode's way to the backbone. `path` is its base, to `/v1`, below the gateway's address.

    `translate`: say a context overflow in the words that the API's own clients know. `records` are the
    exchanges; `failures` what could not be had of the backbone: if the episode ended by it, it is owed.
    """

    episode: str
    path: str
    meter: Meter
    translate: bool = False
    records: list[RequestRecord] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


@dataclass
class _Asking:
    """A request on its way. `begun`: bytes of a reply have come; `passed`: and gone to whoever asked."""

    route: Route
    api: str
    request: web.Request
    body: bytes
    stream: bool
    sent: Sent
    begun: bool = False
    passed: bool = False
    tries: Tries = field(default_factory=Tries)


@dataclass(frozen=True)
class _Result:
    """What came of one exchange: the reply that was passed on, or that is to be, or a failure."""

    outcome: web.StreamResponse | Failure
    status: int | None = None
    taken: Taken | None = None
    finish: str | None = None
    model: str | None = None
    first_token_s: float | None = None


class Gateway:
    """Serves routes to an endpoint, on a free port of loopback or on a unix socket.

    Use it as an async context manager, within one event loop.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        backbone: BackboneConfig,
        traffic: Traffic | None = None,
        socket: Path | None = None,
    ) -> None:
        self._endpoint = endpoint
        self._backbone = backbone
        self._config = backbone.client
        self._transport = Transport(endpoint, backbone.client)
        self._traffic = traffic
        self._socket = socket
        self._routes: dict[str, Route] = {}
        self._tokens = PromptTokens()
        self._random = Random()
        self._open = AsyncExitStack()
        self.address = ""
        """Where it listens: `http://127.0.0.1:PORT`, or the socket's path."""

    async def __aenter__(self) -> Self:
        await self._open.enter_async_context(self._transport)
        if self._traffic is None:
            upstream = Upstream(self._transport, self._backbone)
            own = LocalTraffic(self._endpoint, self._backbone, upstream.canary, upstream.look)
            self._traffic = await self._open.enter_async_context(own)
        app = web.Application(client_max_size=MAX_BODY)
        app.router.add_route("*", "/e/{token}/v1/{api:.+}", self._handle)
        runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=1.0)
        self._open.push_async_callback(runner.cleanup)
        await runner.setup()
        if self._socket is not None:
            await web.UnixSite(runner, str(self._socket)).start()
            self.address = str(self._socket)
        else:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            self.address = f"http://127.0.0.1:{runner.addresses[0][1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._open.aclose()

    def open(self, episode: str, allowance: Allowance, *, translate: bool = False) -> Route:
        """Open a route for an episode. Its path holds a secret: who doesn't know it, can't ask."""
        token = secrets.token_urlsafe(16)
        route = Route(episode, f"/e/{token}/v1", Meter(allowance), translate)
        self._routes[token] = route
        return route

    def close(self, route: Route) -> None:
        """Close a route: the episode asks no more."""
        self._routes.pop(route.path.split("/")[2], None)
        if self._traffic is not None:
            self._traffic.ended(route.episode)

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        api, route = request.match_info["api"], self._routes.get(request.match_info["token"])
        if route is None:
            return _error(api, 404, "there is no such episode, or it has ended")
        if api not in READINGS:
            if api in _UNMETERED or (api == "models" and request.method == "GET"):
                return await self._unmetered(api, request)
            return _error(api, 404, f"this gateway passes {', '.join(READINGS)}")
        if (limit := route.meter.begin()) is not None:
            allowed = getattr(route.meter.allowance, limit)
            return _error(api, 400, f"the episode's limit is reached: {limit} = {allowed}", code="limit")
        taken: Taken | None = None
        asking: _Asking | None = None
        try:
            asking = await _asking(route, api, request)
            response, taken = await self._answer(asking)
            return response
        except asyncio.CancelledError:  # whoever asked hung up
            taken = Taken() if asking is not None and asking.passed else None
            raise
        except ValueError as error:
            return _error(api, 400, f"the request is no JSON object: {error}")
        finally:
            route.meter.end(taken)

    async def _answer(self, asking: _Asking) -> tuple[web.StreamResponse, Taken | None]:
        """Ask until a reply, or an error that is final, has been passed on."""
        while True:
            try:
                grant = await self._granted(asking)
            except BackboneUnavailable as error:
                return self._unavailable(asking, 503, str(error)), None
            result = await self._exchange(grant, asking)
            if not isinstance(result.outcome, Failure):
                return result.outcome, result.taken
            failure = result.outcome
            asking.tries.failed(grant.url, failure)
            if asking.passed:
                asking.route.failures.append(str(failure))
                _cut(asking.request)
                raise ConnectionResetError(str(failure))
            if asking.tries.spent(self._config, failure):
                late = failure.kind in ("first_byte", "stall", "timeout")
                return self._unavailable(asking, 504 if late else 502, str(failure)), None
            await asyncio.sleep(pause(self._config, failure, asking.tries.count, self._random))

    async def _granted(self, asking: _Asking) -> Grant:
        assert self._traffic is not None
        tokens, _ = self._tokens.estimate(asking.route.episode, len(asking.body))
        return await self._traffic.acquire(asking.route.episode, tokens, asking.tries.avoid)

    async def _exchange(self, grant: Grant, asking: _Asking) -> _Result:
        assert self._traffic is not None
        started, end = time.monotonic(), End()
        result = _Result(Failure("connection", "whoever asked has hung up"))
        usage = Usage()
        try:
            result = await self._pass(grant.url, asking)
            failure = result.outcome if isinstance(result.outcome, Failure) else None
            usage = (result.taken and result.taken.usage) or usage
            self._tokens.counted(asking.route.episode, len(asking.body), usage.prompt)
            end = End(failure is None, failure is not None and failure.fault.away, usage.prompt)
            return result
        finally:
            self._traffic.release(grant, end)
            asking.route.records.append(
                RequestRecord(
                    label(grant.url),
                    self._named(result.model) or self._endpoint.model,
                    result.status,
                    self._named(result.finish),
                    usage,
                    time.monotonic() - started,
                    result.first_token_s,
                    str(result.outcome) if isinstance(result.outcome, Failure) else None,
                    asking.sent.seed,
                    asking.sent.sampling,
                    asking.sent.prompt_sha256,
                )
            )

    async def _pass(self, url: str, asking: _Asking) -> _Result:
        """Send the request to a replica and pass its reply on."""
        limit = asyncio.timeout(self._config.first_byte_timeout if asking.stream else None)
        started, status, asking.begun = time.monotonic(), None, False
        try:
            async with limit, self._sent(url, asking) as reply:
                status = reply.status
                if status != 200:
                    return await self._failed(reply, asking)
                return await self._forward(reply, asking, limit, started)
        except (aiohttp.ClientError, OSError) as error:
            if asking.request.transport is None or asking.request.transport.is_closing():
                raise  # whoever asked hung up: no fault of the replica's
            kind = timed_out(error, limit, asking.begun)
            return _Result(
                Failure(kind, self._transport.redacted(f"{type(error).__name__}: {error}")), status
            )
        except ValueError as error:
            return _Result(Failure("malformed", self._transport.redacted(str(error))[:500]), status)

    def _sent(self, url: str, asking: _Asking) -> aiohttp.client._RequestContextManager:
        query = asking.request.rel_url.raw_query_string
        return self._transport.session.request(
            asking.request.method,
            URL(f"{url.rstrip('/')}/{asking.api}{query and '?'}{query}", encoded=True),
            data=asking.body or None,
            headers=self._headers(asking.request.headers),
            allow_redirects=False,
        )

    async def _forward(
        self, reply: aiohttp.ClientResponse, asking: _Asking, limit: asyncio.Timeout, started: float
    ) -> _Result:
        """Pass a reply of status 200 on. One that isn't streamed is passed once it is whole."""
        streamed = reply.content_type == "text/event-stream"
        passing, whole, size, first = Passing(asking.api, streamed), bytearray(), 0, None
        reading, clock = passing.reading, asyncio.get_running_loop().time
        response = web.StreamResponse(headers=self._kept(reply.headers))
        async for chunk in reply.content.iter_any():
            asking.begun, size = True, size + len(chunk)
            if size > LARGEST:
                raise ValueError(f"a reply of more than {LARGEST} bytes")
            passing.feed(chunk)
            if streamed:
                if not asking.passed:
                    await response.prepare(asking.request)
                asking.passed = True
                await response.write(self._without_key(chunk))
                if reading.begun and first is None:
                    first = time.monotonic() - started
            else:
                whole += chunk
            limit.reschedule(clock() + self._config.stall_timeout)
        passing.end()
        if reading.error is None and not reading.whole:
            return _Result(Failure("connection", "the reply ended before it was whole"), 200)
        if streamed:
            await response.write_eof()
        else:
            response = web.Response(body=self._without_key(bytes(whole)), headers=self._kept(reply.headers))
        if reading.error is not None:
            said = self._transport.redacted(reading.error)
            asking.route.failures.append(f"in the stream: {said[:500]}")
            return _Result(response, 200, finish=classify(500, said, Asked()), model=reading.model)
        return _Result(response, 200, reading.taken(), reading.finish, reading.model, first)

    async def _failed(self, reply: aiohttp.ClientResponse, asking: _Asking) -> _Result:
        """An error of the server's: to be tried again, or passed on, maybe in other words."""
        said = self._transport.redacted((await bounded(reply)).decode("utf-8", "replace"))
        kind = classify(reply.status, said, Asked())
        failure = Failure(kind, f"status {reply.status}: {said[:500]}", retry_after(reply.headers))
        if failure.fault.retry and failure.fault.whose == "infrastructure":
            return _Result(failure, reply.status)
        if failure.fault.whose == "infrastructure":
            asking.route.failures.append(str(failure))
        text, headers = said.encode(), self._kept(reply.headers)
        if kind == "context_overflow" and asking.route.translate:
            text, headers = overflow(asking.api, said), {"Content-Type": "application/json"}
        response = web.Response(status=reply.status, body=text, headers=headers)
        return _Result(response, reply.status, finish=kind)

    async def _unmetered(self, api: str, request: web.Request) -> web.StreamResponse:
        """Pass a question that is no turn of the model's."""
        url, body = self._endpoint.urls[0], await request.read()
        try:
            async with self._transport.session.request(
                request.method,
                f"{url.rstrip('/')}/{api}",
                data=body,
                headers=self._headers(request.headers),
                allow_redirects=False,
            ) as reply:
                said = self._transport.redacted((await bounded(reply)).decode("utf-8", "replace"))
                return web.Response(
                    status=reply.status, body=said.encode(), headers=self._kept(reply.headers)
                )
        except (aiohttp.ClientError, OSError) as error:
            return _error(api, 502, self._transport.redacted(f"{type(error).__name__}: {error}"), "api_error")

    def _headers(self, given: Mapping[str, str]) -> dict[str, str]:
        kept = {name: value for name, value in given.items() if name.lower() not in _DROPPED}
        return kept | {"Accept-Encoding": "identity"} | self._transport.authorization()

    def _kept(self, given: Mapping[str, str]) -> dict[str, str]:
        """The headers of a reply that go on with it."""
        redacted = self._transport.redacted
        return {name: redacted(value) for name, value in given.items() if name.lower() not in _DROPPED}

    def _without_key(self, body: bytes) -> bytes:
        """The bytes of a reply without the key, which a server may repeat."""
        text = body.decode("utf-8", "surrogateescape")  # comes out as it went in, halves of characters too
        return self._transport.redacted(text).encode("utf-8", "surrogateescape")

    def _named(self, said: object) -> str | None:
        """A model's name or a reason to end, as it is recorded."""
        return None if said is None else self._transport.redacted(str(said))

    def _unavailable(self, asking: _Asking, status: int, why: str) -> web.Response:
        asking.route.failures.append(why)
        _log.warning("episode %s: %s", asking.route.episode, why)
        return _error(asking.api, status, why, "api_error")


async def _asking(route: Route, api: str, request: web.Request) -> _Asking:
    """Read a request. Raises `ValueError` if its body is no JSON object."""
    try:
        body = await request.read()
    except web.RequestPayloadError as error:  # it isn't packed as its headers say
        raise ValueError(str(error)) from error
    read = orjson.loads(body)
    if not isinstance(read, dict):
        raise ValueError(f"it is a {type(read).__name__}")
    return _Asking(route, api, request, body, read.get("stream") is True, sent(read))


def _error(
    api: str, status: int, message: str, kind: str = "invalid_request_error", code: str | None = None
) -> web.Response:
    body = refusal(api, message, kind=kind, code=code)
    return web.Response(status=status, body=body, content_type="application/json")


def _cut(request: web.Request) -> None:
    """Break off the connection to whoever asked: half a stream must not look whole."""
    if request.transport is not None:
        request.transport.abort()
