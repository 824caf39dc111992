"""The policy on datasets of other seeds and sizes: long series, late corrections, few turns."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.benchmarks.ledgerqa import Kind, LedgerQAConfig, generate
from pipeline.benchmarks.scorers.officeqa import score_answer
from pipeline.benchmarks.tasks import Task
from pipeline.corpus import Corpus
from pipeline.harness.config import BudgetConfig
from tests.backbone.reference.conftest import load_folder
from tests.backbone.reference.episodes import corpus_of, episode, operations, wrong


def generated(folder: Path, config: LedgerQAConfig) -> tuple[list[Task], Corpus]:
    """The questions of a dataset in the phrasings that the policy was built on, and its documents."""
    generate(config, folder)
    tasks = [task for task in load_folder(folder) if task.fields["phrasing"] == "built"]
    return tasks, corpus_of(folder / "documents")


@pytest.mark.parametrize(("seed", "tokens"), [(11, 30_000), (12, 100_000), (13, 300_000)])
async def test_other_seeds_are_answered_as_well(tmp_path: Path, seed: int, tokens: int) -> None:
    config = LedgerQAConfig(seed=seed, tokens=tokens, questions_per_kind=8)
    tasks, corpus = generated(tmp_path / "dataset", config)
    assert await wrong(tasks, corpus) == []


async def test_ten_years_of_months_take_few_turns_and_reads(tmp_path: Path) -> None:
    config = LedgerQAConfig(seed=21, tokens=1_000_000, questions_per_kind=40, kinds=[Kind.series])
    tasks, corpus = generated(tmp_path / "dataset", config)
    long = [task for task in tasks if len(task.gold.spans) >= 72]
    assert max(len(task.gold.spans) for task in long) >= 100
    assert any(task.fields["operation"] == "trend" for task in long)
    for task in long:
        outcome, backbone = await episode(task.view, corpus, budget=BudgetConfig(read_tokens=40_000))
        assert score_answer(task.gold.answer, outcome.answer or "", 0.0), task.view.question
        sent = [operation["name"] for operation in operations(backbone)]
        assert sent.count("search") + sent.count("read") <= 24


async def test_a_late_correction_in_another_document_counts(tmp_path: Path) -> None:
    config = LedgerQAConfig(
        seed=22, tokens=100_000, late_percent=20, questions_per_kind=24, kinds=[Kind.revision]
    )
    tasks, corpus = generated(tmp_path / "dataset", config)
    late = [task for task in tasks if any("circular" in span.document for span in task.gold.spans)]
    assert late
    assert await wrong(late, corpus) == []
