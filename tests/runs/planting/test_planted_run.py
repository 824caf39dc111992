"""A planted run is a run like any other: scored, replayed and read as such; its truth lies beside it."""

from __future__ import annotations

from collections import Counter, defaultdict
from io import StringIO
from pathlib import Path
from typing import Any

import duckdb
import orjson
import pytest
from rich.console import Console

from pipeline.analysis import as_json, markdown, score, screen, summary
from pipeline.benchmarks.ledgerqa.loading import facts
from pipeline.benchmarks.ledgerqa.planted import Fault
from pipeline.runs import tables
from pipeline.runs.planting.episodes import seeds_of
from pipeline.runs.replay import replay_run
from pipeline.runs.status import status
from tests.runs.planting.conftest import ARMS, Planting, write


def truth(run: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (
        duckdb.sql(f"SELECT * FROM '{run}/planted.parquet'").to_arrow_table().to_pylist()
    )
    return found


def rows(run: Path, table: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = tables.read(run, table).to_pylist()
    return found


def test_every_episode_is_in_the_tables_and_replays_to_the_last_byte(planting: Planting) -> None:
    facts = status(planting.run)
    assert facts["committed"] == facts["planned"] > 0
    replayed = replay_run(planting.run)
    assert (replayed.mismatches, replayed.unfinished) == ([], 0)
    assert replayed.episodes == facts["planned"]


def test_every_turn_is_valid_in_every_variant_and_action_mode(planting: Planting) -> None:
    turns = rows(planting.run, "turns")
    assert {turn["error_code"] for turn in turns} == {None}
    assert not [turn for turn in turns if turn["observation"].startswith(("invalid_conclusion", "deferred"))]
    episodes = rows(planting.run, "episodes")
    assert {episode["status"] for episode in episodes} == {"answered"}
    assert {episode["arm"] for episode in episodes} == set(ARMS) - {"codex", "direct"}


def test_variants_do_what_they_can(planting: Planting) -> None:
    arms = {row["episode_id"]: row["arm"] for row in rows(planting.run, "episodes")}
    kept = Counter(arms[row["episode_id"]] for row in rows(planting.run, "evidence"))
    retired = Counter(
        arms[row["episode_id"]] for row in rows(planting.run, "evidence") if row["status"] != "active"
    )
    lists: defaultdict[str, set[str]] = defaultdict(set)
    for row in rows(planting.run, "conclusions"):
        lists[arms[row["episode_id"]]].add(row["list"])
    assert kept["no_state"] == 0 < kept["longharness"] == kept["append_only"]
    assert retired["append_only"] == 0 < retired["longharness"] == retired["no_coevolution"]
    assert lists["longharness"] == {"established", "unresolved"}
    assert lists["notes"] == {"notes"}
    assert "no_coevolution" not in lists


def test_scores_and_what_was_read_agree_with_the_truth(planting: Planting) -> None:
    score(planting.run)
    scores: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for row in rows(planting.run, "scores"):
        scores[row["episode_id"]][row["metric"]] = row["value"]
    played = [row for row in truth(planting.run) if row["transcript"] is None]
    assert {row["episode_id"] for row in played} == scores.keys()
    for row in played:
        found = scores[row["episode_id"]]
        right = 1.0 if row["fault"] == "right" else 0.0
        assert {found[m] for m in ("exact", "within_0.1%", "within_1%", "within_5%")} == {right}
        assert found["spans_read"] == (1.0 if row["e1"] else 0.0)
        assert (row["e1"] and row["e2"] and row["e3"]) == (row["fault"] == "right")
        assert bool(row["failure_kind"]) == bool(row["note"]) == (row["fault"] != "right")


def test_the_summary_is_by_fault_and_knows_no_seeds(planting: Planting) -> None:
    score(planting.run)
    made = summary(planting.run)
    played = [row for row in truth(planting.run) if row["transcript"] is None]
    told = Counter(row["arm"] for row in truth(planting.run) if row["transcript"])
    assert made.transcripts == told
    for arm in made.arms:
        assert list(arm.faults) == [*Fault]  # in their own order
        assert sum(of.done for of in arm.faults.values()) == arm.figures.done
        for fault, of in arm.faults.items():
            mine = [row for row in played if (row["arm"], row["fault"]) == (arm.arm, fault)]
            assert of.done == len(mine)
            assert of.rates[arm.official[0]]["exact"].mean == (1.0 if fault == "right" else 0.0)
            read = sum(row["e1"] for row in mine) / len(mine)
            assert of.rates["retrieval 1"]["spans_read"].mean == pytest.approx(read)
        exact = arm.figures.rates[arm.official[0]]["exact"]
        assert exact.mean == pytest.approx(arm.faults["right"].done / arm.figures.done)
        assert (exact.sd, exact.by_seed) == (None, {})


def test_every_rendering_shows_the_faults_and_which_episodes_are_scored(planting: Planting) -> None:
    score(planting.run)
    made = summary(planting.run)
    console = Console(width=100, record=True, file=StringIO())
    console.print(screen(made))
    played = sum(arm.figures.planned for arm in made.arms)
    told = sum((made.transcripts or {}).values())
    for text in (markdown(made), console.export_text()):
        assert "By planted fault" in text and "Spans read %" in text and "±" not in text
        words = " ".join(text.split())
        assert f"{played} episodes in {len(made.arms)} arms are the run's, and scored." in words
        assert f"{told} more, of codex, direct, are transcripts" in words
    first = as_json(made)["arms"][0]
    assert first["faults"]["unread"]["rates"]["retrieval 1"]["spans_read"]["mean"] < 1


def test_what_is_read_was_found_by_a_search_before(planting: Planting) -> None:
    """By its exact range, in the observation of a search, or (a passage) as a hit."""
    seen: defaultdict[str, str] = defaultdict(str)
    asked, found = 0, 0
    for turn in sorted(rows(planting.run, "turns"), key=lambda turn: (turn["episode_id"], turn["turn"])):
        if turn["operation"] == "search":
            seen[turn["episode_id"]] += turn["observation"]
        for where in turn["observation_refs"]:
            asked += 1
            found += f"[{where['start']}:{where['end']}]" in seen[turn["episode_id"]]
    assert found / asked > 0.97


def test_cited_evidence_holds_the_figures_that_are_used(planting: Planting) -> None:
    """By the tables alone: what the answer rests on are the gold figures if, and only if, E2 says so."""
    known = facts(planting.dataset)
    e2 = {row["episode_id"]: row["e2"] for row in truth(planting.run)}
    episodes = {
        row["episode_id"]: row for row in rows(planting.run, "episodes") if row["arm"] == "longharness"
    }
    stated: defaultdict[str, str] = defaultdict(str)
    for row in rows(planting.run, "evidence"):
        if row["episode_id"] in episodes and row["evidence_id"] in episodes[row["episode_id"]]["cited"]:
            stated[row["episode_id"]] += row["statement"]
    for episode, row in episodes.items():
        quotes = [operand.span.quote for operand in known[row["task_id"]].operands]
        assert all(quote in stated[episode] for quote in quotes) == e2[episode], (
            row["task_id"],
            stated[episode],
        )


def test_an_agents_side_of_the_run_does_not_tell_the_fault(planting: Planting) -> None:
    """Neither plan nor replies nor transcripts name it; the seeds that tell episodes apart are dealt anew."""
    words = {"unread", "stale", "planted", "arithmetic-fault", "outdated", "not_read", "wrong_unit"}
    plan = orjson.dumps(
        tables.read_plan(planting.run).drop_columns(["fields", "question"]).to_pylist()
    ).decode()
    replies = " ".join(turn["response"] for turn in rows(planting.run, "turns"))
    transcripts = " ".join(
        path.read_text("utf-8") for path in (planting.run / "transcripts").rglob("*.jsonl")
    )
    assert not [word for word in words for text in (plan, replies, transcripts) if word in text]
    by_fault: defaultdict[str, set[int]] = defaultdict(set)
    for row in truth(planting.run):
        by_fault[row["fault"]].add(row["seed"])
    assert all(len(by_fault[fault]) > 2 for fault in ("right", "unread", "form"))


def test_seeds_are_all_dealt_out_for_each_task() -> None:
    dealt = [seeds_of(0, f"single-{number:04}") for number in range(50)]
    assert all(sorted(seeds.values()) == [0, 1, 2, 3, 4] for seeds in dealt)
    assert len({tuple(seeds.values()) for seeds in dealt}) > 25


def test_transcripts_lie_where_the_truth_says(planting: Planting) -> None:
    named = {row["transcript"]: row for row in truth(planting.run) if row["transcript"]}
    found = {
        path.relative_to(planting.run).as_posix() for path in (planting.run / "transcripts").rglob("*.jsonl")
    }
    assert found == set(named)
    for path, row in named.items():
        assert path == f"transcripts/{row['arm']}/{row['task_id']}-{row['seed']}.jsonl"
        assert all(orjson.loads(line) for line in (planting.run / path).read_bytes().splitlines())


def test_the_same_seed_gives_the_same_journal_tables_transcripts_and_truth(
    planting: Planting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, again, other = (tmp_path / name for name in ("first", "again", "other"))
    for run, seed in ((first, "0"), (again, "0"), (other, "1")):
        monkeypatch.setenv("LONGHARNESS_CACHE", str(run.with_suffix(".cache")))
        write(planting.dataset, run, "--limit", "8", "--seed", seed, arms=("longharness", "notes", "codex"))
    same = ["planted.parquet", "plan.parquet", "gold.parquet", "journal/actor0000-0.jsonl"]
    same += [path.relative_to(first).as_posix() for path in first.rglob("transcripts/*/*.jsonl")]
    for name in same:
        assert (again / name).read_bytes() == (first / name).read_bytes(), name
    for table in tables.TABLES:
        assert tables.read(again, table).equals(tables.read(first, table)), table
    assert (other / same[3]).read_bytes() != (first / same[3]).read_bytes()


def test_some_faults_some_questions_and_transcripts_alone_may_be_planted(
    planting: Planting, tmp_path: Path
) -> None:
    write(planting.dataset, tmp_path / "run", "--faults", "right,unread", "--limit", "3", arms=("rlm",))
    found = truth(tmp_path / "run")
    assert Counter(row["fault"] for row in found) == {"right": 3, "unread": 3}
    assert status(tmp_path / "run")["planned"] == 0
    whole = {(row["task_id"], row["fault"]): row["seed"] for row in truth(planting.run)}
    assert all(whole[row["task_id"], row["fault"]] == row["seed"] for row in found)
