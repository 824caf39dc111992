"""Turns, budgets and endings, and the purity of the whole: contract 1.1, 2.2, 2.7 and 4."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from pipeline.corpus import estimate_tokens
from pipeline.errors import ConfigError
from pipeline.harness import LongHarness
from pipeline.harness.budget import Budget
from pipeline.harness.config import ActionConfig, BudgetConfig, ConclusionForm, HarnessConfig, SwitchesConfig
from tests.conftest import ROOT
from tests.harness.conftest import BIG, DOCUMENTS, Episode, Opener, final, op, read, search, upsert


def test_2_7_with_five_turns_left_every_observation_says_so(episode: Opener) -> None:
    opened = episode(turns=8)
    assert "left" not in opened.play(search("May"), search("June")).observation
    for left, reply in (
        (5, search("May")),
        (4, "gibberish"),
        (3, read()),
        (2, upsert("a")),
        (1, search("x")),
    ):
        turn = opened.send(reply)
        turns = "turn" if left == 1 else "turns"
        said = f"warning: {left} {turns} left: an answer from scratch needs read, evidence and final"
        assert turn.observation.endswith(said)
        assert [warning.code for warning in turn.warnings] == ["few_turns"]
    bare = episode("no_state", turns=3).send(search("May"))
    assert bare.observation.endswith("2 turns left: an answer from scratch needs read and final")


def test_4_1_the_papers_budgets_are_the_default() -> None:
    assert BudgetConfig() == BudgetConfig(200, 60, 1_000_000, 16_384)


def test_4_2_every_response_spends_a_turn(episode: Opener) -> None:
    opened = episode()
    opened.play("gibberish", search(""), search("May"))
    assert opened.state.budget.turns_left == 197 and opened.state.budget.searches_left == 59


def test_4_3_an_episode_ends_when_answered_or_when_turns_run_out(episode: Opener) -> None:
    opened = episode(turns=3)
    assert [opened.send("gibberish").state.status for _ in range(3)] == [
        "running",
        "running",
        "turns_exhausted",
    ]
    answered = episode(turns=3)
    assert answered.play(read(), upsert("a"), final()).state.status == "answered"


def test_4_5_read_tokens_are_utf8_bytes_over_four_rounded_up(episode: Opener) -> None:
    turn = episode().send(read({"document": BIG, "start": 0, "end": 81}, {"document": "notes.txt"}))
    assert turn.result
    for each in turn.result["reads"]:
        assert each["tokens"] == estimate_tokens(each["text"]) == -(-len(each["text"].encode()) // 4)
    assert turn.state.budget.read_tokens == sum(each["tokens"] for each in turn.result["reads"])


REPLIES: list[Any] = [
    search("May 1942", conclusion={"unresolved": ["which?"]}),
    "no operation",
    read(),
    upsert("May was 4,100", "bad", conclusion={"hypotheses": ["h"]}),
    op("compute", expression="4100/12", evidence=["e1"]),
    final("341.67"),
]


def test_1_1_the_same_replies_give_the_same_turns_byte_for_byte(episode: Opener) -> None:
    first, second = episode(), episode()
    for reply in REPLIES:
        assert first.send(reply) == second.send(reply)
    assert first.state.canonical() == second.state.canonical()
    assert len({turn.state_sha256 for turn in map(episode().send, REPLIES)}) == len(REPLIES)


PROGRAM = """
import json, pathlib, sys
from pipeline.corpus import build
from pipeline.corpus.config import CorpusConfig
from pipeline.harness import LongHarness, Reply
from pipeline.harness.config import HarnessConfig
from pipeline.protocols import TaskView

folder, documents, replies = json.load(sys.stdin)
for name, text in documents.items():
    path = pathlib.Path(folder, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
corpus = build([pathlib.Path(folder)], CorpusConfig(), None)
sent = [Reply(r if isinstance(r, str) else json.dumps(r, ensure_ascii=False)) for r in replies]
trace = LongHarness(HarnessConfig()).replay(TaskView("t", "?"), corpus, sent)
print(json.dumps([turn.state_sha256 for turn in trace.turns]))
"""


def test_1_1_another_process_with_another_hash_seed_comes_to_the_same_state(
    episode: Opener, tmp_path: Any
) -> None:
    opened = episode()
    here = [opened.send(reply).state_sha256 for reply in REPLIES]
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    given = json.dumps([str(tmp_path / "documents"), DOCUMENTS, REPLIES])
    there = subprocess.run(
        [sys.executable, str(program)],
        input=given.encode(),
        capture_output=True,
        check=True,
        env={"PYTHONHASHSEED": "7", "PYTHONPATH": str(ROOT)},
    )
    assert json.loads(there.stdout) == here


def test_1_1_a_state_hash_covers_reply_reasoning_and_observation(episode: Opener) -> None:
    from pipeline.harness import Reply
    from pipeline.harness.controller import step

    opened = episode()
    hashes = {
        step(opened.environment, opened.state, reply).state_sha256
        for reply in (Reply("a"), Reply("b"), Reply("a", "thinking"), Reply("a", ""))
    }
    assert len(hashes) == 4


def test_2_2_a_reply_with_half_a_surrogate_pair_is_taken(episode: Opener) -> None:
    from pipeline.harness import Reply
    from pipeline.harness.controller import step

    opened = episode()
    turn = step(opened.environment, opened.state, Reply("\ud800 " + json.dumps(search("May")), "\udfff"))
    assert turn.valid and turn.reply.text.startswith("? ")


def test_4_1_budgets_are_configurable_within_reason() -> None:
    for key in ("turns", "tokens_per_read"):
        with pytest.raises(ConfigError, match=f"harness.budget.{key}=0 is too small"):
            LongHarness(HarnessConfig(budget=BudgetConfig(**{key: 0})))
    with pytest.raises(ConfigError, match=r"harness\.action\.max_string=0 is too small"):
        LongHarness(HarnessConfig(action=ActionConfig(max_string=0)))
    spent = Budget(BudgetConfig(searches=1)).spend_search()
    assert spent.searches_left == 0


@pytest.mark.parametrize(
    "switches",
    [
        SwitchesConfig(evidence_bank=False),
        SwitchesConfig(evidence_bank=False, revise=False),
        SwitchesConfig(conclusion=ConclusionForm.none),
    ],
)
def test_6_switches_that_make_no_runtime_are_refused(switches: SwitchesConfig) -> None:
    with pytest.raises(ConfigError, match=r"harness\.switches\."):
        LongHarness(HarnessConfig(switches=switches))


def test_3_4_a_configured_top_k_out_of_range_is_refused() -> None:
    config = HarnessConfig()
    config.search.top_k = 51
    with pytest.raises(ConfigError, match="too large"):
        LongHarness(config)


def test_4_2_an_episode_that_is_played_in_full_keeps_its_counts(admitted: Episode) -> None:
    assert admitted.state.turn == 2 and len(admitted.state.history.exchanges) == 2
