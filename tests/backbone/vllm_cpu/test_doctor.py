"""`doctor`'s probes of a real vLLM: what it can is found, and how it says so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.backbone.probing import Needs, probe
from pipeline.backbone.serving import Endpoint
from tests.backbone.requests import hasty
from tests.backbone.vllm_cpu.server import backbone

pytestmark = pytest.mark.heavy


def test_a_real_vllm_is_found_to_do_what_it_can(vllm: Endpoint, model: Path) -> None:
    asked = replace(backbone(model, hasty(total_timeout=120.0)), max_tokens=512)
    found = {finding.name: finding for finding in probe("vllm", vllm, asked, Needs())}
    for name in ("reachable", "model", "completion", "usage", "streaming", "JSON schema", "cached tokens"):
        assert found[name].works is True, found[name]
    assert "version 0.32" in found["reachable"].found
    # Random weights call no tool, but the server takes them; greedy replies are alike, here.
    assert "refused" not in found["native tools"].found
    assert "temperature 0: same seed, the same reply" in found["seed"].found
    assert "a window of 32,768 tokens" in found["window"].found
