"""Judged scores: what is asked of a judge, what is made of its replies, and what is kept of them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipeline.analysis import check_judge, judge_lines, score
from pipeline.analysis.verdicts import BLANK, CUT_OFF, NO_JUDGE, NO_VERDICT, NOT_ASKED
from pipeline.backbone.config import ClientConfig, JudgeConfig, SamplingConfig
from pipeline.benchmarks.scorers import NO_ANSWER, equality
from pipeline.errors import BenchmarkError, ConfigError, RunError
from pipeline.runs import tables
from pipeline.runs.folder import RunFolder
from tests.analysis.conftest import MakeRun, episode
from tests.backbone.faults import Step, completion, hang, replied, reset
from tests.judge_server import judge_server

EQUALITY = "pipeline.benchmarks.scorers.equality"
OFFICEQA = "pipeline.benchmarks.scorers.officeqa"
IMPATIENT = ClientConfig(attempts=1, patience=0, backoff=0, max_backoff=0, total_timeout=10)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own."""
    monkeypatch.setenv("LONGHARNESS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def judge(url: str, **values: Any) -> JudgeConfig:
    """One request at a time, once an answer, without patience."""
    one = JudgeConfig("test", "judge-7b", [url], repeats=1, concurrency=1, client=IMPATIENT)
    return replace(one, **values)


def scores(folder: Path, scorer: str = "equality") -> dict[str, tuple[float | None, str]]:
    rows = tables.read(folder, "scores").to_pylist()
    return {row["episode_id"]: (row["value"], row["reason"]) for row in rows if row["scorer"] == scorer}


def judgements(folder: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = tables.read(folder, "judgements").to_pylist()
    return rows


def answered(make_run: MakeRun, *answers: str | None) -> Path:
    """A run whose episodes gave these answers, one a seed, to the question with the gold `Nebraska`."""
    return make_run(
        episode("qwen", "t2", seed, answer, question="Which state?") for seed, answer in enumerate(answers)
    )


def only(folder: Path) -> tuple[float | None, str]:
    (found,) = scores(folder).values()
    return found


# --- What is asked


def test_the_judge_is_asked_about_question_gold_and_answer(make_run: MakeRun) -> None:
    folder = answered(make_run, "the state of Nebraska")
    with judge_server() as server:
        sampling = SamplingConfig(temperature=0.0, extra={"top_k": 1})
        score(folder, [EQUALITY], judge(server.url, repeats=2, sampling=sampling, max_tokens=99))
    first, second = server.bodies
    for text in ("Which state?", "\nNebraska\n", "\nthe state of Nebraska\n"):
        assert text in first["messages"][0]["content"]
    assert (first["model"], first["temperature"], first["top_k"], first["max_tokens"]) == (
        "judge-7b",
        0,
        1,
        99,
    )
    assert (first.pop("seed"), second.pop("seed")) == (0, 1)
    assert first == second


@pytest.mark.parametrize("answer", [None, "", " \n\t", "\u00a0\u200b\ufeff"])
def test_a_blank_answer_is_incorrect_and_not_asked_about(make_run: MakeRun, answer: str | None) -> None:
    folder = answered(make_run, answer)
    with judge_server() as server:
        score(folder, [EQUALITY], judge(server.url))
    assert only(folder) == (0, NO_ANSWER if answer is None else BLANK)
    assert server.bodies == [] and judgements(folder) == []


def test_equal_answers_are_asked_about_once(make_run: MakeRun) -> None:
    folder = answered(make_run, "Nebraska", "Iowa", "Nebraska")
    with judge_server() as server:
        score(folder, [EQUALITY], judge(server.url))
    assert len(server.bodies) == 2
    assert [value for value, _ in scores(folder).values()] == [1, 0, 1]
    assert [row["cached"] for row in judgements(folder)] == [False, False, True]


# --- What is made of replies


def test_the_metric_is_the_mean_over_the_repeats(make_run: MakeRun) -> None:
    folder = answered(make_run, "Lincoln, NE")
    with judge_server(*map(completion, ("CORRECT", "INCORRECT", "CORRECT"))) as server:
        score(folder, [EQUALITY], judge(server.url, repeats=3))
    assert only(folder) == (2 / 3, "judged correct 2 times of 3")


def test_a_repeat_without_a_verdict_is_in_no_mean_and_told_of(make_run: MakeRun) -> None:
    folder = answered(make_run, "Lincoln, NE")
    with judge_server(*map(completion, ("CORRECT", "Hard to say.", "CORRECT"))) as server:
        score(folder, [EQUALITY], judge(server.url, repeats=3))
    assert only(folder) == (1, f"1 of 3 repeats gave no verdict ({NO_VERDICT})")


def test_reasoning_before_the_verdict_is_left_out(make_run: MakeRun) -> None:
    folder = answered(make_run, "Nebraska")
    with judge_server(completion("<think>\nINCORRECT?\n</think>\nCORRECT", reasoning="hm")) as server:
        score(folder, [EQUALITY], judge(server.url))
    assert only(folder) == (1, "")


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (completion("partially correct"), NO_VERDICT),
        (completion("CORRECT", finish="length"), CUT_OFF),
        (completion("", finish="length"), CUT_OFF),
        (completion("", finish="content_filter"), "the judge failed: refused"),
        (completion(None, refusal="I won't."), "the judge failed: refused: I won't."),
        (completion(None), "the judge failed: empty"),
        (replied(400, "no"), "the judge failed: bad_request: status 400: no"),
        (replied(429, "slow down"), "the judge failed: rate_limited"),
        (replied(500, "ouch"), "the judge failed: server_error: status 500: ouch"),
        (replied(200, "CORRECT"), "the judge failed: malformed"),
        (replied(200, {"choices": []}), "the judge failed: malformed"),
        (reset, "the judge failed: connection"),
    ],
)
def test_what_gives_no_verdict_is_unscored_and_counted(make_run: MakeRun, step: Step, reason: str) -> None:
    folder = answered(make_run, "Nebraska", None)
    with judge_server(step) as server:
        scored = score(folder, [EQUALITY], judge(server.url))
    value, said = scores(folder)["qwen-t2-0"]
    assert value is None
    assert said.startswith(reason)
    (tally,) = scored.scorers
    assert (tally.episodes, tally.no_answer, tally.unscored) == (2, 1, 1)
    assert tally.reasons == {said: 1}
    assert scored.lacking(0.49) == [tally] and scored.lacking(0.5) == []


