"""The tables that scoring makes: what is new in them, what it replaces, and what stays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.benchmarks.scorers import INTERNAL_ERROR, NO_ANSWER, Metric
from pipeline.runs import tables

BATCH = 10_000
_OF_SCORE = ("episode_id", "scorer", "version", "params")
_OF_JUDGEMENT = ("episode_id", "scorer", "repeat", "prompt_sha256")
UNJUDGED: Mapping[str, Any] = {"model": None}
"""Parameters of a judged scorer where there is no judge: such a row is no score to keep beside a real one."""


@dataclass(frozen=True)
class Tally:
    """What a scorer came to, on how many episodes.

    Of these: `no_answer` (they score 0), `errors` (the scorer itself failed: they score 0, too) and
    `unscored` (they have no value), with the reasons and how many have each.
    """

    scorer: str
    version: str
    episodes: int
    no_answer: int
    errors: int
    unscored: int
    reasons: Mapping[str, int] = field(default_factory=dict)


class Book:
    """Collects the scores of the run in `folder`, and stores them all at once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._rows: list[dict[str, Any]] = []
        self._parts = [tables.TABLES["scores"].empty_table()]
        self._judgements: list[dict[str, Any]] = []
        self._counts: dict[tuple[str, str], Counter[str]] = {}
        self._reasons: dict[tuple[str, str], Counter[str]] = {}

    def take(
        self,
        episode: str,
        scorer: str,
        version: str,
        metrics: Sequence[Metric],
        params: Mapping[str, Mapping[str, Any]],
    ) -> None:
        """Take down what `scorer` says of an episode; `params` are the settings behind each metric."""
        self._count((scorer, version), metrics)
        for metric in metrics:
            self._rows.append(
                {
                    "episode_id": episode,
                    "scorer": scorer,
                    "version": version,
                    "params": _encoded(params[metric.metric]),
                    "metric": metric.metric,
                    "value": metric.value,
                    "reason": metric.reason,
                }
            )
        if len(self._rows) >= BATCH:
            self._flush()

    def take_judgements(self, episode: str, scorer: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Take down the judgements that a score was made of."""
        self._judgements += [{"episode_id": episode, "scorer": scorer, **row} for row in rows]

    def tallies(self) -> tuple[Tally, ...]:
        """Return what each scorer came to until now."""
        return tuple(
            Tally(
                *scorer,
                counts["episodes"],
                counts[NO_ANSWER],
                counts[INTERNAL_ERROR],
                counts["unscored"],
                dict(self._reasons[scorer].most_common()),
            )
            for scorer, counts in self._counts.items()
        )

    def store(self, episodes: Collection[str]) -> None:
        """Put the scores, and judgements, of the run's finished `episodes` in its tables.

        What was taken down replaces rows of the same episode, scorer, version and parameters; every other row
        stays, before the new ones, unless its episode is none of `episodes`.
        """
        self._flush()
        new = pa.concat_tables(self._parts)
        unjudged = new.set_column(
            new.schema.get_field_index("params"),
            "params",
            pa.array([_encoded(UNJUDGED)] * new.num_rows, pa.string()),
        )
        gone = pa.concat_arrays([_keys(new, _OF_SCORE), _keys(unjudged, _OF_SCORE)])
        self._replace("scores", new, _OF_SCORE, gone, episodes)
        judgements = tables.from_rows(self._judgements, tables.TABLES["judgements"])
        gone = _keys(judgements, _OF_JUDGEMENT)
        self._replace("judgements", judgements, _OF_JUDGEMENT, gone, episodes)

    def _replace(
        self, table: str, new: pa.Table, key: Sequence[str], gone: pa.Array, episodes: Collection[str]
    ) -> None:
        old = tables.read(self._folder, table)
        stays = pc.and_(
            pc.is_in(old["episode_id"], pa.array(sorted(episodes), pa.string())),
            pc.invert(pc.is_in(_keys(old, key), gone)),
        )
        if old.num_rows or new.num_rows or table == "scores":
            tables.replace(self._folder, table, pa.concat_tables([old.filter(stays), new]))

    def _count(self, scorer: tuple[str, str], metrics: Sequence[Metric]) -> None:
        counts = self._counts.setdefault(scorer, Counter())
        reasons = self._reasons.setdefault(scorer, Counter())
        lacking = [metric.reason for metric in metrics if metric.value is None]
        counts["episodes"] += 1
        counts["unscored"] += bool(lacking)
        reasons.update(lacking[:1])
        counts[INTERNAL_ERROR] += any(metric.reason.startswith(INTERNAL_ERROR) for metric in metrics)
        counts[NO_ANSWER] += bool(metrics) and all(metric.reason == NO_ANSWER for metric in metrics)

    def _flush(self) -> None:
        self._parts.append(tables.from_rows(self._rows, tables.TABLES["scores"]))
        self._rows = []


def _encoded(params: Mapping[str, Any]) -> str:
    return orjson.dumps(params, option=orjson.OPT_SORT_KEYS).decode()


def _keys(table: pa.Table, names: Sequence[str]) -> pa.Array:
    columns = [pc.cast(table[name], pa.string()) for name in names]
    return pc.binary_join_element_wise(*columns, "\0").combine_chunks()
