"""A corpus on disk: one `.npy` file an array, memory-mapped; whole or not there at all.

The index arrays carry bm25s' own file names, beside its two JSON files: `bm25s.BM25.load` reads the folder.
"""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import bm25s
import numpy as np
import orjson

from pipeline.errors import CorpusError

Arrays = dict[str, np.ndarray]
Meta = dict[str, Any]

_META = "meta.json"
_BM25S = ("data", "indices", "indptr")


def _file(folder: Path, name: str) -> Path:
    return folder / (f"{name}.csc.index.npy" if name in _BM25S else f"{name}.npy")


def save(arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any], path: Path) -> None:
    """Write a corpus to the folder `path`, which must not exist: beside it first, then by a rename."""
    path.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f".{path.name[:16]}-", dir=path.parent))
    try:
        _write(arrays, meta, folder)
        folder.chmod(0o755)
        folder.rename(path)
    except BaseException:  # Ctrl-C too must leave nothing half-written; it is raised again
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _write(arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any], folder: Path) -> None:
    listed: dict[str, Any] = {}
    for name, array in arrays.items():
        np.save(_file(folder, name), array, allow_pickle=False)
        listed[name] = [array.dtype.str, list(array.shape), _file(folder, name).stat().st_size]
    cuts = arrays["vocabulary_starts"].tolist()
    names = arrays["vocabulary"].tobytes()
    terms = {names[a:b].decode(): number for number, (a, b) in enumerate(itertools.pairwise(cuts))}
    (folder / "vocab.index.json").write_bytes(orjson.dumps(terms))
    index = meta["config"]["index"]
    parameters = {
        "k1": index["k1"], "b": index["b"], "delta": 0.5, "method": "lucene", "idf_method": "lucene",
        "dtype": "float32", "int_dtype": "int32", "num_docs": len(arrays["passage_starts"]),
        "version": bm25s.__version__, "backend": "numpy",
    }  # fmt: skip
    (folder / "params.index.json").write_bytes(orjson.dumps(parameters))
    (folder / _META).write_bytes(orjson.dumps({**meta, "arrays": listed}))


class Damaged(CorpusError):
    """A saved corpus is not whole: what can be made again in its place."""


def load(path: Path) -> tuple[Arrays, Meta]:
    """Return a saved corpus' arrays, memory-mapped, and its meta.

    Raises `Damaged` if it isn't whole, and `CorpusError` if it can't be read now: too many open files, say.
    """
    try:
        meta = orjson.loads((path / _META).read_bytes())
        listed = meta.pop("arrays")
        arrays = {name: _mapped(_file(path, name), *described) for name, described in listed.items()}
        return arrays, meta
    except (FileNotFoundError, NotADirectoryError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise Damaged(f"{str(path)!r} holds no whole corpus ({error}): delete it and build again") from error
    except OSError as error:
        raise CorpusError(f"corpus {str(path)!r} can't be read: {error.strerror or error}") from error


def _mapped(file: Path, dtype: str, shape: list[int], size: int) -> np.ndarray:
    if file.stat().st_size != size:
        raise ValueError(f"{file.name} has {file.stat().st_size} bytes, not {size}")
    array: np.ndarray = np.load(file, mmap_mode="r" if 0 not in shape else None, allow_pickle=False)
    if array.dtype.str != dtype or list(array.shape) != shape:
        raise ValueError(f"{file.name} holds {array.dtype.str} {array.shape}, not {dtype} {shape}")
    return array.view(np.ndarray)


def cached(cache: Path, fingerprint: str, make: Callable[[], tuple[Arrays, Meta]]) -> tuple[Arrays, Meta]:
    """Return the corpus of `fingerprint` from the folder `cache`, made and saved there if need be.

    A damaged or foreign entry is replaced. Processes that make the same corpus at once don't disturb each
    other: the first to finish names it, and all open that one. Raises `CorpusError` if it can't be saved.
    """
    path = cache / fingerprint
    found = _opened(path, fingerprint)
    if found is not None:
        return found
    try:
        cache.mkdir(parents=True, exist_ok=True)  # before the work, rather than after it
        _discard(path)
    except OSError as error:
        raise _unwritable(cache, error) from error
    made = make()
    try:
        save(*made, path)
    except OSError as error:
        if not path.exists():
            raise _unwritable(cache, error) from error
    found = _opened(path, fingerprint)
    return made if found is None else found


def _unwritable(cache: Path, error: OSError) -> CorpusError:
    return CorpusError(
        f"the cache {str(cache)!r} can't be written to ({error.strerror}): mend it, or set LONGHARNESS_CACHE "
        "to another folder"
    )


def _opened(path: Path, fingerprint: str) -> tuple[Arrays, Meta] | None:
    if not path.exists():
        return None
    try:
        arrays, meta = load(path)
    except Damaged:
        return None
    return (arrays, meta) if meta["fingerprint"] == fingerprint else None


def _discard(path: Path) -> None:
    """Take a damaged entry out of the way in one step, then delete it."""
    aside = path.with_name(f".{path.name[:16]}-{os.getpid()}-damaged")
    try:
        path.rename(aside)
    except FileNotFoundError:
        return
    if aside.is_dir():
        shutil.rmtree(aside, ignore_errors=True)
    else:
        aside.unlink()
