"""From a run's tables to scores, statistics and reports."""

from pipeline.analysis.book import Tally
from pipeline.analysis.judging import check_judge
from pipeline.analysis.lines import judge_lines, score_lines
from pipeline.analysis.render import as_json, markdown, screen, write
from pipeline.analysis.scoring import Scored, score
from pipeline.analysis.summaries import ArmSummary, Figures, Rate, Summary, summary

__all__ = [
    "ArmSummary",
    "Figures",
    "Rate",
    "Scored",
    "Summary",
    "Tally",
    "as_json",
    "check_judge",
    "judge_lines",
    "markdown",
    "score",
    "score_lines",
    "screen",
    "summary",
    "write",
]
