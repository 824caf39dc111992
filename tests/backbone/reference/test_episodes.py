"""The policy end to end through the harness: it answers, and only from what the documents say."""

from __future__ import annotations

import hashlib
import json
import shutil
from itertools import pairwise
from pathlib import Path

import pytest

from pipeline.backbone.reference.numerals import figure
from pipeline.backbone.reference.server import complete
from pipeline.benchmarks.ledgerqa import Kind
from pipeline.benchmarks.scorers.officeqa import score_answer
from pipeline.benchmarks.tasks import Task
from pipeline.corpus import Corpus
from pipeline.harness.config import ActionMode, BudgetConfig, Profile
from pipeline.protocols import AnswerFormat, TaskView
from tests.backbone.reference.conftest import load_folder
from tests.backbone.reference.episodes import corpus_of, episode, operations, wrong


@pytest.mark.parametrize("variant", ["full", "append_only", "no_state"])
async def test_every_kind_of_question_is_answered(built: list[Task], ledger: Corpus, variant: str) -> None:
    assert {task.fields["kind"] for task in built} == {kind.value for kind in Kind}
    assert await wrong(built, ledger, variant) == []


@pytest.mark.parametrize("variant", ["full", "append_only", "no_state", "notes"])
async def test_however_the_operation_is_asked_for_the_replies_are_the_same(
    built: list[Task], ledger: Corpus, variant: str
) -> None:
    for task in built[::4]:
        asked = {mode: await episode(task.view, ledger, variant, mode=mode) for mode in ActionMode}
        outcome, backbone = asked[ActionMode.json_schema]
        assert score_answer(task.gold.answer, outcome.answer or "", 0.0)
        assert [run[1].replies for run in asked.values()] == [backbone.replies] * len(ActionMode)
        for mode, (_, other) in asked.items():
            called = ["tool_calls" in complete(body)["choices"][0]["message"] for body in other.bodies]
            assert set(called) == {mode is ActionMode.tools}


@pytest.mark.parametrize("mode", [ActionMode.tools, ActionMode.text])
async def test_every_kind_of_question_is_answered_by_tool_calls_and_in_text(
    built: list[Task], ledger: Corpus, mode: ActionMode
) -> None:
    assert await wrong(built, ledger, mode=mode) == []


@pytest.mark.parametrize("variant", ["no_guidance", "no_coevolution", "notes"])
async def test_the_other_variants_are_answered_in_too(
    built: list[Task], ledger: Corpus, variant: str
) -> None:
    assert await wrong(built[::4], ledger, variant) == []


@pytest.mark.parametrize("variant", ["full", "append_only", "no_state", "notes"])
async def test_what_goes_beyond_the_paper_refuses_no_right_answer(
    built: list[Task], ledger: Corpus, variant: str
) -> None:
    assert await wrong(built[::2], ledger, variant, Profile.extended) == []


async def test_phrasings_that_it_was_not_built_on_are_mostly_understood(
    apart: list[Task], ledger: Corpus
) -> None:
    missed = len(await wrong(apart, ledger))
    assert missed <= len(apart) // 2, f"{missed} of {len(apart)} were not answered"


async def test_a_table_is_read_in_parts_where_a_read_is_small(built: list[Task], ledger: Corpus) -> None:
    task = next(task for task in built if task.fields["kind"] == "single")
    budget = BudgetConfig(turns=60, tokens_per_read=200)
    outcome, backbone = await episode(task.view, ledger, budget=budget)
    assert score_answer(task.gold.answer, outcome.answer or "", 0.0)
    assert sum(operation["name"] == "read" for operation in operations(backbone)) > 1


async def test_a_revision_is_sent_where_there_is_one_and_else_an_upsert(
    built: list[Task], ledger: Corpus
) -> None:
    revisions = {"full": 0, "append_only": 0}
    for variant in revisions:
        for task in (task for task in built if task.fields["kind"] in ("series", "revision")):
            outcome, backbone = await episode(task.view, ledger, variant)
            assert outcome.status == "answered"
            revisions[variant] += sum("revise" in operation for operation in operations(backbone))
    assert revisions["full"] > 0
    assert revisions["append_only"] == 0


