"""The configuration of LongBench v2."""

from __future__ import annotations

from dataclasses import dataclass, field

from omegaconf import MISSING


@dataclass
class LongBenchV2Config:
    """Where `data.json` lies: `questions`, a local path or `hf://datasets/OWNER/NAME[@REVISION]/PATH`.

    `folder` is where it is looked for if it isn't named; `obtain` tells a user whose file isn't there how to
    get it. `allow_other_revision` runs data with other than the published counts, and labels the results.
    """

    _target_: str = "pipeline.benchmarks.longbench_v2.loading.load"
    name: str = "longbench_v2_long"
    folder: str = MISSING
    questions: str = MISSING
    allow_other_revision: bool = False
    obtain: str | None = None
    scorers: list[str] = field(default_factory=lambda: ["pipeline.benchmarks.scorers.longbench_v2"])
