"""Requests and client settings that the backbone's tests share."""

from __future__ import annotations

from typing import Any

from pipeline.backbone.config import BackboneConfig, ClientConfig
from pipeline.protocols import Message, Request

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 12}},
    "required": ["name"],
    "additionalProperties": False,
}
TOOL = {
    "type": "function",
    "function": {"name": "search", "description": "It searches.", "parameters": SCHEMA},
}


def hasty(**changes: Any) -> BackboneConfig:
    """A backbone whose client waits for milliseconds where it would wait for seconds."""
    client = ClientConfig(**{"attempts": 3, "patience": 0.0, "backoff": 0.001, "max_backoff": 0.01} | changes)
    return BackboneConfig(model="asked-for", client=client)


def ask(text: str = "hello", **fields: Any) -> Request:
    """A request of one user message."""
    return Request((Message("user", text),), **{"max_tokens": 16, "episode": "episode"} | fields)
