"""LongBench v2 Long as a benchmark: each question over a corpus of its own, answered by a letter."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from pipeline.benchmarks.hub import obtain
from pipeline.benchmarks.longbench_v2.config import LongBenchV2Config
from pipeline.benchmarks.longbench_v2.unpacking import Item, Unpacked, unpacked
from pipeline.benchmarks.revisions import check_counts
from pipeline.benchmarks.tasks import Benchmark, CorpusSource, Gold, Task
from pipeline.errors import BenchmarkError
from pipeline.protocols import AnswerFormat, TaskView

QUESTIONS = 108
WORDS = {"fewest words": 132_000, "median of words": 204_000, "most words": 1_380_000}
"""What is published of the long contexts, to three digits and by an unnamed way of counting."""

_NEAR = 0.05
"""Numbers of words this near to the published ones are those: other ways of counting differ by less."""


def load(config: LongBenchV2Config) -> Benchmark:
    """Read the long questions, and unpack their documents into the cache if they aren't there yet.

    Raises `BenchmarkError`, which names file, row and column, or found and published counts.
    """
    obtained = obtain("questions", config.questions, config.obtain)
    data = unpacked(obtained.path)
    if not data.items:
        raise BenchmarkError(f"{obtained.path}: no row has the length 'long'")
    revision = _revision(config, data.items)
    return Benchmark(
        config.name,
        tuple(_task(item) for item in data.items),
        {item.id: _corpus(data, item) for item in data.items},
        tuple(config.scorers),
        breakdowns=("difficulty", "domain"),
        revision=revision,
        origins=(obtained.origin,) if obtained.origin else (),
    )


def _revision(config: LongBenchV2Config, items: Sequence[Item]) -> str | None:
    """Compare with what is published: how many questions, and, if so many, the lengths of their documents."""
    found, published = {"questions": len(items)}, {"questions": QUESTIONS}
    if len(items) == QUESTIONS:
        words = [item.words for item in items]
        for what, count in zip(WORDS, (min(words), round(median(words)), max(words)), strict=True):
            near = abs(count - WORDS[what]) <= _NEAR * WORDS[what]
            found[what], published[what] = (WORDS[what] if near else count), WORDS[what]
    return check_counts(config.name, found, published, config.allow_other_revision)


def _corpus(data: Unpacked, item: Item) -> CorpusSource:
    return CorpusSource(item.id, (data.documents(item),))


def _task(item: Item) -> Task:
    choices = "\n".join(
        f"({letter}) {text.strip()}" for letter, text in zip("ABCD", item.choices, strict=True)
    )
    view = TaskView(item.id, f"{item.question.strip()}\n\n{choices}", AnswerFormat("letter"))
    fields = {"difficulty": item.difficulty, "domain": item.domain, "sub_domain": item.sub_domain}
    return Task(view, item.id, Gold(item.answer), fields)
