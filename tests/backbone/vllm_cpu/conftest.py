"""One vLLM for all tests of this folder: it takes half a minute to start."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.backbone.serving import Endpoint
from pipeline.backbone.serving.vllm import serve
from tests.backbone.requests import hasty
from tests.backbone.vllm_cpu.server import backbone, make_model, serving
from tests.conftest import ROOT


@pytest.fixture(scope="session")
def bulletins(shared: Path) -> list[Path]:
    """Three real bulletins, the smallest: enough to search in, quick to index."""
    return sorted((shared / "data/treasury/documents").glob("*.txt"), key=lambda path: path.stat().st_size)[
        :3
    ]


@pytest.fixture(scope="session")
def model(bulletins: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    prompts = sorted((ROOT / "pipeline/harness/prompts").glob("*.j2"))
    return make_model(tmp_path_factory.mktemp("vllm") / "model", [*prompts, *bulletins])


@pytest.fixture(scope="session")
def vllm(model: Path) -> Iterator[Endpoint]:
    with serve(serving(), backbone(model, hasty(total_timeout=120.0)), model.parent) as endpoint:
        yield endpoint
