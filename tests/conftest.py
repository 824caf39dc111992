"""Fixtures of all tests. A missing part skips its tests by name, and fails them where all is required."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent
REQUIRE_ALL = os.environ.get("LONGHARNESS_REQUIRE_ALL") == "1"

# Properties take the same examples in every run, and no clock: a failure is no chance. With
# LONGHARNESS_EXAMPLES_TIMES=50, they look for new ones, fifty times as many.
TIMES = int(os.environ.get("LONGHARNESS_EXAMPLES_TIMES", "1"))
settings.register_profile(
    "tests",
    max_examples=100 * TIMES,
    derandomize=TIMES == 1,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("tests")


def examples(count: int, **more: Any) -> settings:
    """Settings of a property that takes other than a hundred examples."""
    return settings(max_examples=count * TIMES, **more)


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
