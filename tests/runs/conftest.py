from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import ray

from tests.runs.sample import Server, serving, write_documents


@pytest.fixture(scope="session")
def cluster() -> Iterator[None]:
    """One small Ray cluster for all runs that are driven from within the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_AUTH_TOKEN", "a-token-of-the-tests-" + "0" * 32)
        ray.init(
            address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR"
        )
        yield
        ray.shutdown()


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


@pytest.fixture
def documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LONGHARNESS_CACHE", str(tmp_path / "cache"))
    return write_documents(tmp_path / "documents")
