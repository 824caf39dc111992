"""How a backbone is served for a run.

Each module's `serve(serving, backbone, log_dir)` is a context manager that gives an `Endpoint` once a real
completion has come back, and ends on exit whatever it started.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Endpoint:
    """Where a model answers: base URLs to `/v1`, one a replica.

    `api_key_env` names the environment variable that holds the key; the key itself is never kept here.
    `node_local`: the URLs are on loopback, of use on this machine only. `slots`: how many episodes it serves
    side by side; None, if a run need not mind. `kv_tokens`: what each replica's KV cache holds, if known.
    `metrics`: the replicas' pages of Prometheus metrics, where a run may take them down.
    """

    urls: tuple[str, ...]
    model: str
    api_key_env: str | None = None
    node_local: bool = False
    slots: int | None = None
    kv_tokens: int | None = None
    metrics: tuple[str, ...] = ()
