"""What a planted run says of itself: the fault of each of its episodes, and which others are transcripts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pipeline.runs import tables
from pipeline.runs.folder import RunFolder


@dataclass(frozen=True)
class Planted:
    """`faults` of the run's own episodes, by id; `transcripts`: how many others there are, by arm.

    Transcripts are no part of the run: they are in no plan and no table, and nothing scores them.
    """

    faults: Mapping[str, str]
    transcripts: Mapping[str, int]


def planted(folder: Path) -> Planted | None:
    """Return what `planted.parquet` says, None where there is none. Raises `RunError` if it can't be read."""
    if not RunFolder(folder).planted.is_file():
        return None
    rows = tables.read_planted(folder).to_pylist()
    return Planted(
        faults={row["episode_id"]: row["fault"] for row in rows if row["transcript"] is None},
        transcripts=dict(Counter(row["arm"] for row in rows if row["transcript"] is not None)),
    )
