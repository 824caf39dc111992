"""Where LongHarness keeps what it can make again: corpora, indexes, generated and unpacked benchmarks."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def cache_dir() -> Path:
    """The cache folder, `$LONGHARNESS_CACHE`, else `~/.cache/longharness`. It need not exist yet."""
    return Path(os.environ.get("LONGHARNESS_CACHE") or Path.home() / ".cache" / "longharness").expanduser()


def made_once(folder: Path, make: Callable[[Path], object], whole: Callable[[Path], bool]) -> Path:
    """Return `folder`, made by `make` if it isn't `whole`: beside it first, then put in place by a rename.

    Nobody sees it half made. Of processes that want it at once one makes it, and the others wait; what a
    process left that was killed in the midst is removed. Passes on what `make` raises; `OSError` if the
    folder can't be put there.
    """
    if whole(folder):
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    prefix = f".{folder.name}-"
    with _locked(folder.with_name(f"{prefix}lock")):
        if whole(folder):
            return folder
        for left in folder.parent.glob(f"{prefix}new-*"):
            shutil.rmtree(left, ignore_errors=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f"{prefix}new-") as temporary:
            made = Path(temporary) / "made"
            make(made)
            shutil.rmtree(folder, ignore_errors=True)
            made.rename(folder)
    return folder


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock that ends with this process; a file system without locks goes without."""
    while True:
        file = path.open("w")
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        with suppress(FileNotFoundError):
            if path.stat().st_ino == os.fstat(file.fileno()).st_ino:
                break
        file.close()  # who held it has removed it meanwhile
    with file:
        try:
            yield
        finally:
            path.unlink(missing_ok=True)
