"""The configuration of OfficeQA."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from omegaconf import MISSING


class Rendering(StrEnum):
    """How a parsed document is written as text; the values are the folders of the published texts.

    `page_level` has a line `--- PAGE n ---` before each page.
    """

    transformed = "transformed"
    page_level = "transformed_page_level"


@dataclass
class OfficeQAConfig:
    """A question file and its documents: folders of text, PDF and HTML files, or a folder of parsed JSON.

    Each is a local path or `hf://datasets/OWNER/NAME[@REVISION]/PATH`; `folder` is for options that look for
    all of them in one place. Where `documents` are not there, those of the folder `parsed` are rendered as
    text, in the form `rendering`.

    `exclude` lists uids whose gold is known to be wrong. They are asked all the same, and marked by the field
    `excluded`, so that results are reported with and without them; `tasks.where.excluded=no` leaves them out.
    `published` holds the counts of the published data, and `obtain` tells a user whose files aren't there how
    to get them.
    """

    _target_: str = "pipeline.benchmarks.officeqa.load"
    name: str = "officeqa"
    questions: str = MISSING
    documents: list[str] = field(default_factory=list)
    parsed: str | None = None
    rendering: Rendering = Rendering.transformed
    exclude: list[str] = field(default_factory=list)
    published: dict[str, int] = field(default_factory=dict)
    allow_other_revision: bool = False
    obtain: str | None = None
    folder: str | None = None
    scorers: list[str] = field(
        default_factory=lambda: [
            "pipeline.benchmarks.scorers.officeqa",
            "pipeline.benchmarks.scorers.officeqa_strict",
        ]
    )
