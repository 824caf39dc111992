"""Where LongHarness keeps what it can make again: corpora, indexes, generated benchmarks."""

from __future__ import annotations

import os
from pathlib import Path


def cache_dir() -> Path:
    """The cache folder, `$LONGHARNESS_CACHE`, else `~/.cache/longharness`. It need not exist yet."""
    return Path(os.environ.get("LONGHARNESS_CACHE") or Path.home() / ".cache" / "longharness").expanduser()
