"""LedgerQA's configuration: how large, how hard, how many questions of which kind."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class Kind(StrEnum):
    """What a question asks of its reader."""

    single = "single"
    arithmetic = "arithmetic"
    series = "series"
    revision = "revision"
    unit = "unit"
    calendar = "calendar"
    list = "list"


@dataclass
class LedgerQAConfig:
    """A generated benchmark; the same values give the same bytes on every machine.

    `tokens` is the size of the documents, estimated at 4 bytes a token. `distractors` is how many further
    tables (0–3) share a table's title but for its accounting basis. `revision_percent`, `errata_percent` and
    `late_percent` of the monthly rows are revised in a later table, corrected by a note after they left the
    tables, or corrected by a circular of its own a year or two later; `restated_percent` of the quarterly
    tables are printed again, restated, an issue later. A series has up to `series_months` months, as far as
    the issues cover so many; sums, means and lists have up to `operands` figures. `noise_percent` of the
    figures of scanned documents are misread, but for those that a question rests on.
    `processes` only changes the time that it takes. `folder` names a generated dataset to read as it is: its
    own parameters count, and one that is set here to another value is refused. `scorers`, the official one
    first, are no part of a dataset.
    """

    _target_: str = "pipeline.benchmarks.ledgerqa.load"
    name: str = "ledgerqa"
    seed: int = 0
    tokens: int = 200_000
    questions_per_kind: int = 10
    kinds: list[Kind] = field(default_factory=lambda: [*Kind])
    distractors: int = 1
    revision_percent: int = 15
    errata_percent: int = 5
    late_percent: int = 5
    restated_percent: int = 40
    series_months: int = 120
    operands: int = 4
    noise_percent: int = 0
    processes: int = 1
    folder: str | None = None
    scorers: list[str] = field(default_factory=lambda: ["pipeline.benchmarks.scorers.officeqa"])
