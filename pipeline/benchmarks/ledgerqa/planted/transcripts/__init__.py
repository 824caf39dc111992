"""Transcript forms of the arms that keep no journal: a trajectory as the records of a JSONL file.

Tool outputs in them are what the tools give on the documents: commands of a shell over `/corpus`, code of a
REPL, each run again in a test and compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pipeline.benchmarks.ledgerqa.planted.steps import Trajectory
from pipeline.benchmarks.ledgerqa.planted.tables import Tables
from pipeline.benchmarks.ledgerqa.planted.transcripts import claude_code, codex, direct, rlm

Form = Callable[[Trajectory, Tables, str], Iterator[dict[str, Any]]]

FORMS: Mapping[str, Form] = {
    "direct": direct.transcript,
    "rlm": rlm.transcript,
    "codex": codex.transcript,
    "claude_code": claude_code.transcript,
}
"""By arm: from a trajectory, the corpus and the episode's id to records."""