async def test_a_conclusion_comes_after_the_admission_was_seen(built: list[Task], ledger: Corpus) -> None:
    _, backbone = await episode(built[0].view, ledger)
    replies = [json.loads(reply) for reply in backbone.replies]
    for before, reply in pairwise(replies):
        assert ("conclusion" in reply) == (before["operation"]["name"] == "evidence")
    assert replies[0]["conclusion"]["unresolved"]


async def test_the_same_request_gives_the_same_reply(built: list[Task], ledger: Corpus) -> None:
    _, backbone = await episode(built[-1].view, ledger)
    for body, reply in zip(reversed(backbone.bodies), reversed(backbone.replies), strict=True):
        assert complete(body)["choices"][0]["message"]["content"] == reply


async def test_a_question_without_an_answer_ends_without_a_number(ledger: Corpus) -> None:
    view = TaskView("none", "How many lighthouses on the moon were painted in June 1931?", AnswerFormat())
    outcome, _ = await episode(view, ledger)
    assert (outcome.status, outcome.answer) == ("answered", "unable to determine")


async def test_corrupting_the_gold_changes_no_reply(dataset: Path, ledger: Corpus, tmp_path: Path) -> None:
    shutil.copytree(dataset, tmp_path / "corrupt")
    gold = tmp_path / "corrupt" / "gold.jsonl"
    rows = [json.loads(line) for line in gold.read_text().splitlines()]
    for row in rows:
        row.update(answer="1", spans=[], stale_spans=[], documents=[], expression="1")
    gold.write_text("".join(json.dumps(row) + "\n" for row in rows))
    manifest = tmp_path / "corrupt" / "manifest.json"
    made = json.loads(manifest.read_text())
    made["sha256"]["gold.jsonl"] = hashlib.sha256(gold.read_bytes()).hexdigest()
    manifest.write_text(json.dumps(made))
    corrupt = [task for task in load_folder(tmp_path / "corrupt") if task.fields["phrasing"] == "built"]
    honest = [task for task in load_folder(dataset) if task.fields["phrasing"] == "built"]
    assert all(task.gold.answer == "1" for task in corrupt)
    for one, other in zip(honest[::3], corrupt[::3], strict=True):
        assert (await episode(one.view, ledger))[1].replies == (await episode(other.view, ledger))[1].replies


async def test_deleting_the_gold_documents_leaves_nothing_right(
    built: list[Task], dataset: Path, tmp_path: Path
) -> None:
    """Deleted are the documents of the gold spans and those that print the same figures once more."""
    rows = {row["id"]: row for row in map(json.loads, (dataset / "gold.jsonl").read_text().splitlines())}
    for task in built[::2]:
        row = rows[task.view.id]
        gone = set(row["documents"]) | {s["document"] for others in row["alternates"] for s in others}
        folder = tmp_path / task.view.id
        shutil.copytree(dataset / "documents", folder, ignore=lambda _, names, gone=gone: gone & set(names))
        assert await wrong([task], corpus_of(folder)) == [task.view.id]


async def test_editing_a_cell_moves_the_answer_to_the_edited_value(
    built: list[Task], dataset: Path, tmp_path: Path
) -> None:
    edited = 0
    for task in (task for task in built if task.fields["kind"] == "single"):
        (span,) = task.gold.spans
        folder = tmp_path / task.view.id
        shutil.copytree(dataset / "documents", folder)
        text = (folder / span.document).read_text()
        found = figure(span.quote)
        assert found is not None and text[span.start : span.end] == span.quote
        digits = span.quote[:-1] + str((int(span.quote[-1]) + 5) % 10)
        (folder / span.document).write_text(text[: span.start] + digits + text[span.end :])
        outcome, _ = await episode(task.view, corpus_of(folder))
        moved = figure(digits)
        assert moved is not None and outcome.answer is not None
        before = float(task.gold.answer)
        expected = before * moved.value / found.value if found.value else moved.value
        assert float(outcome.answer) == pytest.approx(expected, rel=1e-9, abs=1e-9)
        assert float(outcome.answer) != before
        edited += 1
    assert edited
