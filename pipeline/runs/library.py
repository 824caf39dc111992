"""The corpora of a run, by fingerprint: known all, open few."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from pipeline.benchmarks.tasks import CorpusSource
from pipeline.corpus import Corpus, build
from pipeline.corpus.config import CorpusConfig
from pipeline.errors import CorpusError
from pipeline.paths import cache_dir
from pipeline.runs.freeze import frozen, plain, thawed
from pipeline.runs.progress import Progress

OPEN = 4
"""So many corpora are kept open: each holds some 25 files, and a run may have hundreds of corpora."""


class Library:
    """Opens corpora from the cache, and builds those that aren't there.

    `records` is what `run.json` says of each: its id, folders and configuration; `documents` how many it has.
    """

    def __init__(
        self, progress: Progress | None = None, records: Mapping[str, dict[str, Any]] | None = None
    ) -> None:
        self._progress = progress or Progress()
        self._known: dict[bytes, str] = {}
        self._open: OrderedDict[str, Corpus] = OrderedDict()
        self.records: dict[str, dict[str, Any]] = dict(records or {})
        self.documents: dict[str, int] = {}

    def open(self, source: CorpusSource, config: CorpusConfig) -> Corpus:
        """Return the corpus of `source`, whose files are looked at once. Raises `CorpusError`."""
        folders = [str(folder.absolute()) for folder in source.folders]
        key = orjson.dumps([folders, plain(config)])
        if key in self._known:
            return self.get(self._known[key])
        corpus = build(source.folders, config, cache_dir() / "corpora", self._show(source.id))
        self._known[key] = corpus.fingerprint
        self.documents[corpus.fingerprint] = len(corpus.document_ids)
        self.records[corpus.fingerprint] = {"id": source.id, "folders": folders, "config": frozen(config)}
        return self._keep(corpus)

    def get(self, fingerprint: str) -> Corpus:
        """Return a recorded corpus. Raises `CorpusError` if its documents have changed since, or are gone."""
        if fingerprint in self._open:
            self._open.move_to_end(fingerprint)
            return self._open[fingerprint]
        return self._keep(_reopened(fingerprint, self.records[fingerprint]))

    def _keep(self, corpus: Corpus) -> Corpus:
        self._open[corpus.fingerprint] = corpus
        while len(self._open) > OPEN:
            self._open.popitem(last=False)
        return corpus

    def _show(self, name: str) -> Any:
        def show(stage: str, done: int, total: int) -> None:
            self._progress.stage = f"corpus {name}: {stage} {done:,}/{total:,}"

        return show


def _reopened(fingerprint: str, record: Mapping[str, Any]) -> Corpus:
    cache = cache_dir() / "corpora"
    if (cache / fingerprint).is_dir():
        return Corpus.open(cache / fingerprint)
    config: CorpusConfig = thawed(record["config"])
    corpus = build([Path(folder) for folder in record["folders"]], config, cache)
    if corpus.fingerprint != fingerprint:
        raise CorpusError(
            f"the documents in {', '.join(record['folders'])} have changed since the run was planned: corpus "
            f"{corpus.fingerprint}, recorded {fingerprint}. Restore them, or start a new run"
        )
    return corpus
