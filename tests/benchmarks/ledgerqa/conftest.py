"""Datasets that the tests share, and what an independent reader finds in them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pipeline.benchmarks.ledgerqa import LedgerQAConfig, Manifest, generate
from tests.benchmarks.ledgerqa.oracle import Oracle


@dataclass(frozen=True)
class Dataset:
    folder: Path
    config: LedgerQAConfig
    manifest: Manifest
    questions: list[dict[str, Any]]
    golds: dict[str, dict[str, Any]]
    oracle: Oracle


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.fixture(scope="session")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Fifty questions of each kind over 600,000 tokens with two distractors a table."""
    folder = tmp_path_factory.mktemp("ledgerqa") / "dataset"
    config = LedgerQAConfig(seed=11, tokens=600_000, questions_per_kind=50, distractors=2)
    manifest = generate(config, folder)
    golds = {row["id"]: row for row in rows(folder / "gold.jsonl")}
    questions = rows(folder / "questions.jsonl")
    return Dataset(folder, config, manifest, questions, golds, Oracle(folder / "documents"))
