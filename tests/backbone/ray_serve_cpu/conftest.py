"""The tiny model, once for all tests of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.backbone.vllm_cpu.server import make_model
from tests.conftest import ROOT


@pytest.fixture(scope="session")
def model(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    texts = sorted((shared / "data/treasury/documents").glob("*.txt"), key=lambda path: path.stat().st_size)
    prompts = sorted((ROOT / "pipeline/harness/prompts").glob("*.j2"))
    return make_model(tmp_path_factory.mktemp("ray_serve") / "model", [*prompts, *texts[:3]])
