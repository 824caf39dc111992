"""Scores: every finished episode against its gold."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pipeline.analysis import Scored, Tally, score, score_lines
from pipeline.benchmarks.scorers import Scorer, is_judged, load_scorer, officeqa
from pipeline.errors import BenchmarkError, ConfigError, RunError
from pipeline.runs import tables
from pipeline.runs.schemas import OF_EPISODES
from tests.analysis.conftest import SCORER, MakeRun, episode, owed

STRICT = "pipeline.benchmarks.scorers.officeqa_strict"


def values(folder: Path, metric: str) -> dict[str, tuple[float, str]]:
    rows = tables.read(folder, "scores").to_pylist()
    return {row["episode_id"]: (row["value"], row["reason"]) for row in rows if row["metric"] == metric}


def ruled(path: str) -> Scorer:
    """Return the scorer at `path`, which needs no judge."""
    scorer = load_scorer(path)
    assert not is_judged(scorer)
    return scorer


def test_finished_episodes_are_scored_and_owed_ones_counted(make_run: MakeRun) -> None:
    folder = make_run(
        [
            episode("qwen", "t1", 0, "<FINAL_ANSWER>103</FINAL_ANSWER>"),
            episode("qwen", "t2", 0, "nebraska"),
            episode("qwen", "t1", 1, None),
            owed("qwen", "t2", 1),
        ]
    )
    tally = Tally("officeqa", "2026-06-13", episodes=3, no_answer=1, errors=0, unscored=0)
    assert score(folder) == Scored((tally,), owed=1)
    assert values(folder, "exact") == {
        "qwen-t1-0": (0.0, "100 is not in the answer"),
        "qwen-t2-0": (1.0, ""),
        "qwen-t1-1": (0.0, "no answer"),
    }
    assert values(folder, "within_5%")["qwen-t1-0"] == (1.0, "")


def test_a_score_says_by_what_it_was_made(make_run: MakeRun) -> None:
    folder = make_run([episode("qwen", "t1", 0, "100")])
    score(folder)
    rows = tables.read(folder, "scores").to_pylist()
    assert {(row["scorer"], row["version"]) for row in rows} == {("officeqa", "2026-06-13")}
    assert {row["metric"]: json.loads(row["params"]) for row in rows} == officeqa.PARAMS


def test_scoring_again_replaces_the_scores(make_run: MakeRun) -> None:
    folder = make_run([episode("qwen", "t1", 0, "100")])
    score(folder)
    score(folder)
    assert tables.read(folder, "scores").num_rows == len(officeqa.PARAMS)
    assert len(list((folder / "tables/scores").glob("*.parquet"))) == 1


def versions(folder: Path) -> list[tuple[str, str, str, float]]:
    rows = tables.read(folder, "scores").to_pylist()
    return [(r["episode_id"], r["scorer"], r["version"], r["value"]) for r in rows if r["metric"] == "exact"]


def test_another_scorer_stands_beside_the_benchmarks_own(make_run: MakeRun) -> None:
    folder = make_run([episode("qwen", "t1", 0, "100")])
    score(folder)
    scored = score(folder, [STRICT])
    assert [tally.scorer for tally in scored.scorers] == ["officeqa_strict"]
    assert [each[1] for each in versions(folder)] == ["officeqa", "officeqa_strict"]
    score(folder)  # as `evaluate` does: what others said stays
    assert [each[1] for each in versions(folder)] == ["officeqa_strict", "officeqa"]


def test_several_scorers_score_at_once(make_run: MakeRun) -> None:
    folder = make_run([episode("qwen", "t1", 0, "100")])
    scored = score(folder, [SCORER, STRICT])
    assert [tally.scorer for tally in scored.scorers] == ["officeqa", "officeqa_strict"]
    assert len(versions(folder)) == 2


def test_another_version_keeps_the_scores_of_the_one_before(
    make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_run([episode("qwen", "t1", 0, "100"), episode("qwen", "t2", 0, "Iowa")])
    score(folder)
    monkeypatch.setattr(officeqa, "VERSION", "2027")
    monkeypatch.setattr(officeqa, "_guard", lambda gold, answer: "")
    score(folder)
    assert versions(folder) == [
        ("qwen-t1-0", "officeqa", "2026-06-13", 1),
        ("qwen-t2-0", "officeqa", "2026-06-13", 0),
        ("qwen-t1-0", "officeqa", "2027", 1),
        ("qwen-t2-0", "officeqa", "2027", 1),
    ]


def test_other_parameters_keep_the_scores_of_those_before(
    make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_run([episode("qwen", "t1", 0, "102")])
    score(folder)
    monkeypatch.setattr(officeqa, "PARAMS", {"exact": {"tolerance": 0.0}, "within_5%": {"tolerance": 0.5}})
    score(folder)
    rows = tables.read(folder, "scores").to_pylist()
    assert sorted(json.loads(row["params"])["tolerance"] for row in rows) == [0, 0.001, 0.01, 0.05, 0.5]


def test_a_run_that_has_grown_is_scored_whole_and_other_scores_stay(make_run: MakeRun) -> None:
    folder = make_run([episode("qwen", "t1", 0, "100"), owed("qwen", "t2", 0)])
    score(folder, [SCORER, STRICT])
    row = {name: None for name in tables.TABLES["episodes"].names} | episode("qwen", "t2", 0, "Nebraska")
    part = tables.write_part(folder, "episodes", [row])
    tables.commit(folder, "episodes-late", {"episodes": part})
    assert score(folder).owed == 0
    assert [each[:2] for each in versions(folder)] == [
        ("qwen-t1-0", "officeqa_strict"),
        ("qwen-t1-0", "officeqa"),
        ("qwen-t2-0", "officeqa"),
    ]


def test_scores_of_an_episode_that_is_gone_go_with_it(make_run: MakeRun) -> None:
    folder = make_run([episode("qwen", "t1", 0, "100"), episode("qwen", "t2", 0, "Iowa")])
    score(folder, [SCORER, STRICT])
    (folder / "tables/commits/episodes-1.json").unlink()
    score(folder)
    assert {each[0] for each in versions(folder)} == {"qwen-t1-0"}


def test_what_is_no_scorer_leaves_the_scores_as_they_were(make_run: MakeRun) -> None:
    folder = make_run([episode("qwen", "t1", 0, "100")])
    score(folder)
    with pytest.raises(ConfigError):
        score(folder, [SCORER, "pipeline.nowhere"])
    assert len(versions(folder)) == 1


def test_a_scorer_that_fails_is_counted(make_run: MakeRun, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_run([episode("qwen", "t1", 0, "100"), episode("qwen", "t2", 0, "Nebraska")])
    monkeypatch.setattr(officeqa, "MAX_ANSWER_CHARACTERS", None)
    scored = score(folder)
    assert scored.errors == 2 and not scored.lacking(0)
    assert values(folder, "exact")["qwen-t1-0"][1].startswith("internal error: TypeError")


def test_recall_of_gold_evidence_stands_beside_the_scores(make_run: MakeRun) -> None:
    folder = make_run([owed("qwen", "t1", 0)])
    gold = {"benchmark": "ledgerqa", "task_id": "t1", "scorers": [SCORER], "answer": "100"}
    evidence = {"documents": ["a", "b"]}
    filled_gold = dict.fromkeys(tables.GOLD.names) | gold | evidence
    tables.write_file(folder / "gold.parquet", tables.from_rows([filled_gold], tables.GOLD))
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in OF_EPISODES}
    rows["episodes"] = [episode("qwen", "t1", 0, "100")]
    rows["hits"] = [{"episode_id": "qwen-t1-0", "document": "a", "start": 0, "end": 9}]
    filled = {
        name: [{column: None for column in tables.TABLES[name].names} | row for row in each]
        for name, each in rows.items()
    }
    tables.commit(
        folder, "late", {name: tables.write_part(folder, name, each) for name, each in filled.items()}
    )
    assert [tally.scorer for tally in score(folder).scorers] == ["officeqa"]
    assert values(folder, "documents_found") == {"qwen-t1-0": (0.5, "1 of 2 missing")}
    assert values(folder, "documents_read") == {"qwen-t1-0": (0, "2 of 2 missing")}


def test_4_4_the_text_of_an_unaccepted_answer_scores_nothing(make_run: MakeRun) -> None:
    folder = make_run([episode("qwen", "t1", 0, "100", status="model_request_failed")])
    assert score(folder).scorers[0].no_answer == 1


def test_a_run_without_results_has_an_empty_table(make_run: MakeRun) -> None:
    folder = make_run([owed("qwen", "t1", 0)])
    assert score(folder) == Scored((), owed=1)
    assert tables.read(folder, "scores").num_rows == 0


def test_a_task_without_gold_is_an_error(make_run: MakeRun) -> None:
    folder = make_run([episode("qwen", "t1", 0, "100", benchmark="other")])
    with pytest.raises(RunError, match="no task 't1'"):
        score(folder)


def test_a_folder_of_another_version_is_refused_before_it_is_read(make_run: MakeRun) -> None:
    folder = make_run([episode("qwen", "t1", 0, "100")])
    record = folder / "run.json"
    record.write_text(json.dumps({**json.loads(record.read_bytes()), "schema_version": 1}))
    (folder / "gold.parquet").unlink()
    with pytest.raises(RunError, match="schema version 1"):
        score(folder)


def test_what_is_no_scorer_is_an_error() -> None:
    with pytest.raises(ConfigError, match=r"no module 'pipeline\.nowhere'"):
        load_scorer("pipeline.nowhere")
    with pytest.raises(ConfigError, match="has no NAME, VERSION, PARAMS, score"):
        load_scorer("pipeline.errors")


def test_bare_strings_are_scored_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text(
        '{"gold": "100", "answer": "101", "tolerance": 0.01}\n\n{"gold": "100", "answer": "101"}\n', "utf-8"
    )
    lines = list(score_lines(path, ruled(SCORER)))
    assert [line["score"] for line in lines] == [1.0, 0.0]
    assert lines[0] == {"gold": "100", "answer": "101", "tolerance": 0.01, "score": 1.0}


def test_a_scorer_of_episodes_alone_takes_no_bare_strings(tmp_path: Path) -> None:
    judge = SimpleNamespace(NAME="judge")
    with pytest.raises(ConfigError, match="scorer judge scores episodes only"):
        next(score_lines(tmp_path / "answers.jsonl", judge))


def test_bare_strings_get_the_official_verdicts(shared: Path) -> None:
    path = shared / "data/reward_vectors.jsonl"
    expected = [json.loads(line)["score"] for line in path.read_text("utf-8").splitlines()]
    assert [line["score"] for line in score_lines(path, ruled(SCORER))] == expected


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "row 2: no JSON"),
        ("[]", "row 2: not an object"),
        ('{"gold": "1"}', "row 2, column answer: not a string"),
        ('{"gold": 1, "answer": "1"}', "row 2, column gold: not a string"),
        (
            '{"gold": "1", "answer": "1", "tolerance": 5}',
            "row 2, column tolerance: 5 is not a number from 0 to 1",
        ),
    ],
)
def test_a_faulty_line_is_named(tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text(f'{{"gold": "1", "answer": "1"}}\n{line}\n', "utf-8")
    with pytest.raises(BenchmarkError, match=said):
        list(score_lines(path, ruled(SCORER)))