def test_a_judge_that_hangs_is_cut_off(make_run: MakeRun) -> None:
    folder = answered(make_run, "Nebraska")
    with judge_server(hang) as server:
        score(folder, [EQUALITY], judge(server.url, client=replace(IMPATIENT, total_timeout=0.2)))
    value, reason = only(folder)
    assert value is None and reason.startswith("the judge failed: timeout")


def test_faults_that_pass_are_retried(make_run: MakeRun) -> None:
    folder = answered(make_run, "Nebraska")
    with judge_server(replied(429, "slow down", Retry_After="0"), replied(503, "busy"), reset) as server:
        score(folder, [EQUALITY], judge(server.url, client=replace(IMPATIENT, attempts=4)))
    assert only(folder) == (1, "")
    assert len(server.bodies) == 4


def test_a_judge_out_of_reach_is_given_up_on(make_run: MakeRun) -> None:
    folder = answered(make_run, *"abcdefg")
    scored = score(folder, [EQUALITY], judge("http://127.0.0.1:9/v1"))
    reasons = [reason for _, reason in scores(folder).values()]
    assert all(reason.startswith("the judge failed: ") and "connection" in reason for reason in reasons[:5])
    assert reasons[5:] == [NOT_ASKED] * 2
    assert scored.scorers[0].unscored == 7


# --- What is kept


def test_a_row_of_judgements_has_reply_usage_and_the_served_model(make_run: MakeRun) -> None:
    folder = answered(make_run, "Nebraska")
    with judge_server() as server:
        score(folder, [EQUALITY], judge(server.url))
    (row,) = judgements(folder)
    assert {key: value for key, value in row.items() if key not in ("prompt_sha256", "seconds")} == {
        "episode_id": "qwen-t2-0",
        "scorer": "equality",
        "repeat": 1,
        "model": "served",
        "verdict": "correct",
        "reply": "CORRECT",
        "prompt_tokens": 12,
        "cached_tokens": 8,
        "completion_tokens": 3,
        "cached": False,
        "error": None,
    }
    (line,) = RunFolder(folder).judgements.read_text().splitlines()
    assert {"v": 1, "finish": "stop", "reply": "CORRECT"}.items() <= json.loads(line).items()


def test_scoring_again_asks_nothing(make_run: MakeRun) -> None:
    folder = answered(make_run, "Nebraska", "Iowa")
    with judge_server() as server:
        for _ in range(2):
            score(folder, [EQUALITY], judge(server.url, repeats=3))
            assert len(server.bodies) == 6
    assert len(scores(folder)) == 2 and len(judgements(folder)) == 6


