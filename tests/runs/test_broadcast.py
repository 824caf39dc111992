"""A corpus is put in the object store once, and attached without being copied."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import ray

from pipeline.corpus import build
from pipeline.corpus.config import CorpusConfig
from pipeline.runs.broadcast import AttachedCorpora, Broadcast, CorpusHandle


@ray.remote(num_cpus=0)
class Reader:
    def __init__(self) -> None:
        self.corpora = AttachedCorpora(size=2)
        self.attached: list[Any] = []

    async def private_growth(self, handle: CorpusHandle) -> int:
        """Bytes that attaching and searching the corpus adds to what this process has to itself."""
        import gc

        gc.collect()
        before = private()
        corpus = await self.corpora.get(handle)
        assert corpus.search("outlays 1950").hits
        assert corpus.text(0, 0, 10)
        gc.collect()
        return private() - before

    async def same(self, handles: list[CorpusHandle]) -> list[int]:
        corpora = [await self.corpora.get(handle) for handle in handles]
        self.attached += corpora
        return [id(corpus) for corpus in corpora]


def private() -> int:
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) * 1024


@pytest.fixture
def large(tmp_path: Path) -> Path:
    folder = tmp_path / "large"
    folder.mkdir()
    for n in range(40):
        lines = [
            f"Outlays of department {n}-{k} in {1900 + k % 90} were {k * 7919 % 100_000}.\n\n"
            for k in range(4_000)
        ]
        (folder / f"{n}.txt").write_text("".join(lines))
    return folder


def test_an_actor_shares_the_memory_of_the_corpus(cluster: None, large: Path) -> None:
    corpus = build([large], CorpusConfig(), None)
    size = sum(array.nbytes for array in corpus.arrays().values())
    broadcast = Broadcast({corpus.fingerprint: corpus}.__getitem__)
    handle = broadcast.handle(corpus.fingerprint)
    assert broadcast.handle(corpus.fingerprint) is handle
    reader = Reader.remote()
    growth = ray.get(reader.private_growth.remote(handle))
    ray.kill(reader)
    assert size > 10_000_000
    assert growth < size / 2


def test_an_actor_keeps_the_corpora_that_it_used_last(cluster: None, documents: Path) -> None:
    corpora = [build([documents / "c0"], CorpusConfig(passage_tokens=size), None) for size in (64, 128, 256)]
    broadcast = Broadcast({corpus.fingerprint: corpus for corpus in corpora}.__getitem__)
    a, b, c = (broadcast.handle(corpus.fingerprint) for corpus in corpora)
    reader = Reader.remote()
    ids = ray.get(reader.same.remote([a, b, a, c, a, b]))
    ray.kill(reader)
    assert ids[0] == ids[2] == ids[4] and ids[1] != ids[5]
