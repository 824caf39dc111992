"""Two arms, or two runs, on the same tasks: where episodes of the same seed part, and who scored more.

An episode is paired with that of the same benchmark, task and seed. Two that differ do so from their first
turn whose reply or state is another; if that turn's prompts were the same, the server replied otherwise.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from pipeline.analysis.summaries import label
from pipeline.errors import RunError
from pipeline.runs import tables
from pipeline.runs.folder import RunFolder

Key = tuple[str, str, int]
"""Benchmark, task and seed."""

_EPISODE = ["episode_id", "arm", "benchmark", "task_id", "seed", "status", "answer"]


@dataclass(frozen=True)
class Side:
    """One of the two that are compared: an arm of the run in `folder`."""

    folder: Path
    arm: str


@dataclass(frozen=True)
class Divergence:
    """Where two episodes part. `same_prompt` tells whether that turn was asked alike; None if unknown."""

    benchmark: str
    task_id: str
    seed: int
    turn: int
    same_prompt: bool | None


@dataclass(frozen=True)
class Change:
    """Two episodes that ended otherwise: status and answer of each."""

    benchmark: str
    task_id: str
    seed: int
    statuses: tuple[str, str]
    answers: tuple[str | None, str | None]


@dataclass(frozen=True)
class Paired:
    """A metric over the pairs that have it: means, and how often the first scored more, less, as much."""

    scorer: str
    metric: str
    pairs: int
    means: tuple[float, float]
    wins: int
    losses: int
    ties: int


@dataclass(frozen=True)
class Comparison:
    """What comes of comparing two sides. `alone` counts finished episodes without a finished partner."""

    names: tuple[str, str]
    pairs: int
    alone: tuple[int, int]
    identical: int
    divergences: tuple[Divergence, ...] = ()
    changes: tuple[Change, ...] = ()
    scores: tuple[Paired, ...] = ()

    @property
    def median_turn(self) -> float | None:
        """The median turn of divergence, of the pairs that part."""
        return statistics.median(d.turn for d in self.divergences) if self.divergences else None


@dataclass
class _Episode:
    row: Mapping[str, Any]
    turns: dict[int, bytes] = field(default_factory=dict)
    prompts: dict[int, str | None] = field(default_factory=dict)


def compare(first: Side, second: Side) -> Comparison:
    """Compare two sides. Raises `RunError` for an arm that its run has not, and if there is no pair."""
    one, other = _episodes(first), _episodes(second)
    shared = sorted(one.keys() & other.keys())
    if not shared:
        raise RunError(
            f"arm {first.arm!r} of {first.folder} and arm {second.arm!r} of {second.folder} have no finished "
            "episode of the same benchmark, task and seed: nothing can be compared"
        )
    parted = [(key, turn) for key in shared if (turn := divergence(one[key].turns, other[key].turns))]
    return Comparison(
        names=_names(first, second),
        pairs=len(shared),
        alone=(len(one) - len(shared), len(other) - len(shared)),
        identical=len(shared) - len(parted),
        divergences=tuple(
            Divergence(*key, turn, _same(one[key].prompts.get(turn), other[key].prompts.get(turn)))
            for key, turn in parted
        ),
        changes=tuple(_changes(shared, one, other)),
        scores=tuple(_paired(_scores(first, one), _scores(second, other))),
    )


def divergence(one: Mapping[int, bytes], other: Mapping[int, bytes]) -> int | None:
    """Return the first turn that is another, or that only one has; None if there is none."""
    return min((turn for turn in one.keys() | other.keys() if one.get(turn) != other.get(turn)), default=None)


def _names(first: Side, second: Side) -> tuple[str, str]:
    if first.folder == second.folder:
        return first.arm, second.arm
    names = first.folder.name, second.folder.name
    return names if first.arm == second.arm else (f"{names[0]} {first.arm}", f"{names[1]} {second.arm}")


def _episodes(side: Side) -> dict[Key, _Episode]:
    """The finished episodes of a side, with a digest of each turn and the hash of each turn's prompt."""
    arms = RunFolder(side.folder).read_record()["arms"]
    if side.arm not in arms:
        raise RunError(f"{side.folder} has no arm {side.arm!r}; there are {', '.join(arms)}")
    columns = {
        "episodes": _EPISODE,
        "turns": ["episode_id", "turn", "response", "state_sha256"],
        "requests": ["episode_id", "turn", "request", "prompt_sha256"],
    }
    found: dict[str, _Episode] = {}
    for batch in tables.read_batches(side.folder, columns):
        for row in batch["episodes"].to_pylist():
            if row["arm"] == side.arm:
                found[row["episode_id"]] = _Episode(row)
        for row in batch["turns"].to_pylist():
            if episode := found.get(row["episode_id"]):
                said = f"{row['state_sha256']}\n{row['response']}".encode("utf-8", "surrogatepass")
                episode.turns[row["turn"]] = sha256(said).digest()
        for row in batch["requests"].to_pylist():
            if episode := found.get(row["episode_id"]):
                episode.prompts[row["turn"]] = row["prompt_sha256"]
    return {
        (episode.row["benchmark"], episode.row["task_id"], episode.row["seed"]): episode
        for episode in found.values()
    }


def _same(one: str | None, other: str | None) -> bool | None:
    return None if one is None or other is None else one == other


def _changes(
    shared: Sequence[Key], one: Mapping[Key, _Episode], other: Mapping[Key, _Episode]
) -> Iterator[Change]:
    for key in shared:
        first, second = one[key].row, other[key].row
        if (first["status"], first["answer"]) != (second["status"], second["answer"]):
            statuses = first["status"], second["status"]
            yield Change(*key, statuses, (first["answer"], second["answer"]))


Scores = dict[tuple[str, str], dict[Key, float]]
"""Values by scorer's label and metric."""


def _scores(side: Side, episodes: Mapping[Key, _Episode]) -> Scores:
    keys = {episode.row["episode_id"]: key for key, episode in episodes.items()}
    found: Scores = {}
    for row in tables.read(side.folder, "scores").to_pylist():
        if row["value"] is not None and row["episode_id"] in keys:
            found.setdefault((label(row), row["metric"]), {})[keys[row["episode_id"]]] = row["value"]
    return found


def _paired(one: Scores, other: Scores) -> Iterator[Paired]:
    for scorer, metric in [name for name in one if name in other]:
        first, second = one[scorer, metric], other[scorer, metric]
        both = [(first[key], second[key]) for key in sorted(first.keys() & second.keys())]
        if both:
            signs = Counter((a > b) - (a < b) for a, b in both)
            means = statistics.fmean(a for a, _ in both), statistics.fmean(b for _, b in both)
            yield Paired(scorer, metric, len(both), means, signs[1], signs[-1], signs[0])
