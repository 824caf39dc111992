"""The configuration of served models: which one, how it samples, how it is served; and which one judges."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pipeline.backbone.serving.config import ServerConfig


@dataclass
class SamplingConfig:
    """Sent with every request; `null` leaves the server's default.

    `extra` is sent as it is; `null` in it takes a field out: a server that wants `max_completion_tokens`
    is served by `extra: {max_tokens: null, max_completion_tokens: 4096}`.
    """

    temperature: float | None = None
    top_p: float | None = None
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass
class ClientConfig:
    """Timeouts in seconds, and retries, of the chat client.

    `stream` asks for replies as they are generated: first token times are seen, and a reply that stalls is
    told from one that is long; a server that refuses it is asked without. `first_byte_timeout` is until a
    streamed reply begins, time in the server's queue included; `stall_timeout` between bytes; `total_timeout`
    for all of a reply.

    A request that fails for want of infrastructure is tried `attempts` times and for `patience` seconds,
    whichever takes longer: a replica that is started anew takes more than a minute. Waits between attempts
    are random between 0 and a bound that doubles from `backoff` to `max_backoff`.
    """

    stream: bool = True
    connect_timeout: float = 10.0
    first_byte_timeout: float = 300.0
    stall_timeout: float = 120.0
    total_timeout: float = 600.0
    attempts: int = 3
    patience: float = 150.0
    backoff: float = 0.5
    max_backoff: float = 15.0


@dataclass
class TrafficConfig:
    """How many requests reach a replica, all episodes of a run together.

    After `breaker_failures` failures in a row to reach a replica, no request goes there until a small
    completion (the canary, within `canary_timeout` seconds) comes back from it. The prompt tokens in flight
    stay below `kv_share` of the tokens that the replica's KV cache holds, where that is known, and below less
    of it for a while after a preemption. Requests in flight begin at `ramp` and may grow by one with each
    reply. `metrics_interval`, in seconds, is between looks at a replica's own metrics, where it offers them.
    """

    breaker_failures: int = 3
    canary_timeout: float = 30.0
    kv_share: float = 0.9
    ramp: int = 8
    metrics_interval: float = 5.0


@dataclass
class PriceConfig:
    """What the provider charges for a million tokens, as the user looked it up on `date`.

    `null` is unknown: there is no figure then. Without `cached_input`, cached tokens cost as others do.
    """

    input: float | None = None
    cached_input: float | None = None
    output: float | None = None
    currency: str = "USD"
    date: str | None = None


@dataclass
class RatesConfig:
    """Tokens a second that one GPU does, of many requests at a time, as measured: the estimate of GPU time.

    `prefill` are prompt tokens that are not cached, `decode` generated ones; `null` is unknown.
    """

    prefill: float | None = None
    decode: float | None = None


@dataclass
class BackboneConfig:
    """Which model answers. `language_model=false` labels its figures as wiring, not evidence.

    `thinking` is of use where the option's own `sampling` refers to it (`qwen`, `qwen_1gpu`, `glm_1gpu`).

    `window` is the model's context window, in tokens; `null` asks the server. A reply gets `max_tokens`, or
    what the prompt leaves of the window.
    """

    name: str = "custom"
    model: str = "default"
    language_model: bool = True
    max_tokens: int = 4_096
    window: int | None = None
    thinking: bool | None = None
    sampling: SamplingConfig = field(default_factory=SamplingConfig)
    server: ServerConfig = field(default_factory=ServerConfig)
    client: ClientConfig = field(default_factory=ClientConfig)
    traffic: TrafficConfig = field(default_factory=TrafficConfig)
    price: PriceConfig = field(default_factory=PriceConfig)
    rates: RatesConfig = field(default_factory=RatesConfig)


@dataclass
class EndpointConfig:
    """Servers that run already: their URLs, to `/v1`. The API key is read from the variable named here.

    `kv_tokens`: how many tokens the KV cache of each holds; `null` takes what its metrics say, if anything.
    """

    _target_: str = "pipeline.backbone.serving.endpoint.serve"
    urls: list[str] = field(default_factory=list)
    api_key_env: str | None = None
    kv_tokens: int | None = None
    startup_timeout: float = 120.0


@dataclass
class ProcessConfig:
    """A module that serves the API on loopback, as a process of its own in an empty folder and environment.

    It is run with `--port 0` and prints `{"port": N}` as a line of its own once it listens.
    """

    _target_: str = "pipeline.backbone.serving.process.serve"
    module: str = "pipeline.backbone.reference"
    startup_timeout: float = 60.0


@dataclass
class EmbeddedConfig:
    """A small model on the CPU. `model_path=null` takes the packaged weights; `n_ctx` is in tokens.

    More than one thread makes it many times slower wherever the cores are busy with other work.
    """

    _target_: str = "pipeline.backbone.serving.embedded.serve"
    model_path: str | None = None
    n_ctx: int = 8_192
    threads: int = 1
    startup_timeout: float = 120.0


@dataclass
class JudgeConfig:
    """The served model that judges answers which no rule can compare; `model=null` judges nothing.

    Each answer is judged `repeats` times, `concurrency` requests at a time over all `urls` (to `/v1`). The
    API key is read from the environment variable that `api_key_env` names. Where more than the share
    `max_unscored` of the episodes got no verdict, scoring ends with exit status 1.
    """

    name: str = "none"
    model: str | None = None
    urls: list[str] = field(default_factory=list)
    api_key_env: str | None = None
    repeats: int = 3
    concurrency: int = 16
    max_unscored: float = 0.05
    max_tokens: int = 4_096
    sampling: SamplingConfig = field(default_factory=SamplingConfig)
    client: ClientConfig = field(default_factory=ClientConfig)
