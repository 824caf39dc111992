"""A run, with real Ray actors and a real HTTP server."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from pipeline.cli import main
from pipeline.config import resolve
from pipeline.errors import ConfigError, RunError
from pipeline.harness.config import BudgetConfig, HarnessConfig
from pipeline.runs import tables
from pipeline.runs.config import TasksConfig
from pipeline.runs.folder import RunFolder
from pipeline.runs.lease import Lease
from pipeline.runs.progress import Progress, read_progress
from pipeline.runs.replay import replay_run
from pipeline.runs.run import run
from tests.runs.observe import rows
from tests.runs.sample import TURNS, Server, arm, spec, write_documents

pytestmark = pytest.mark.usefixtures("cluster")


def test_a_run_fills_every_table(tmp_path: Path, documents: Path, server: Server) -> None:
    progress = Progress()
    result = run(spec(tmp_path, [arm("a", documents, server.url)]), progress)
    assert (result.total, result.finished, result.new, result.owed) == (6, 6, 6, 0)
    rows = {name: tables.read(result.folder, name).to_pylist() for name in tables.TABLES}
    assert {len(rows["episodes"]), len(rows["evidence"]), len(rows["computes"]), len(rows["sources"])} == {6}
    assert len(rows["turns"]) == len(rows["requests"]) == 6 * TURNS
    assert all(episode["status"] == "answered" for episode in rows["episodes"])
    answers = {episode["task_id"]: episode["answer"] for episode in rows["episodes"]}
    assert answers == {f"t{n}": str(1000 + 7 * n) for n in range(6)}
    assert rows["hits"] and {row["list"] for row in rows["conclusions"]} == {"unresolved", "established"}
    references = [ref for turn in rows["turns"] for ref in turn["observation_refs"]]
    read = [
        {key: source[key] for key in ("document", "start", "end", "sha256")} for source in rows["sources"]
    ]
    assert sorted(map(repr, references)) == sorted(map(repr, read))
    seen = read_progress(result.folder)
    assert seen and (seen["done"], seen["owed"], seen["stage"]) == (6, 0, "done")
    assert seen["prompt_tokens"] == sum(episode["prompt_tokens"] for episode in rows["episodes"]) > 0


def test_gold_stays_with_the_driver(tmp_path: Path, documents: Path, server: Server) -> None:
    folder = run(spec(tmp_path, [arm("a", documents, server.url)])).folder
    assert "answer" not in tables.read_plan(folder).column_names
    assert {row["answer"] for row in tables.read_gold(folder).to_pylist()} == {
        str(1000 + 7 * n) for n in range(6)
    }


def test_one_more_seed_keeps_what_is_done(tmp_path: Path, documents: Path, server: Server) -> None:
    arms = [arm("a", documents, server.url)]
    first = rows(run(spec(tmp_path, arms)).folder)
    result = run(spec(tmp_path, arms, seeds=(0, 1)))
    assert (result.total, result.finished, result.new) == (12, 12, 6)
    assert all(set(first[name]) <= set(rows(result.folder)[name]) for name in first)
    # The first command again: its episodes are there, the other seed's stay in the plan.
    assert run(spec(tmp_path, arms)).new == 0
    assert tables.read_plan(result.folder).num_rows == 12


def test_one_more_arm_is_another_episode_of_the_same_task(
    tmp_path: Path, documents: Path, server: Server
) -> None:
    one = arm("a", documents, server.url)
    other = arm("b", documents, server.url, HarnessConfig(budget=BudgetConfig(turns=3)))
    run(spec(tmp_path, [one]))
    result = run(spec(tmp_path, [one, other]))
    episodes = tables.read(result.folder, "episodes").to_pylist()
    assert result.new == 6 and len({episode["episode_id"] for episode in episodes}) == 12
    ends = {(episode["arm"], episode["status"], episode["limit_hit"]) for episode in episodes}
    assert ends == {("a", "answered", None), ("b", "turns_exhausted", "turns")}
    assert not replay_run(result.folder).mismatches


def test_an_arm_of_the_same_name_with_another_config_is_refused(
    tmp_path: Path, documents: Path, server: Server
) -> None:
    run(spec(tmp_path, [arm("a", documents, server.url)]))
    changed = arm("a", documents, server.url, HarnessConfig(budget=BudgetConfig(turns=3)))
    with pytest.raises(RunError, match=r"harness\.budget\.turns: 20 → 3"):
        run(spec(tmp_path, [changed]))


def test_a_changed_document_is_refused_by_name_of_its_corpus(
    tmp_path: Path, documents: Path, server: Server
) -> None:
    run(spec(tmp_path, [arm("a", documents, server.url)]))
    (documents / "c0" / "report_0.txt").write_text("Outlays of department 0 in 1950 were 5.\n")
    with pytest.raises(RunError, match=r"corpora\.c0"):
        run(spec(tmp_path, [arm("a", documents, server.url)]))


def test_a_failed_model_request_is_a_result_and_an_unavailable_backbone_is_owed(
    tmp_path: Path, documents: Path, server: Server
) -> None:
    failing = arm("a", documents, server.url, question="OVERLONG? department {n}", tasks=2)
    result = run(spec(tmp_path, [failing]))
    assert result.complete
    episodes = tables.read(result.folder, "episodes").to_pylist()
    assert {(e["status"], e["turns"]) for e in episodes} == {("model_request_failed", 2)}
    refused = [r for r in tables.read(result.folder, "requests").to_pylist() if r["error"]]
    assert {(request["turn"], request["status"]) for request in refused} == {(3, 400)}
    assert not replay_run(result.folder).mismatches

    away = arm("b", documents, server.url, question="UNAVAILABLE? department {n}", tasks=2)
    result = run(spec(tmp_path, [failing, away]))
    assert (result.finished, result.owed, sum(result.reasons.values())) == (2, 2, 2)
    assert not result.complete and "503" in next(iter(result.reasons))
    assert tables.read(result.folder, "episodes").num_rows == 2


def test_an_arm_whose_backbone_is_gone_is_not_started_over_and_over(
    tmp_path: Path, documents: Path, server: Server
) -> None:
    away = arm("a", documents, server.url, question="UNAVAILABLE? department {n}", tasks=40)
    result = run(spec(tmp_path, [away], episodes=1))
    assert result.owed == 40
    assert server.asked < 20


def test_corpora_that_differ_by_task_are_each_attached(
    tmp_path: Path, documents: Path, server: Server
) -> None:
    write_documents(documents, corpora=7)
    result = run(spec(tmp_path, [arm("a", documents, server.url, tasks=14, corpora=7)]))
    assert result.complete
    plan = tables.read_plan(result.folder).to_pylist()
    assert len({row["corpus"] for row in plan}) == 7
    order = [row["corpus"] for row in plan]
    assert sum(a != b for a, b in pairwise(order)) == 6  # next to each other


def test_native_tool_calls_are_recorded_as_text_and_replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LONGHARNESS_CACHE", str(tmp_path / "cache"))
    smoke = ["experiment=smoke", "harness.action.mode=tools", f"root={tmp_path}", "run=tools"]
    result = run(resolve(smoke))
    assert result.complete
    episodes = tables.read(result.folder, "episodes").to_pylist()
    assert {episode["status"] for episode in episodes} == {"answered"}
    requests = tables.read(result.folder, "requests").to_pylist()
    assert {request["finish"] for request in requests} == {"tool_calls"}
    assert all(turn["valid"] for turn in tables.read(result.folder, "turns").to_pylist())
    assert not replay_run(result.folder).mismatches


def test_one_episode_is_shown_by_its_task_or_the_beginning_of_its_id(
    tmp_path: Path, documents: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = run(spec(tmp_path, [arm("a", documents, server.url)])).folder
    plan = tables.read_plan(folder).to_pylist()
    capsys.readouterr()
    shown = ["replay", str(folder), "--episode", plan[0]["episode_id"][:20]]
    assert main(shown) == 0
    transcript = capsys.readouterr().out
    assert transcript.startswith("[turn 1] ") and transcript.endswith("\nended answered\n")
    assert main(["replay", str(folder), "--episode", plan[0]["task_id"]]) == 0
    assert capsys.readouterr().out == transcript
    assert main([*shown, "--provenance"]) == 0
    assert capsys.readouterr().out.startswith("answer: ")
    assert main(["replay", str(folder), "--episode", "nothing"]) == 2
    assert "0 episodes of" in capsys.readouterr().err
    assert main(["replay", str(folder), "--provenance"]) == 2


def test_a_tampered_journal_is_found_by_replay(tmp_path: Path, documents: Path, server: Server) -> None:
    folder = run(spec(tmp_path, [arm("a", documents, server.url)])).folder
    assert replay_run(folder).episodes == 6
    segment = next(path for path in (folder / "journal").iterdir() if path.stat().st_size)
    lines = segment.read_bytes().splitlines()
    at = next(n for n, line in enumerate(lines) if json.loads(line).get("turn") == 2)
    record = json.loads(lines[at])
    recorded, record["response"] = record["response"], record["response"].replace("passage", "Passage")
    assert recorded != record["response"]
    lines[at] = json.dumps(record).encode()
    segment.write_bytes(b"\n".join(lines) + b"\n")
    # The line's length differs now; a rebuilt table starts from the journal, and says so.
    for commit in (folder / "tables" / "commits").iterdir():
        commit.unlink()
    found = replay_run(folder)
    assert len(found.mismatches) == 1
    assert record["episode"] in found.mismatches[0] and "turn 2" in found.mismatches[0]
    assert record["state_sha256"] in found.mismatches[0]
    result = run(spec(tmp_path, [arm("a", documents, server.url)]))
    assert not result.complete and len(result.mismatches) == 1 and result.new == 5
    assert record["episode"] in (folder / "logs" / "driver.log").read_text()


def test_a_run_that_is_being_driven_refuses_a_second_driver(
    tmp_path: Path, documents: Path, server: Server
) -> None:
    folder = RunFolder(tmp_path / "run")
    folder.create()
    with Lease(folder), pytest.raises(RunError, match="is being driven by process"):
        run(spec(tmp_path, [arm("a", documents, server.url)]))


def test_selected_tasks_can_be_widened_later(tmp_path: Path, documents: Path, server: Server) -> None:
    few = arm("a", documents, server.url, select=TasksConfig(limit=2))
    assert run(spec(tmp_path, [few])).total == 2
    result = run(spec(tmp_path, [arm("a", documents, server.url)]))
    assert (result.total, result.new) == (6, 4)


def test_nothing_to_run_is_unusable(tmp_path: Path, documents: Path, server: Server) -> None:
    good = spec(tmp_path, [arm("a", documents, server.url)])
    with pytest.raises(ConfigError, match="at least one arm"):
        run(replace(good, seeds=()))
    with pytest.raises(ConfigError, match="would run the same episode"):
        run(replace(good, arms=(*good.arms, replace(good.arms[0], name="b"))))
    assert not (tmp_path / "run").exists()
