"""What a benchmark is: tasks with their gold, and the document folders that they are asked over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipeline.protocols import TaskView


@dataclass(frozen=True)
class Span:
    """Where a value stands: code points `start:end` of a document, and the quoted text."""

    document: str
    start: int
    end: int
    quote: str


@dataclass(frozen=True)
class Gold:
    """What only the driver knows of a task: the answer, and where it comes from if the benchmark says so.

    `alternates[i]` are the other places that print what `spans[i]` does; `tolerance` is the relative one
    within which this question's author takes an answer for right.
    """

    answer: str
    documents: tuple[str, ...] = ()
    spans: tuple[Span, ...] = ()
    alternates: tuple[tuple[Span, ...], ...] = ()
    stale_spans: tuple[Span, ...] = ()
    expression: str | None = None
    tolerance: float | None = None


@dataclass(frozen=True)
class Task:
    """One question. `fields` (kind, difficulty, …) select tasks and break results down; no gold in them."""

    view: TaskView
    corpus: str
    gold: Gold
    fields: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class CorpusSource:
    """The folders that hold a corpus' documents; a document's id is its path relative to its folder."""

    id: str
    folders: tuple[Path, ...]


@dataclass(frozen=True)
class Benchmark:
    """Tasks and their corpora, by corpus id.

    `scorers` are import paths: the official one first, then those that are reported beside it. `breakdowns`
    are the fields of its tasks by which results are shown. `revision` says how the data differ from the
    published ones, where the user allowed that; `origins` are the places on the hub, each at its commit,
    that they were fetched from; `parameters` are what generated data were made with.
    """

    name: str
    tasks: tuple[Task, ...]
    corpora: Mapping[str, CorpusSource]
    scorers: tuple[str, ...]
    breakdowns: tuple[str, ...] = ()
    revision: str | None = None
    origins: tuple[str, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
