"""Corpora in Ray's object store: put once, attached by every actor of a node without copying."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ray

from pipeline.corpus import Corpus

ATTACHED = 4
"""How many corpora an actor keeps attached: enough for the episodes that it holds, which run by corpus."""


@dataclass(frozen=True)
class CorpusHandle:
    """A corpus in the object store. Inside this object the reference is passed on, not resolved."""

    fingerprint: str
    stored: Any


class Broadcast:
    """The driver's side: puts a corpus when an episode first needs it, and lets it go after the last."""

    def __init__(self, corpus: Callable[[str], Corpus]) -> None:
        """`corpus` opens the corpus of a fingerprint."""
        self._corpus = corpus
        self._handles: dict[str, CorpusHandle] = {}

    def handle(self, fingerprint: str) -> CorpusHandle:
        """Return the corpus' handle, after putting it if it is not in the store."""
        if fingerprint not in self._handles:
            corpus = self._corpus(fingerprint)
            self._handles[fingerprint] = CorpusHandle(fingerprint, ray.put((corpus.arrays(), corpus.meta())))
        return self._handles[fingerprint]

    def release(self, fingerprint: str) -> None:
        """Let the store drop the corpus once no actor has it attached."""
        self._handles.pop(fingerprint, None)


class AttachedCorpora:
    """An actor's side: the corpora attached last. They share the store's memory."""

    def __init__(self, size: int = ATTACHED) -> None:
        self._size = size
        self._corpora: OrderedDict[str, tuple[Any, Corpus]] = OrderedDict()

    async def get(self, handle: CorpusHandle) -> Corpus:
        """Return the corpus, attaching it if it is not."""
        if handle.fingerprint not in self._corpora:
            arrays, meta = await handle.stored
            # The reference is kept beside the corpus: without it the store might spill what is mapped.
            self._corpora[handle.fingerprint] = (handle.stored, Corpus.attach(arrays, meta))
        self._corpora.move_to_end(handle.fingerprint)
        corpus = self._corpora[handle.fingerprint][1]
        while len(self._corpora) > self._size:
            self._corpora.popitem(last=False)
        return corpus
