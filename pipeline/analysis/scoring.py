"""Scores: recorded answers against the gold. No backbone is asked; a judge is, where a scorer needs one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.analysis import retrieval
from pipeline.analysis.book import Book, Tally
from pipeline.analysis.judgements import Journal
from pipeline.analysis.judging import Shown
from pipeline.analysis.verdicts import Case, judged, params
from pipeline.backbone.config import JudgeConfig
from pipeline.benchmarks.scorers import JudgedScorer, Scorer, is_judged, load_scorer
from pipeline.benchmarks.tasks import Gold, Span
from pipeline.errors import RunError
from pipeline.runs import tables
from pipeline.runs.folder import RunFolder


@dataclass(frozen=True)
class Scored:
    """What scoring a run came to. `owed` planned episodes have no result yet, and are not scored."""

    scorers: tuple[Tally, ...]
    owed: int

    @property
    def errors(self) -> int:
        """How often a scorer itself failed."""
        return sum(tally.errors for tally in self.scorers)

    def lacking(self, share: float) -> list[Tally]:
        """Return what left more than this share (0 to 1) of its episodes unscored."""
        return [tally for tally in self.scorers if tally.unscored > share * tally.episodes]


@dataclass(frozen=True)
class _Episode:
    """A finished episode as its scorers see it; without an accepted answer it has none."""

    id: str
    case: Case
    scorers: Sequence[str]


def score(
    folder: Path,
    scorers: Sequence[str] = (),
    judge: JudgeConfig | None = None,
    shown: Shown | None = None,
) -> Scored:
    """Score every finished episode of the run in `folder` by the scorers at these import paths.

    Without any: by those of its benchmark, and the recall of its gold evidence. An episode that ended without
    an answer scores 0 (contract 4.4). What the same scorer, in the same version and with the same parameters,
    said of an episode is replaced; every other score stays.

    Only for whoever holds the run's lease. Raises `RunError` if gold is missing, and `ConfigError` for a path
    that leads to no scorer or a judge that can't be asked; then nothing has changed.
    """
    episodes = list(_episodes(folder, scorers))
    loaded = {path: load_scorer(path) for path in dict.fromkeys(p for e in episodes for p in e.scorers)}
    book = Book(folder)
    for path, scorer in loaded.items():
        asked = [episode for episode in episodes if path in episode.scorers]
        if is_judged(scorer):
            _judge(book, folder, scorer, asked, judge or JudgeConfig(), shown)
        else:
            _score(book, scorer, asked)
    tallies = book.tallies()
    if not scorers:
        _recall(book, folder, {episode.id: episode.case.gold for episode in episodes})
    book.store({episode.id for episode in episodes})
    return Scored(tallies, tables.read_plan(folder).num_rows - len(episodes))


def _score(book: Book, scorer: Scorer, episodes: Sequence[_Episode]) -> None:
    for episode in episodes:
        metrics = scorer.score(episode.case.gold, episode.case.answer)
        book.take(episode.id, scorer.NAME, scorer.VERSION, metrics, scorer.PARAMS)


def _judge(
    book: Book,
    folder: Path,
    scorer: JudgedScorer,
    episodes: Sequence[_Episode],
    judge: JudgeConfig,
    shown: Shown | None,
) -> None:
    settings = {scorer.METRIC: params(scorer, judge)}
    with Journal(RunFolder(folder).judgements) as journal:
        verdicts = judged(scorer, [episode.case for episode in episodes], judge, journal, shown)
    for episode, verdict in zip(episodes, verdicts, strict=True):
        book.take(episode.id, scorer.NAME, scorer.VERSION, [verdict.metric], settings)
        book.take_judgements(episode.id, scorer.NAME, [repeat.row() for repeat in verdict.repeats])


def _recall(book: Book, folder: Path, golds: Mapping[str, Gold]) -> None:
    if not any(gold.documents or gold.spans for gold in golds.values()):
        return
    settings: Mapping[str, Mapping[str, Any]] = defaultdict(dict)
    for episode, reached in retrieval.reached(folder):
        metrics = retrieval.recall(golds[episode], reached)
        book.take(episode, retrieval.NAME, retrieval.VERSION, metrics, settings)


def _episodes(folder: Path, scorers: Sequence[str]) -> Iterator[_Episode]:
    golds = {
        (row["benchmark"], row["task_id"]): (_gold(row), scorers or row["scorers"])
        for row in tables.read_gold(folder).to_pylist()
    }
    plan = tables.read_plan(folder).select(["episode_id", "question"]).to_pylist()
    questions = {row["episode_id"]: row["question"] for row in plan}
    columns = ["episode_id", "benchmark", "task_id", "status", "answer"]
    for row in tables.read(folder, "episodes", columns).to_pylist():
        if (row["benchmark"], row["task_id"]) not in golds:
            raise RunError(f"{folder}: gold.parquet has no task {row['task_id']!r}: run evaluate again")
        gold, chosen = golds[row["benchmark"], row["task_id"]]
        answer = row["answer"] if row["status"] == "answered" else None
        question = questions.get(row["episode_id"]) or ""
        yield _Episode(row["episode_id"], Case(question, gold, answer), chosen)


def _gold(row: Mapping[str, Any]) -> Gold:
    return Gold(
        answer=row["answer"],
        documents=tuple(row["documents"] or ()),
        spans=tuple(Span(**span) for span in row["spans"] or ()),
        alternates=tuple(tuple(Span(**span) for span in places) for places in row["alternates"] or ()),
        stale_spans=tuple(Span(**span) for span in row["stale_spans"] or ()),
        expression=row["expression"],
        tolerance=row["tolerance"],
    )
