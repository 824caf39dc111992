"""The summary of a run: what each arm achieved and spent, over its seeds and by kind of task."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from pipeline.analysis.cost import Bill, Tokens, bill, priced
from pipeline.analysis.planted import planted
from pipeline.backbone.config import PriceConfig, RatesConfig
from pipeline.benchmarks.ledgerqa.planted import Fault
from pipeline.benchmarks.scorers import INTERNAL_ERROR, load_scorer
from pipeline.runs import tables
from pipeline.runs.folder import RunFolder

Scores = Mapping[str, Mapping[str, float | None]]
"""Values by scorer's label and metric."""


@dataclass(frozen=True)
class Rate:
    """A metric over the finished episodes: its mean (0 to 1) by seed, their mean and standard deviation.

    `sd` is the sample standard deviation over seeds, None with fewer than two. `unscored` episodes have no
    value (or, scored by an older scorer only in part, no row) and are in no mean. In a planted run seeds tell
    faults apart, another for each task: the mean is over all episodes, and nothing is said by seed.
    """

    mean: float | None
    sd: float | None
    by_seed: Mapping[int, float]
    unscored: int


@dataclass(frozen=True)
class Figures:
    """What a set of episodes came to. `owed` of the `planned` have no result yet and count nowhere else.

    `rates` are by the scorer's label (see `label`) and metric. Tokens are sums, as the server counts them;
    `scorer_errors` are episodes that a scorer itself failed on.
    """

    planned: int
    done: int
    owed: int
    statuses: Mapping[str, int]
    rates: Mapping[str, Mapping[str, Rate]]
    median_turns: float | None
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    scorer_errors: int


@dataclass(frozen=True)
class ArmSummary:
    """One arm. Without a `language_model` its figures show that the wiring works, nothing about a method.

    `official` are the labels of its benchmark's own scorer (several, where it judged with several models);
    `revision` says how the benchmark's data differ from the published ones. `bill` is of the tokens in
    `figures`, at `price` and `rates`: those of the run's last invocation. `faults` are the figures by planted
    fault, of a planted run.
    """

    arm: str
    harness: str
    backbone: str
    model: str
    benchmark: str
    revision: str | None
    language_model: bool
    official: tuple[str, ...]
    figures: Figures
    by: Mapping[str, Mapping[str, Figures]]
    price: PriceConfig = field(default_factory=PriceConfig)
    rates: RatesConfig = field(default_factory=RatesConfig)
    faults: Mapping[str, Figures] = field(default_factory=dict)

    @property
    def bill(self) -> Bill:
        """What the arm's finished episodes cost, as far as prices and rates are known."""
        figures = self.figures
        tokens = Tokens(figures.prompt_tokens, figures.cached_tokens, figures.completion_tokens)
        return bill(tokens, self.price, self.rates)


@dataclass(frozen=True)
class Summary:
    """A run's arms, in the order in which they were added, and the labels of all scorers.

    `transcripts` are those of a planted run, by arm: episodes that are no part of it. None for other runs.
    `regolded` are the tasks whose gold changed after the run began, with what of it changed.
    """

    run: str
    scorers: tuple[str, ...]
    arms: tuple[ArmSummary, ...]
    transcripts: Mapping[str, int] | None = None
    regolded: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class _Episode:
    """A planned episode; `done` is its row of `episodes`, None while it is owed.

    A planted one has a `fault`, and a seed that says nothing, None.
    """

    seed: int | None
    fault: str | None
    fields: Mapping[str, str]
    done: Mapping[str, Any] | None
    scores: Scores
    scorer_error: bool


def summary(folder: Path) -> Summary:
    """Summarise the run in `folder`: its plan, and its tables `episodes` and `scores`. Raises `RunError`."""
    record = RunFolder(folder).read_record()
    scores = tables.read(folder, "scores").to_pylist()
    labels = {label(row): row for row in scores}
    known = planted(folder)
    episodes = _episodes(folder, scores, known.faults if known else {})
    arms = [_arm(name, arm, episodes[name], labels) for name, arm in record["arms"].items()]
    transcripts = known.transcripts if known else None
    regolded = {row["task_id"]: row["columns"] for row in record.get("regolded", ())}
    return Summary(record["name"], tuple(sorted(labels)), tuple(arms), transcripts, regolded)


def label(score: Mapping[str, Any]) -> str:
    """Return what names the scorer of a row of `scores`: name, version and, if it judged, the model."""
    model = orjson.loads(score["params"]).get("model")
    return f"{score['scorer']} {score['version']}" + (f" by {model}" if model else "")


