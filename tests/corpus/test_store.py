"""A corpus on disk is whole or not there; the cache finds it by content; attaching copies nothing."""

from __future__ import annotations

import mmap
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pipeline.corpus import Corpus, build
from pipeline.corpus.config import CorpusConfig
from pipeline.errors import CorpusError
from tests.corpus.conftest import Make, write


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "documents", {f"{n}.txt": f"debt {n},963 café\n\n" * 9 for n in range(5)})


def entry(cache: Path) -> Path:
    (found,) = [path for path in cache.iterdir()]
    return found


def test_a_saved_corpus_opens_memory_mapped_and_equal(make: Make, tmp_path: Path) -> None:
    corpus = make({"a": "debt 2,963\n", "empty": "", "é/b": "| a | b |\n| --- | --- |\n| debt | 1 |\n"})
    corpus.save(tmp_path / "deep" / "saved")
    opened = Corpus.open(tmp_path / "deep" / "saved")
    assert (opened.fingerprint, opened.meta()) == (corpus.fingerprint, corpus.meta())
    assert opened.search("debt") == corpus.search("debt")
    base = opened.arrays()["text"]
    while isinstance(base, np.ndarray):
        base = base.base
    assert isinstance(base, mmap.mmap)
    assert [opened.text(n, 0, 99) for n in range(3)] == [corpus.text(n, 0, 99) for n in range(3)]


def test_the_second_build_comes_from_the_cache(folder: Path, tmp_path: Path) -> None:
    stages: list[str] = []
    first = build([folder], CorpusConfig(), tmp_path / "cache")
    second = build(
        [folder], CorpusConfig(), tmp_path / "cache", lambda stage, done, total: stages.append(stage)
    )
    assert set(stages) == {"fingerprint"}
    assert entry(tmp_path / "cache").name == first.fingerprint == second.fingerprint
    assert first.search("debt") == second.search("debt")


def test_progress_is_told_in_stages(folder: Path) -> None:
    told: list[tuple[str, int, int]] = []
    build([folder], CorpusConfig(), None, lambda *step: told.append(step))
    assert list(dict.fromkeys(stage for stage, _, _ in told)) == ["fingerprint", "read", "passages", "index"]
    assert all(0 <= done <= total for _, done, total in told)


def test_changed_content_or_config_is_another_entry(folder: Path, tmp_path: Path) -> None:
    build([folder], CorpusConfig(), tmp_path / "cache")
    build([folder], CorpusConfig(passage_tokens=64), tmp_path / "cache")
    (folder / "0.txt").write_text("changed")
    assert build([folder], CorpusConfig(), tmp_path / "cache").search("changed").matched == 1
    assert len(list((tmp_path / "cache").iterdir())) == 3


DAMAGES = {
    "truncated array": lambda path: (path / "text.npy").write_bytes((path / "text.npy").read_bytes()[:-7]),
    "missing array": lambda path: (path / "data.csc.index.npy").unlink(),
    "foreign array": lambda path: np.save(path / "contents.npy", np.zeros(3)),
    "truncated meta": lambda path: (path / "meta.json").write_bytes((path / "meta.json").read_bytes()[:-9]),
    "foreign meta": lambda path: (path / "meta.json").write_text("[]"),
    "a file in its place": lambda path: (shutil.rmtree(path), path.write_text("x")),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_entry_is_named_and_rebuilt(folder: Path, tmp_path: Path, damage: str) -> None:
    whole = build([folder], CorpusConfig(), tmp_path / "cache").search("debt")
    path = entry(tmp_path / "cache")
    DAMAGES[damage](path)
    with pytest.raises(CorpusError, match="holds no whole corpus"):
        Corpus.open(path)
    assert build([folder], CorpusConfig(), tmp_path / "cache").search("debt") == whole
    assert Corpus.open(entry(tmp_path / "cache")).search("debt") == whole


def test_an_entry_of_another_fingerprint_is_rebuilt(folder: Path, tmp_path: Path) -> None:
    other = write(tmp_path / "other", {"x": "other words"})
    path = entry_of(build([folder], CorpusConfig(), tmp_path / "cache"), tmp_path)
    foreign = build([other], CorpusConfig(), None)
    shutil.rmtree(path)
    foreign.save(path)
    assert build([folder], CorpusConfig(), tmp_path / "cache").search("debt").matched > 0


def entry_of(corpus: Corpus, tmp_path: Path) -> Path:
    return tmp_path / "cache" / corpus.fingerprint


def test_a_failed_save_leaves_nothing_behind(make: Make, tmp_path: Path) -> None:
    corpus = make({"a": "x"})
    write(tmp_path / "taken", {"file": "x"})
    with pytest.raises(OSError):
        corpus.save(tmp_path / "taken")
    assert {path.name for path in tmp_path.iterdir()} == {"taken", "documents0"}
    with pytest.raises(CorpusError, match="holds no whole corpus"):
        Corpus.open(tmp_path / "nowhere")


def test_two_processes_that_build_at_once_do_no_harm(folder: Path, tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from pipeline.corpus import build;"
        " from pipeline.corpus.config import CorpusConfig;"
        " print(build([Path(sys.argv[1])], CorpusConfig(), Path(sys.argv[2])).search('debt').matched)"
    )
    command = [sys.executable, "-c", code, str(folder), str(tmp_path / "cache")]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    results = [process.communicate()[0].strip() for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert results[0] == results[1] != "0"
    assert len(list((tmp_path / "cache").iterdir())) == 1


def test_attaching_shares_every_array_and_keeps_numpys_own_dtypes(make: Make) -> None:
    corpus = make({"a": "debt 2,963", "b": "tax"})
    foreign = {
        name: array.view(np.dtype(array.dtype.str, copy=True)) for name, array in corpus.arrays().items()
    }
    for array in foreign.values():
        array.flags.writeable = False
    attached = Corpus.attach(foreign, corpus.meta())
    for name, array in attached.arrays().items():
        assert array.size == 0 or np.shares_memory(array, foreign[name]), name
        assert array.dtype is np.dtype(array.dtype.str)
    assert attached.search("2963 tax") == corpus.search("2963 tax")


def test_a_cache_that_cannot_be_written_to_is_named_before_the_work(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    stages: list[str] = []
    with pytest.raises(CorpusError, match=r"file/corpora' can't be written to .*LONGHARNESS_CACHE"):
        build([folder], CorpusConfig(), tmp_path / "file" / "corpora", lambda stage, *_: stages.append(stage))
    assert set(stages) == {"fingerprint"}
