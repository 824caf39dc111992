"""Where LongHarness keeps what it can make again: corpora, indexes, generated and unpacked benchmarks."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path


def cache_dir() -> Path:
    """The cache folder, `$LONGHARNESS_CACHE`, else `~/.cache/longharness`. It need not exist yet."""
    return Path(os.environ.get("LONGHARNESS_CACHE") or Path.home() / ".cache" / "longharness").expanduser()


def made_once(folder: Path, make: Callable[[Path], object], whole: Callable[[Path], bool]) -> Path:
    """Return `folder`, made by `make` if it isn't `whole`: beside it first, then put in place by a rename.

    Nobody sees it half made. Of processes that make it at once, the first to finish wins. Passes on what
    `make` raises; `OSError` if the folder can't be put there.
    """
    if whole(folder):
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".new-") as temporary:
        made = Path(temporary) / "made"
        make(made)
        if whole(folder):
            return folder
        shutil.rmtree(folder, ignore_errors=True)
        try:
            made.rename(folder)
        except OSError:
            if not whole(folder):
                raise
    return folder
