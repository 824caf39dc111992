"""The backbones' configuration: which model, how it samples, and how it is served."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class SamplingConfig:
    """Sent with every request; `null` leaves the server's default. `extra` is sent as it is."""

    temperature: float | None = None
    top_p: float | None = None
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass
class ClientConfig:
    """Timeouts in seconds, and retries, of the chat client."""

    connect_timeout: float = 10.0
    total_timeout: float = 600.0
    attempts: int = 6
    backoff: float = 0.5
    max_backoff: float = 30.0


@dataclass
class BackboneConfig:
    """Which model answers. `language_model=false` labels its figures as wiring, not evidence."""

    name: str = "custom"
    model: str = "default"
    language_model: bool = True
    max_tokens: int = 4_096
    sampling: SamplingConfig = field(default_factory=SamplingConfig)
    client: ClientConfig = field(default_factory=ClientConfig)
