"""AA-LCR as a benchmark: its document sets unpacked to a corpus each."""

from __future__ import annotations

from pipeline.benchmarks.aa_lcr import joined, official
from pipeline.benchmarks.aa_lcr.config import AALCRConfig
from pipeline.benchmarks.aa_lcr.sets import Data, DocumentSet, Question, unpacked
from pipeline.benchmarks.hub import obtain
from pipeline.benchmarks.revisions import check_counts
from pipeline.benchmarks.tasks import Benchmark, CorpusSource, Gold, Task
from pipeline.errors import BenchmarkError
from pipeline.protocols import AnswerFormat, TaskView

PUBLISHED = {"questions": 100, "document sets": 30, "documents": 234}
"""Version 1.1, as its card tells."""

RELEASED_DOCUMENTS = 229
"""The documents that the sets of its 100 questions hold in fact: five fewer than the card tells."""


def load(config: AALCRConfig) -> Benchmark:
    """Read the questions, and unpack their documents into the cache if they aren't there yet.

    Raises `BenchmarkError`, which names file, row and column, or found and published counts.
    """
    data, origins = _read(config)
    found = data.counts
    released = {"documents": RELEASED_DOCUMENTS} if found["documents"] == RELEASED_DOCUMENTS else {}
    revision = check_counts(config.name, found, PUBLISHED | released, config.allow_other_revision)
    folder = unpacked(data.sets)
    sets = {held.id: held for held in data.sets}
    return Benchmark(
        config.name,
        tuple(_task(question, sets[question.document_set]) for question in data.questions),
        {name: CorpusSource(name, (folder / name,)) for name in sets},
        tuple(config.scorers),
        breakdowns=("category",) if all(held.category for held in data.sets) else (),
        revision=revision,
        origins=origins,
    )


def _read(config: AALCRConfig) -> tuple[Data, tuple[str, ...]]:
    """Return the data and the places on the hub that they are from."""
    questions = obtain("questions", config.questions, config.obtain)
    if questions.path.suffix == ".parquet":
        return joined.read(questions.path), tuple(filter(None, [questions.origin]))
    if config.documents is None:
        raise BenchmarkError("benchmark.documents: name the archive of AA-LCR's texts, or their folder")
    documents = obtain("documents", config.documents, config.obtain)
    data = official.read(questions.path, documents.path)
    return data, tuple(filter(None, [questions.origin, documents.origin]))


def _task(question: Question, held: DocumentSet) -> Task:
    fields = {"document_set": held.id} | ({"category": held.category} if held.category else {})
    view = TaskView(question.id, question.question.strip(), AnswerFormat("text"))
    return Task(view, held.id, Gold(question.answer), fields)
