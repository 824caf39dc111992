"""The plan: which episodes a run consists of, each under an id that hashes all that its result depends on."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from typing import Any

import orjson
import pyarrow as pa

from pipeline.benchmarks.scorers import is_judged, load_scorer
from pipeline.benchmarks.tasks import Benchmark, CorpusSource, Task
from pipeline.corpus import Corpus
from pipeline.corpus.config import CorpusConfig
from pipeline.errors import ConfigError
from pipeline.plugins import locate
from pipeline.protocols import AnswerFormat, Harness, TaskView
from pipeline.runs import tables
from pipeline.runs.config import TasksConfig
from pipeline.runs.freeze import frozen, plain
from pipeline.runs.spec import ArmSpec, RunSpec

EPISODE_VERSION = 1
"""Raised when the runtime changes so that the same replies give other states: old episodes are not reused."""

OpenCorpus = Callable[[CorpusSource, CorpusConfig], Corpus]


@dataclass(frozen=True)
class PlannedArm:
    """An arm with its tasks, what is recorded of it in `run.json`, and its scorers that need a judge."""

    spec: ArmSpec
    tasks: tuple[Task, ...]
    record: Mapping[str, Any]
    judged: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """The episodes of one invocation, in the order in which they run.

    Tasks that share a corpus are next to each other, and the arms take turns: a run that is cut short has
    asked them the same questions.
    """

    arms: Mapping[str, PlannedArm]
    episodes: pa.Table
    gold: pa.Table

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the episodes as rows of `plan.parquet`, batch by batch."""
        for batch in self.episodes.to_batches(max_chunksize=1_000):
            yield from batch.to_pylist()


def make_plan(spec: RunSpec, open_corpus: OpenCorpus) -> Plan:
    """Plan the run: load the benchmarks, select tasks, open the corpora that they need.

    Raises `ConfigError` for an unknown task, field or scorer, and for two arms that are one and the same.
    """
    benchmarks: dict[bytes, Benchmark] = {}
    arms: dict[str, PlannedArm] = {}
    for arm in spec.arms:
        if arm.name in arms:
            raise ConfigError(f"two arms are named {arm.name!r}: give each its own name")
        key = _canonical(plain(arm.benchmark))
        benchmark = benchmarks.get(key) or locate(arm.benchmark._target_)(arm.benchmark)
        benchmarks[key] = benchmark
        arms[arm.name] = _plan_arm(arm, benchmark, open_corpus)
    placed = [place for arm in arms.values() for place in _episodes(arm, spec.seeds)]
    rows = [row for _, row in sorted(placed, key=lambda place: place[0])]
    _check_distinct(rows)
    gold = _gold(arms.values())
    return Plan(arms, tables.from_rows(rows, tables.PLAN), tables.from_rows(gold, tables.GOLD))


def select(tasks: Sequence[Task], config: TasksConfig) -> tuple[Task, ...]:
    """Return the tasks that `config` asks for: those in `ids`, of these what matches `where`, then `limit`.

    Raises `ConfigError` for an id, field or value that no task has; it names the nearest.
    """
    by_id = {task.view.id: task for task in tasks}
    for task_id in config.ids:
        if task_id not in by_id:
            raise ConfigError(f"tasks.ids: there is no task {task_id!r}{_nearest(task_id, by_id)}")
    chosen = [by_id[task_id] for task_id in config.ids] if config.ids else list(tasks)
    for name, value in config.where.items():
        values = {task.fields[name] for task in tasks if name in task.fields}
        if not values:
            names = {field for task in tasks for field in task.fields}
            raise ConfigError(f"tasks.where: no task has a field {name!r}{_nearest(name, names)}")
        if str(value) not in values:
            raise ConfigError(f"tasks.where: no task has {name}={value}{_nearest(str(value), values)}")
        chosen = [task for task in chosen if task.fields.get(name) == str(value)]
    if config.limit is not None and config.limit < 1:
        raise ConfigError(f"tasks.limit is {config.limit}: give at least 1, or null for all")
    return tuple(chosen[: config.limit])


def task_view(row: Mapping[str, Any]) -> TaskView:
    """Return the task of a row of `plan.parquet`, as an arm may see it."""
    return TaskView(row["task_id"], row["question"], AnswerFormat(**orjson.loads(row["answer_format"])))


