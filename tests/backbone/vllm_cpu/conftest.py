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
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("vllm")


@pytest.fixture(scope="session")
def vllm(bulletins: list[Path], model_folder: Path) -> Iterator[Endpoint]:
    prompts = sorted((ROOT / "pipeline/harness/prompts").glob("*.j2"))
    backbone = hasty(total_timeout=120.0)
    backbone.model = MODEL
    with vllm_server(model_folder, [*prompts, *bulletins], backbone) as endpoint:
        yield endpoint
