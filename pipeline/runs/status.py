"""Where a run stands, seen from outside: its plan, its commits, and its driver if one lives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pipeline.runs import tables
from pipeline.runs.folder import RunFolder
from pipeline.runs.lease import current
from pipeline.runs.progress import read_progress


def status(folder: Path) -> dict[str, Any]:
    """Return counts of planned and committed episodes, the living driver or None, and its last progress.

    Raises `RunError` if `folder` is no run.
    """
    run = RunFolder(folder)
    run.read_record()
    committed = [record["episodes"] for record in tables.commits(folder) if "episodes" in record]
    return {
        "run": str(folder),
        "planned": tables.read_plan(folder).num_rows,
        "committed": sum(map(len, committed)),
        "driver": current(run),
        "progress": read_progress(folder),
    }