def _episodes(
    folder: Path, scores: Sequence[Mapping[str, Any]], faults: Mapping[str, str]
) -> Mapping[str, list[_Episode]]:
    """Return the planned episodes of each arm; `faults` are those of planted ones, by id."""
    columns = ["episode_id", "status", "turns", "prompt_tokens", "cached_tokens", "completion_tokens"]
    done = {row["episode_id"]: row for row in tables.read(folder, "episodes", columns).to_pylist()}
    values: dict[str, dict[str, dict[str, float | None]]] = defaultdict(lambda: defaultdict(dict))
    errors = set()
    for row in scores:
        values[row["episode_id"]][label(row)][row["metric"]] = row["value"]
        if row["reason"].startswith(INTERNAL_ERROR):
            errors.add(row["episode_id"])
    arms: dict[str, list[_Episode]] = defaultdict(list)
    planned = tables.read_plan(folder).select(["episode_id", "arm", "seed", "fields"])
    for row in planned.to_pylist():
        key = row["episode_id"]
        arms[row["arm"]].append(
            _Episode(
                seed=None if key in faults else row["seed"],
                fault=faults.get(key),
                fields=dict(row["fields"]),
                done=done.get(key),
                scores=values.get(key, {}),
                scorer_error=key in errors,
            )
        )
    return arms


def _arm(
    name: str,
    record: Mapping[str, Any],
    episodes: Sequence[_Episode],
    labels: Mapping[str, Mapping[str, Any]],
) -> ArmSummary:
    official = load_scorer(record["scorers"][0])
    price, rates = priced(record)
    by: dict[str, dict[str, Figures]] = {}
    for breakdown in record["breakdowns"]:
        if groups := _grouped([(episode.fields.get(breakdown), episode) for episode in episodes]):
            by[breakdown] = groups
    return ArmSummary(
        arm=name,
        harness=record["harness_name"],
        backbone=record["backbone_name"],
        model=record["backbone"]["model"],
        benchmark=record["benchmark"],
        revision=record["revision"],
        language_model=record["language_model"],
        official=tuple(
            sorted(
                name
                for name, row in labels.items()
                if (row["scorer"], row["version"]) == (official.NAME, official.VERSION)
            )
        ),
        figures=_figures(episodes),
        by=by,
        price=price,
        rates=rates,
        faults=_grouped(
            [(fault, episode) for fault in Fault for episode in episodes if episode.fault == fault]
        ),
    )


def _grouped(keyed: Sequence[tuple[str | None, _Episode]]) -> dict[str, Figures]:
    """Return the figures of the episodes that have a key, by it."""
    groups: dict[str, list[_Episode]] = defaultdict(list)
    for key, episode in keyed:
        if key is not None:
            groups[str(key)].append(episode)
    return {key: _figures(group) for key, group in groups.items()}


def _figures(episodes: Sequence[_Episode]) -> Figures:
    done = [episode.done for episode in episodes if episode.done is not None]
    finished = [episode for episode in episodes if episode.done is not None]
    metrics: dict[str, dict[str, None]] = defaultdict(dict)
    for episode in episodes:
        for scorer, values in episode.scores.items():
            metrics[scorer] |= dict.fromkeys(values)
    return Figures(
        planned=len(episodes),
        done=len(done),
        owed=len(episodes) - len(done),
        statuses=dict(sorted(Counter(row["status"] for row in done).items())),
        rates={
            scorer: {metric: _rate(finished, scorer, metric) for metric in names}
            for scorer, names in metrics.items()
        },
        median_turns=statistics.median(row["turns"] for row in done) if done else None,
        prompt_tokens=sum(row["prompt_tokens"] or 0 for row in done),
        cached_tokens=sum(row["cached_tokens"] or 0 for row in done),
        completion_tokens=sum(row["completion_tokens"] or 0 for row in done),
        scorer_errors=sum(episode.scorer_error for episode in episodes),
    )


def _rate(episodes: Sequence[_Episode], scorer: str, metric: str) -> Rate:
    seeds: dict[int | None, list[float]] = defaultdict(list)
    unscored = 0
    for episode in episodes:
        value = episode.scores.get(scorer, {}).get(metric)
        if value is None:
            unscored += 1
        else:
            seeds[episode.seed].append(value)
    by_seed = {seed: statistics.fmean(values) for seed, values in seeds.items() if seed is not None}
    means = [statistics.fmean(values) for values in seeds.values()]
    return Rate(
        mean=statistics.fmean(means) if means else None,
        sd=statistics.stdev(means) if len(means) > 1 else None,
        by_seed=dict(sorted(by_seed.items())),
        unscored=unscored,
    )