def test_what_failed_is_asked_again_and_nothing_else(make_run: MakeRun) -> None:
    folder = answered(make_run, "Nebraska", "Iowa", "Ohio")
    with judge_server(completion("CORRECT"), replied(500, "ouch"), completion("hm")) as server:
        score(folder, [EQUALITY], judge(server.url))
        assert [value for value, _ in scores(folder).values()] == [1, None, None]
        score(folder, [EQUALITY], judge(server.url))
    assert len(server.bodies) == 4  # "hm" is a reply, if no verdict
    assert [scores(folder)[f"qwen-t2-{seed}"][0] for seed in range(3)] == [1, 0, None]


def test_an_interrupted_judgement_goes_on_where_it_was(make_run: MakeRun) -> None:
    folder = answered(make_run, *"abcdef")

    def interrupt(stage: str, done: int, total: int) -> None:
        assert (stage, total) == ("judging", 6)
        if done == 4:
            raise KeyboardInterrupt

    with judge_server() as server:
        with pytest.raises(KeyboardInterrupt):
            score(folder, [EQUALITY], judge(server.url), interrupt)
        assert scores(folder) == {}
        score(folder, [EQUALITY], judge(server.url))
    assert len(server.bodies) == 6
    assert len(scores(folder)) == 6


def test_a_torn_last_line_is_asked_again(make_run: MakeRun, cache: Path) -> None:
    folder = answered(make_run, "Nebraska", "Iowa")
    journal = RunFolder(folder).judgements
    with judge_server() as server:
        score(folder, [EQUALITY], judge(server.url))
        whole = journal.read_bytes()
        journal.write_bytes(whole[:-20])
        cache.rename(cache.with_name("elsewhere"))
        score(folder, [EQUALITY], judge(server.url))
    assert len(server.bodies) == 3
    assert journal.read_bytes().splitlines()[0] == whole.splitlines()[0]
    assert [json.loads(line)["reply"] for line in journal.read_bytes().splitlines()] == [
        "CORRECT",
        "INCORRECT",
    ]


@pytest.mark.parametrize(
    "damage",
    [
        b"{\n",
        b"[]\n",
        b'{"v": 2}\n',
        b'{"v": 1, "key": "x"}\n',
        b'{"v": 1, "key": "x", "model": "m", "reply": 7}\n',
        b'{"v": 1, "key": "x", "model": "m", "prompt_tokens": "many"}\n',
        b"a\rb\n",
    ],
)
def test_any_other_damaged_line_is_an_error(make_run: MakeRun, damage: bytes) -> None:
    folder = answered(make_run, "Nebraska")
    behind = b'{"v":1,"key":"y","model":"m"}\n'
    RunFolder(folder).judgements.write_bytes(damage + behind)
    with pytest.raises(RunError, match=r"judgements\.jsonl, line 1 is damaged"):
        score(folder, [EQUALITY], JudgeConfig())
    assert RunFolder(folder).judgements.read_bytes() == damage + behind


def test_other_runs_take_replies_from_the_cache(make_run: MakeRun, tmp_path: Path) -> None:
    folder = answered(make_run, "Nebraska")
    with judge_server() as server:
        score(folder, [EQUALITY], judge(server.url))
        folder.rename(tmp_path / "earlier")
        again = answered(make_run, "Nebraska")
        score(again, [EQUALITY], judge(server.url))
        assert len(server.bodies) == 1
        for other in ({"model": "another"}, {"sampling": SamplingConfig(temperature=1.0)}, {"max_tokens": 5}):
            before = len(server.bodies)
            score(again, [EQUALITY], judge(server.url, **other))
            assert len(server.bodies) == before + 1
    row = judgements(again)[0]
    assert (row["cached"], row["verdict"], row["completion_tokens"]) == (True, "correct", 3)
    assert json.loads(RunFolder(again).judgements.read_text().splitlines()[0])["cached"] is True


@pytest.mark.parametrize(
    "damage",
    ["{}", "[]", '{"key": KEY, "model": "m", "reply": 7}', '{"key": KEY, "model": 5, "reply": "CORRECT"}'],
)
def test_a_damaged_file_of_the_cache_counts_as_none(make_run: MakeRun, cache: Path, damage: str) -> None:
    folder = answered(make_run, "Nebraska")
    with judge_server() as server:
        score(folder, [EQUALITY], judge(server.url))
        (kept,) = cache.rglob("*.json")
        kept.write_text(damage.replace("KEY", f'"{kept.stem}"'))
        RunFolder(folder).judgements.unlink()
        score(folder, [EQUALITY], judge(server.url))
    assert len(server.bodies) == 2


def files(*folders: Path) -> Iterable[bytes]:
    return (path.read_bytes() for folder in folders for path in folder.rglob("*") if path.is_file())


