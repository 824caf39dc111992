"""What servers say of themselves: the few of their Prometheus metrics that explain a run's speed."""

from __future__ import annotations

import re
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from prometheus_client.parser import text_string_to_metric_families
from yarl import URL

KEPT = frozenset(
    {
        "num_requests_running",  # vLLM's gauges
        "num_requests_waiting",
        "kv_cache_usage_perc",
        "prefix_cache_queries_total",  # vLLM's counters: tokens, then requests and events
        "prefix_cache_hits_total",
        "prompt_tokens_total",
        "generation_tokens_total",
        "request_success_total",
        "num_preemptions_total",
        "requests_processing",  # llama.cpp's
        "requests_deferred",
        "tokens_predicted_total",
    }
)
_NAME = re.compile(r"(?:ray_)?(?:vllm|llamacpp)[:_](\w+)")
_SHARE = "_perc"  # of several engines, the fullest
_TIMEOUT = 5.0  # seconds
_MOST = 16_000_000  # bytes of a page


@dataclass(frozen=True)
class Sample:
    """One value of one replica: a row of the table `serving`."""

    time: datetime
    replica: str
    metric: str
    value: float


def take(url: str) -> list[Sample]:
    """Fetch the page at `url` and return what is kept of it. Raises `OSError` or `ValueError` if it fails."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(url, timeout=_TIMEOUT) as response:
        text = response.read(_MOST).decode()
    now, at = datetime.now(UTC), URL(url)
    replica = f"{at.host}:{at.port}{at.path.removesuffix('/metrics')}"  # as requests name it
    return [Sample(now, replica, name, value) for name, value in kept(text).items()]


def kept(text: str) -> Mapping[str, float]:
    """Return the kept metrics by their names, without the server's prefix; labels are added up.

    Raises `ValueError` for text that is no page of metrics.
    """
    found: dict[str, float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            match = _NAME.fullmatch(sample.name)
            if match and match[1] in KEPT:
                name, before = match[1], found.get(match[1], 0.0)
                found[name] = max(before, sample.value) if _SHARE in name else before + sample.value
    return found
