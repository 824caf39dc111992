"""The configuration of AA-LCR."""

from __future__ import annotations

from dataclasses import dataclass, field

from omegaconf import MISSING


@dataclass
class AALCRConfig:
    """Where AA-LCR lies: each a local path or `hf://datasets/OWNER/NAME[@REVISION]/PATH`.

    `questions` is the official CSV file, and `documents` the archive of its texts or a folder that it was
    extracted to; or `questions` is a Parquet file with the documents in its rows, and `documents` is not
    looked at. `folder` is where both are looked for if they aren't named; `obtain` tells a user whose files
    aren't there how to get them. `allow_other_revision` runs data with other than the published counts, and
    labels the results.
    """

    _target_: str = "pipeline.benchmarks.aa_lcr.loading.load"
    name: str = "aa_lcr"
    folder: str = MISSING
    questions: str = MISSING
    documents: str | None = None
    allow_other_revision: bool = False
    obtain: str | None = None
    scorers: list[str] = field(default_factory=lambda: ["pipeline.benchmarks.scorers.equality"])
