"""`serving=endpoint`: servers that run already, by their URLs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
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

    Raises `ConfigError` for a value out of range or a URL that is none, and `BackboneUnavailable` for one
    that doesn't answer.
    """
    if serving.kv_tokens is not None and serving.kv_tokens < 1:
        raise ConfigError(f"serving.kv_tokens={serving.kv_tokens} is too small: null if it isn't known")
    running_at = running(serving.urls, backbone.model, serving.api_key_env, "serving")
    endpoint = replace(running_at, kv_tokens=serving.kv_tokens)
    first_completion(
        endpoint,
        backbone,
        timeout=min(backbone.client.total_timeout, serving.startup_timeout),
        patience=serving.startup_timeout,
    )
    yield endpoint


def running(urls: Sequence[str], model: str, api_key_env: str | None, group: str) -> Endpoint:
    """Return the endpoint of servers that run already, unasked; `group` is the config group that names them.

    Raises `ConfigError` for a URL that is none, and if there is none.
    """
    checked = tuple(_checked(url, group) for url in urls)
    if not checked:
        raise ConfigError(f"{group}.urls is empty: give the server's base URL, e.g. http://HOST:8000/v1")
    local = all(URL(url).host in _LOOPBACK for url in checked)
    return Endpoint(checked, model, api_key_env, node_local=local)


def _checked(text: str, group: str) -> str:
    try:
        url = URL(text)
    except ValueError:
        url = URL()
    if url.scheme not in {"http", "https"} or not url.host:
        raise ConfigError(f"{group}.urls: {text!r} is no URL of the form http://HOST:PORT/v1")
    if url.user or url.password:
        raise ConfigError(
            f"{group}.urls: a URL holds a user or password; keep secrets in {group}.api_key_env"
        )
    return text.rstrip("/")
