from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from pipeline.corpus import Corpus, build
from pipeline.corpus.config import CorpusConfig
from tests.conftest import examples

FEW = examples(30)
"""For properties of whole corpora, each of which is built."""


def write(folder: Path, documents: Mapping[str, str | bytes]) -> Path:
    """Write documents below a folder, byte for byte."""
    for name, content in documents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


Make = Callable[..., Corpus]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Build a corpus, in memory, of the documents given."""

    def made(documents: Mapping[str, str | bytes], config: CorpusConfig | None = None) -> Corpus:
        folder = tmp_path / f"documents{len(list(tmp_path.iterdir()))}"
        return build([write(folder, documents)], config or CorpusConfig(), None)

    return made
