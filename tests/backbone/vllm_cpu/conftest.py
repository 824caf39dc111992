"""One vLLM for all tests of this folder: it takes half a minute to start."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.backbone.serving import Endpoint
from tests.backbone.requests import hasty
from tests.backbone.vllm_cpu.server import MODEL, vllm_server
from tests.conftest import ROOT


@pytest.fixture(scope="session")
def bulletins(shared: Path) -> list[Path]:
    """Three real bulletins, the smallest: enough to search in, quick to index."""
    return sorted((shared / "data/treasury/documents").glob("*.txt"), key=lambda path: path.stat().st_size)[
        :3
    ]


@pytest.fixture(scope="session")
def vllm(bulletins: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    prompts = [path for path in (ROOT / "pipeline/harness/prompts").rglob("*.j2")]
    backbone = hasty(total_timeout=120.0)
    backbone.model = MODEL
    with vllm_server(tmp_path_factory.mktemp("vllm"), [*prompts, *bulletins], backbone) as endpoint:
        yield endpoint