def test_the_api_key_is_sent_and_kept_nowhere(
    make_run: MakeRun, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "sk-very-secret"
    monkeypatch.setenv("JUDGE_KEY", key)
    folder = answered(make_run, "a", "b", "c")
    steps = (
        completion(f"{key}\nCORRECT", finish=f"stop {key}", reasoning=key),
        replied(400, f"bad key {key}"),
        replied(401, key),
    )
    with judge_server(*steps) as server:
        score(folder, [EQUALITY], judge(server.url, api_key_env="JUDGE_KEY"))
    assert set(server.authorizations) == {f"Bearer {key}"}
    assert [row["error"] is None for row in judgements(folder)] == [True, False, False]
    assert not any(key.encode() in content for content in files(folder, cache))
    assert not any(key in str(row) for row in judgements(folder) + tables.read(folder, "scores").to_pylist())


def test_a_judge_that_cannot_be_asked_is_refused(make_run: MakeRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JUDGE_KEY", raising=False)
    with pytest.raises(
        ConfigError, match=r"judge\.api_key_env: the environment variable JUDGE_KEY is not set"
    ):
        check_judge(judge("http://host/v1", api_key_env="JUDGE_KEY"))
    with pytest.raises(ConfigError, match=r"judge\.urls: a URL holds a user or password"):
        score(answered(make_run, "x"), [EQUALITY], judge("http://user:pass@host/v1"))
    check_judge(JudgeConfig(api_key_env="JUDGE_KEY"))  # nobody is to be asked


# --- Scores beside each other


def test_without_a_judge_all_but_blank_answers_are_unscored(make_run: MakeRun) -> None:
    folder = answered(make_run, "Nebraska", None)
    scored = score(folder, [EQUALITY])
    assert scores(folder) == {"qwen-t2-0": (None, NO_JUDGE), "qwen-t2-1": (0, NO_ANSWER)}
    assert scored.scorers[0].reasons == {NO_JUDGE: 1}


def test_a_judge_takes_the_place_of_none_and_stands_beside_another(make_run: MakeRun) -> None:
    folder = answered(make_run, "Nebraska")
    with judge_server() as server:
        score(folder, [EQUALITY])
        for model in ("one", "two", "one"):
            score(folder, [EQUALITY], judge(server.url, model=model))
    params = [json.loads(row["params"]) for row in tables.read(folder, "scores").to_pylist()]
    assert [each["model"] for each in params] == ["two", "one"]
    assert params[0].keys() == {"model", "repeats", "max_tokens", "sampling", "prompt_sha256"}
    assert len(judgements(folder)) == 2


def test_another_reading_of_the_same_replies_asks_nothing(
    make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = answered(make_run, "Nebraska")
    with judge_server(completion("Yes.")) as server:
        score(folder, [EQUALITY], judge(server.url))
        monkeypatch.setattr(equality, "VERSION", "1+yes")
        monkeypatch.setattr(equality, "verdict", lambda reply: reply == "Yes.")
        score(folder, [EQUALITY], judge(server.url))
    assert len(server.bodies) == 1
    rows = [(row["version"], row["value"]) for row in tables.read(folder, "scores").to_pylist()]
    assert rows == [("1", None), ("1+yes", 1)]


def test_a_failure_of_one_scorer_leaves_the_scores_as_they_were(make_run: MakeRun) -> None:
    folder = answered(make_run, "Nebraska")
    score(folder)
    before = tables.read(folder, "scores")
    with pytest.raises(ConfigError):
        score(folder, [OFFICEQA, EQUALITY], judge("no-url"))
    assert tables.read(folder, "scores").equals(before)


# --- Bare answers


def lines(path: Path, *cases: dict[str, Any]) -> Path:
    path.write_text("\n".join(map(json.dumps, cases)), "utf-8")
    return path


def test_bare_answers_are_judged_line_by_line(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "answers.jsonl",
        {"question": "Which state?", "gold": "Nebraska", "answer": "nebraska"},
        {"gold": "Nebraska", "answer": "Iowa"},
        {"gold": "Nebraska", "answer": " "},
    )
    with judge_server() as server:
        found = judge_lines(path, equality, judge(server.url))
    assert [(line["score"], line["reason"]) for line in found] == [
        (1, ""),
        (0, "judged correct 0 times of 1"),
        (0, BLANK),
    ]
    assert "Which state?" in server.bodies[0]["messages"][0]["content"]


def test_a_question_that_is_no_text_is_named(tmp_path: Path) -> None:
    path = lines(tmp_path / "answers.jsonl", {"question": 1, "gold": "x", "answer": "x"})
    with pytest.raises(BenchmarkError, match="row 1, column question: not a string"):
        judge_lines(path, equality, JudgeConfig())
