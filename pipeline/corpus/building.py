"""From files to a corpus: read, lay out, index; cached by content."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from pipeline.corpus import documents, index, store
from pipeline.corpus.config import CorpusConfig
from pipeline.corpus.corpus import Corpus
from pipeline.corpus.documents import File
from pipeline.corpus.index import Batch
from pipeline.corpus.layout import Layout
from pipeline.corpus.signatures import signatures
from pipeline.errors import CorpusError

FORMAT = 3
"""The version of the arrays: it goes up whenever documents, passages, tables or terms come out otherwise."""


def build(
    folders: Sequence[Path],
    config: CorpusConfig,
    cache: Path | None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Corpus:
    """Return the corpus of all documents below `folders`.

    With a `cache` folder it is looked up there by its fingerprint and memory-mapped; if it isn't there, or
    damaged, it is built and saved as a whole. `progress` is called with a stage's name, what of it is done
    and its total (files or bytes). Raises `CorpusError` for input that can't be used (see `documents`), or a
    `config` that makes no index.
    """
    if config.passage_tokens < 1:
        raise CorpusError(f"corpus.passage_tokens={config.passage_tokens} is too small: 1 is the least")
    if not 0 <= config.index.b <= 1:
        raise CorpusError(f"corpus.index.b={config.index.b} must lie in 0 to 1")
    report = progress or (lambda stage, done, total: None)
    files = documents.scan([Path(folder) for folder in folders])
    version = json.dumps([FORMAT, asdict(config)], sort_keys=True)
    fingerprint = documents.digest(files, version, report)
    meta = {"format": FORMAT, "fingerprint": fingerprint, "config": asdict(config)}
    if cache is None:
        return Corpus(_build(files, config, report), meta)
    return Corpus(*store.cached(cache, fingerprint, lambda: (_build(files, config, report), meta)))


def _build(
    files: Sequence[File], config: CorpusConfig, progress: documents.Progress
) -> dict[str, np.ndarray]:
    arrays = documents.load(files, progress)
    text = arrays["text"]
    layout = Layout(config.passage_tokens)
    starts = arrays["document_bytes"].tolist()
    for start, end in itertools.pairwise(starts):
        progress("passages", start, len(text))
        layout.add(text[start:end].tobytes(), start)
    arrays |= layout.arrays()
    progress("index", 0, len(text))
    builder = index.builder(config.index, len(arrays["passage_starts"]))
    for rows, passages, done in layout.batches(text):
        builder.add(Batch(rows, passages))
        progress("index", done, len(text))
    arrays |= builder.finish()
    arrays["passage_signatures"] = signatures(arrays, arrays["passage_tables"])
    return arrays
