"""Work on many files, shared among processes."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

FEW = 8
"""So many files are not worth processes of their own: to start one takes as long as to convert some."""

_Job = TypeVar("_Job")
_Result = TypeVar("_Result")


def each(function: Callable[[_Job], _Result], jobs: Sequence[_Job]) -> Iterator[_Result]:
    """Yield what `function`, of a module's top level, makes of each of the jobs, in order."""
    if len(jobs) < FEW:
        yield from map(function, jobs)
        return
    workers = min(os.cpu_count() or 1, len(jobs))
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        yield from pool.map(function, jobs)
