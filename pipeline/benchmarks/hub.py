"""Where a benchmark's files lie: local paths, or places on the Hugging Face hub that are fetched once.

A place on the hub is written as its own tools write it, `hf://datasets/OWNER/NAME[@REVISION]/PATH`, and may
stand wherever a configuration names a file or folder. PATH is a file or a folder of the dataset; without a
REVISION (branch, tag or commit; a `/` in it is written `%2F`) it is what the default branch has now. Fetched
files lie in the hub's own cache, and are found there without a network; gated data need a token that the
hub's tools find (`HF_TOKEN`, or `hf auth login`).
"""

from __future__ import annotations

import glob
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from pipeline.errors import BenchmarkError

SCHEME = "hf://"
_PLACE = re.compile(r"hf://datasets/(?P<dataset>[^/@]+/[^/@]+)(?:@(?P<revision>[^/]+))?/(?P<path>[^/].*?)/?")

_REASONS = (
    (
        "ImportError",
        "the package huggingface_hub is not installed; it is the extra hub: pip install 'longharness[hub]'",
    ),
    (
        "GatedRepoError",
        "it is gated; accept its terms on its page, then log in with `hf auth login`, or set HF_TOKEN",
    ),
    ("RevisionNotFoundError", "the dataset has no such revision"),
    (
        "RepositoryNotFoundError",
        "the hub has no such dataset, or not for all to see: log in with `hf auth login`, or set HF_TOKEN",
    ),
    ("LocalEntryNotFoundError", "the hub can't be reached, and its cache has not all of it ({})"),
)
"""What the library's errors mean, by class: it is imported only where it is needed. The first that fits."""


@dataclass(frozen=True)
class Obtained:
    """A file or folder that is there. `origin` is its place on the hub at the commit that was fetched."""

    path: Path
    origin: str | None = None


def obtain(key: str, place: str, advice: str | None = None) -> Obtained:
    """Return what `place`, the value of the configuration key `benchmark.{key}`, names: fetched, if need be.

    `advice` tells how to get the benchmark's files. Raises `BenchmarkError` if they aren't there and can't be
    fetched: it says which file is missing, why, where to get it, and which key to give it by.
    """
    if place.startswith(SCHEME):
        return _fetched(key, place, advice)
    path = Path(place).expanduser()
    if not path.exists():
        raise BenchmarkError(_sentences(f"benchmark.{key}: {str(path)!r} is not there", advice))
    return Obtained(path)


def _fetched(key: str, place: str, advice: str | None) -> Obtained:
    parts = _PLACE.fullmatch(place)
    if parts is None:
        raise BenchmarkError(
            f"benchmark.{key}: {place!r} is no place on the hub: write hf://datasets/OWNER/NAME/PATH, "
            "or hf://datasets/OWNER/NAME@REVISION/PATH"
        )
    dataset, wanted = parts["dataset"], parts["path"]
    revision = unquote(parts["revision"]) if parts["revision"] else None
    try:
        snapshot = _snapshot(dataset, revision, wanted)
        if not (snapshot / wanted).exists():
            raise FileNotFoundError(f"the dataset has no {wanted!r} at commit {snapshot.name}")
    except Exception as error:  # the library's boundary: its HTTP client's errors pass through it too
        raise BenchmarkError(_not_fetched(key, place, dataset, wanted, error, advice)) from error
    return Obtained(snapshot / wanted, f"hf://datasets/{dataset}@{snapshot.name}/{wanted}")


def _snapshot(dataset: str, revision: str | None, wanted: str) -> Path:
    """Return the folder of the dataset's commit, named by it, with the wanted file or folder in it."""
    from huggingface_hub import snapshot_download  # an extra, and slow to import

    pattern = glob.escape(wanted)
    folder = snapshot_download(
        dataset, repo_type="dataset", revision=revision, allow_patterns=[pattern, f"{pattern}/*"]
    )
    return Path(folder)


def _not_fetched(
    key: str, place: str, dataset: str, wanted: str, error: Exception, advice: str | None
) -> str:
    manual = (
        f"Or get {wanted!r} of https://huggingface.co/datasets/{dataset} on a machine with a network, put it "
        f"on this one, and name it: benchmark.{key}=PATH"
    )
    return _sentences(f"benchmark.{key}: {place} can't be fetched: {_reason(error)}", manual, advice)


def _reason(error: Exception) -> str:
    """Say why, and what would help."""
    kinds = {kind.__name__ for kind in type(error).__mro__}
    told = next((reason for kind, reason in _REASONS if kind in kinds), None)
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return told.format(lines[0].rstrip(".")) if told else lines[0]


def _sentences(*parts: str | None) -> str:
    return ". ".join(part.rstrip(". ") for part in parts if part)
