"""From a run's tables to scores, statistics and reports."""

from pipeline.analysis.render import as_json, markdown, screen, write
from pipeline.analysis.scoring import Scored, score, score_lines
from pipeline.analysis.summaries import ArmSummary, Figures, Rate, Summary, summary

__all__ = [
    "ArmSummary",
    "Figures",
    "Rate",
    "Scored",
    "Summary",
    "as_json",
    "markdown",
    "score",
    "score_lines",
    "screen",
    "summary",
    "write",
]
