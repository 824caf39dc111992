"""`serving=endpoint`: servers that run already, by their URLs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from yarl import URL

from pipeline.backbone.config import BackboneConfig, EndpointConfig
from pipeline.backbone.serving import Endpoint
from pipeline.backbone.serving.readiness import first_completion
from pipeline.errors import ConfigError

_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


@contextmanager
def serve(serving: EndpointConfig, backbone: BackboneConfig, log_dir: Path) -> Iterator[Endpoint]:
    """Check each URL by a completion and give them as they are; nothing is started, so `log_dir` stays empty.

    Raises `ConfigError` for a URL that is none, and `BackboneUnavailable` for one that doesn't answer.
    """
    urls = tuple(_checked(url) for url in serving.urls)
    if not urls:
        raise ConfigError("serving.urls is empty: give the server's base URL, e.g. http://HOST:8000/v1")
    local = all(URL(url).host in _LOOPBACK for url in urls)
    endpoint = Endpoint(
        urls, backbone.model, serving.api_key_env, node_local=local, kv_tokens=serving.kv_tokens
    )
    first_completion(
        endpoint,
        backbone,
        timeout=min(backbone.client.total_timeout, serving.startup_timeout),
        patience=serving.startup_timeout,
    )
    yield endpoint


def _checked(text: str) -> str:
    try:
        url = URL(text)
    except ValueError:
        url = URL()
    if url.scheme not in {"http", "https"} or not url.host:
        raise ConfigError(f"serving.urls: {text!r} is no URL of the form http://HOST:PORT/v1")
    if url.user or url.password:
        raise ConfigError("serving.urls: a URL holds a user or password; keep secrets in serving.api_key_env")
    return text.rstrip("/")