def _plan_arm(arm: ArmSpec, benchmark: Benchmark, open_corpus: OpenCorpus) -> PlannedArm:
    tasks = select(benchmark.tasks, arm.tasks)
    fingerprints = {
        corpus: open_corpus(benchmark.corpora[corpus], arm.corpus).fingerprint
        for corpus in dict.fromkeys(task.corpus for task in tasks)
    }
    scorers = [load_scorer(path) for path in benchmark.scorers]
    harness: Harness = locate(arm.harness._target_)(arm.harness)
    backbone = plain(arm.backbone)
    identity = {
        "harness": plain(arm.harness),
        "backbone": {key: backbone[key] for key in ("name", "model", "max_tokens", "sampling")},
    }
    record = identity | {
        "harness": frozen(arm.harness),
        "harness_name": arm.harness_name,
        "backbone_name": arm.backbone_name,
        "benchmark": arm.benchmark_name,
        "language_model": arm.backbone.language_model,
        "scorers": list(benchmark.scorers),
        "breakdowns": list(benchmark.breakdowns),
        "revision": benchmark.revision,
        "origins": list(benchmark.origins),
        "parameters": dict(benchmark.parameters),
        "prompt_sha256": harness.prompt_sha256,
        "config_sha256": hashlib.sha256(_canonical(identity)).hexdigest(),
        "corpora": fingerprints,
        "price": backbone["price"],
        "rates": backbone["rates"],
    }
    return PlannedArm(arm, tasks, record, tuple(scorer.NAME for scorer in scorers if is_judged(scorer)))


def _episodes(arm: PlannedArm, seeds: Sequence[int]) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield each episode of the arm with what it is ordered by."""
    for position, task in enumerate(arm.tasks):
        for seed in seeds:
            row = _episode(arm, task, seed)
            yield (row["corpus"], position, seed), row


def _episode(arm: PlannedArm, task: Task, seed: int) -> dict[str, Any]:
    record = arm.record
    corpus = record["corpora"][task.corpus]
    view = asdict(task.view)
    identity = {
        "version": EPISODE_VERSION,
        "task": view,
        "corpus": corpus,
        "seed": seed,
        "config": record["config_sha256"],
        "prompt": record["prompt_sha256"],
    }
    return {
        "episode_id": hashlib.sha256(_canonical(identity)).hexdigest()[:32],
        "arm": arm.spec.name,
        "harness": record["harness_name"],
        "backbone": record["backbone_name"],
        "model": record["backbone"]["model"],
        "benchmark": record["benchmark"],
        "task_id": task.view.id,
        "corpus_id": task.corpus,
        "seed": seed,
        "corpus": corpus,
        "question": task.view.question,
        "answer_format": _canonical(view["answer_format"]).decode(),
        "fields": list(task.fields.items()),
        "prompt_sha256": record["prompt_sha256"],
        "config_sha256": record["config_sha256"],
    }


def _gold(arms: Iterable[PlannedArm]) -> list[dict[str, Any]]:
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for arm in arms:
        for task in arm.tasks:
            row = {
                "benchmark": arm.record["benchmark"],
                "task_id": task.view.id,
                "scorers": arm.record["scorers"],
                **asdict(task.gold),
            }
            if found.setdefault((row["benchmark"], task.view.id), row) != row:
                raise ConfigError(
                    f"task {task.view.id!r} of benchmark {row['benchmark']!r} has another gold answer in arm "
                    f"{arm.spec.name!r} than in another: one run holds one configuration of a benchmark"
                )
    return list(found.values())


def _check_distinct(rows: Sequence[Mapping[str, Any]]) -> None:
    arms: dict[str, str] = {}
    for row in rows:
        if row["episode_id"] in arms:
            raise ConfigError(
                f"arms {arms[row['episode_id']]!r} and {row['arm']!r} would run the same episode (task "
                f"{row['task_id']!r}, seed {row['seed']}): drop one, or name a repeated seed once"
            )
        arms[row["episode_id"]] = row["arm"]


def _nearest(name: str, known: Any) -> str:
    found = get_close_matches(name, sorted(known), n=1, cutoff=0.0)
    return f"; the nearest is {found[0]!r}" if found else "; there are none"


def _canonical(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
