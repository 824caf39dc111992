"""Fixtures of all tests. A missing part skips its tests by name, and fails them where all is required."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
REQUIRE_ALL = os.environ.get("LONGHARNESS_REQUIRE_ALL") == "1"


def missing(what: str) -> None:
    """Skip the test because `what` is not there; fail it where nothing may be skipped (CI)."""
    if REQUIRE_ALL:
        pytest.fail(f"missing, and LONGHARNESS_REQUIRE_ALL=1: {what}")
    pytest.skip(f"missing: {what}")


@pytest.fixture(scope="session", autouse=True)
def interruptible() -> None:
    """Let Ctrl-C reach the processes that tests start: a shell's background jobs inherit it ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The shared folder with real documents and contract cases: $LONGHARNESS_SHARED, else ../shared."""
    folder = Path(os.environ.get("LONGHARNESS_SHARED") or ROOT.parent / "shared")
    if not (folder / "data").is_dir():
        missing(f"the shared data folder ({folder}); set LONGHARNESS_SHARED")
    return folder
