"""The episode loop with a model that is a list of replies: contract 1.2, 4.3, 5.2, 5.3."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from pipeline.corpus import Corpus, estimate_tokens
from pipeline.errors import BackboneUnavailable, ModelRequestFailed
from pipeline.harness import LongHarness, Reply
from pipeline.harness.config import ActionMode, BudgetConfig, HarnessConfig, Reasoning
from pipeline.harness.trace import as_json
from pipeline.protocols import Completion, Limits, Outcome, Request, RequestRecord, Usage
from tests.harness.conftest import JUNE, MARCH, golden, read, search
from tests.harness.episodes import LIMITS, SCRIPT, TASK, Recording, Scripted, texts

RECORD = RequestRecord("r", "m", 400, None, Usage(), 0.1, error="too long")


async def test_4_3_an_answered_episode(corpus: Corpus) -> None:
    backbone, recording = Scripted(texts(SCRIPT)), Recording()
    outcome = await LongHarness(HarnessConfig()).run(TASK, corpus, backbone, recording, LIMITS)
    assert outcome == Outcome("answered", "4,400", ("e2",))
    assert [turn for turn, _, _ in recording.turns] == list(range(1, 11))
    request = backbone.requests[0]
    assert (request.max_tokens, request.episode, request.tools) == (512, "ep", ())
    assert request.sampling == LIMITS.sampling and request.schema and request.schema["type"] == "object"


async def test_each_turn_of_each_episode_draws_anew_and_a_repeated_episode_the_same(corpus: Corpus) -> None:
    async def seeds(limits: Limits) -> list[int]:
        backbone = Scripted(["a", "b", "c"])
        config = HarnessConfig(budget=BudgetConfig(turns=3))
        await LongHarness(config).run(TASK, corpus, backbone, Recording(), limits)
        return [request.seed for request in backbone.requests]

    first = await seeds(LIMITS)
    others = await seeds(replace(LIMITS, seed=4)) + await seeds(replace(LIMITS, episode="other"))
    assert len({*first, *others}) == 9 and await seeds(LIMITS) == first
    assert all(0 <= seed < 2**31 for seed in first)


async def test_1_2_a_replay_of_the_replies_alone_gives_the_recorded_states(corpus: Corpus) -> None:
    harness, recording = LongHarness(HarnessConfig()), Recording()
    outcome = await harness.run(TASK, corpus, Scripted(texts(SCRIPT)), recording, LIMITS)
    trace = harness.replay(TASK, corpus, (Reply(text) for _, text, _ in recording.turns))
    assert [turn.state_sha256 for turn in trace.turns] == [sha for _, _, sha in recording.turns]
    assert trace.outcome == outcome and trace.state == trace.turns[-1].state
    cut = harness.replay(TASK, corpus, [Reply(text) for _, text, _ in recording.turns[:4]])
    assert cut.outcome is None and len(cut.turns) == 4
    assert harness.replay(TASK, corpus, []).turns == ()


async def test_1_2_replies_after_the_end_are_not_played(corpus: Corpus) -> None:
    trace = LongHarness(HarnessConfig()).replay(TASK, corpus, map(Reply, [*texts(SCRIPT), "more"]))
    assert len(trace.turns) == len(SCRIPT)


async def test_4_3_turns_run_out(corpus: Corpus) -> None:
    config = HarnessConfig(budget=BudgetConfig(turns=2))
    outcome = await LongHarness(config).run(TASK, corpus, Scripted(["a", "b"]), Recording(), LIMITS)
    assert outcome == Outcome("turns_exhausted", limit_hit="turns")


async def test_4_3_a_request_that_fails_for_good_is_the_result(corpus: Corpus) -> None:
    failure = ModelRequestFailed("context_overflow", "too long", (RECORD,))
    recording = Recording()
    outcome = await LongHarness(HarnessConfig()).run(
        TASK, corpus, Scripted(["no operation", failure]), recording, LIMITS
    )
    assert outcome == Outcome("model_request_failed", error="context_overflow")
    assert recording.failed == [(2, (RECORD,))] and len(recording.turns) == 1


async def test_4_3_an_unavailable_backbone_passes_through(corpus: Corpus) -> None:
    recording = Recording()
    with pytest.raises(BackboneUnavailable):
        await LongHarness(HarnessConfig()).run(
            TASK, corpus, Scripted(["x", BackboneUnavailable("down")]), recording, LIMITS
        )
    assert recording.failed == []


async def test_5_2_requests_hold_system_task_and_the_whole_history(corpus: Corpus) -> None:
    backbone = Scripted(texts(SCRIPT))
    await LongHarness(HarnessConfig()).run(TASK, corpus, backbone, Recording(), LIMITS)
    for number, request in enumerate(backbone.requests):
        roles = [message.role for message in request.messages]
        assert roles == ["system", "user", *["assistant", "user"] * number]
    last = backbone.requests[-1].messages
    assert [message.content for message in last[2::2]] == texts(SCRIPT)[:-1]
    assert last[-1].content.count("=== state ===") == 1
    assert all("=== state ===" not in message.content for message in last[:-1])


async def test_5_3_most_of_a_request_is_the_one_before_byte_for_byte(corpus: Corpus) -> None:
    locations = [{"document": "big.txt", "start": n * 600, "end": (n + 1) * 600} for n in range(100)]
    backbone = Scripted(texts([read(location) for location in locations]))
    config = HarnessConfig(budget=BudgetConfig(turns=len(locations)))
    await LongHarness(config).run(TASK, corpus, backbone, Recording(), LIMITS)
    bodies = [b"".join(message.encoded for message in request.messages) for request in backbone.requests]
    kept = 0
    for before, now in itertools.pairwise(bodies):
        shared = before.rpartition(rb"\n\n=== state ===")[0]
        assert now.startswith(shared)
        kept += len(shared)
    assert kept > 0.93 * sum(map(len, bodies[1:]))


@pytest.mark.parametrize("reasoning", Reasoning)
async def test_5_2_reasoning_set_apart_reenters_only_if_asked(corpus: Corpus, reasoning: Reasoning) -> None:
    class Thinking(Scripted):
        async def complete(self, request: Request) -> Completion:
            completion = await super().complete(request)
            return Completion(completion.text, "because", "stop", Usage(), "m", "r", 0.0)

    config = HarnessConfig(budget=BudgetConfig(turns=2))
    config.history.reasoning = reasoning
    backbone = Thinking(texts([search(thought="so"), search("June")]))
    await LongHarness(config).run(TASK, corpus, backbone, Recording(), LIMITS)
    sent = backbone.requests[1].messages[2].content
    assert ("because" in sent) == (reasoning is Reasoning.full)
    assert ('"thought"' in sent) == (reasoning is not Reasoning.none)


async def test_5_2_in_text_mode_no_schema_is_sent(corpus: Corpus) -> None:
    config = HarnessConfig(budget=BudgetConfig(turns=1))
    config.action.mode = ActionMode.text
    backbone = Scripted(["x"])
    await LongHarness(config).run(TASK, corpus, backbone, Recording(), LIMITS)
    assert backbone.requests[0].schema is None
    assert estimate_tokens(backbone.requests[0].messages[0].content) <= 2_000


async def test_5_3_the_golden_episode_reads_as_reviewed(corpus: Corpus) -> None:
    backbone = Scripted(texts(SCRIPT))
    harness = LongHarness(HarnessConfig())
    await harness.run(TASK, corpus, backbone, Recording(), LIMITS)
    last = backbone.requests[-1].messages[1:]
    parts = [f"##### {message.role}\n\n{message.content}" for message in last]
    trace = harness.replay(TASK, corpus, map(Reply, texts(SCRIPT)))
    end = as_json(trace.turns[-1])
    parts.append("##### the last turn\n\n" + orjson.dumps(end, option=orjson.OPT_INDENT_2).decode())
    parts.append("##### states\n\n" + "\n".join(turn.state_sha256 for turn in trace.turns))
    golden("episode.md", "\n\n".join(parts) + "\n")


def test_5_1_prompts_ship_with_the_package() -> None:
    import pipeline.harness

    folder = Path(pipeline.harness.__file__).parent / "prompts"
    assert {path.name for path in folder.glob("*.j2")} >= {"system.md.j2", "task.md.j2"}


def test_1_2_the_collection_is_what_the_script_speaks_of(corpus: Corpus) -> None:
    assert {MARCH, JUNE} <= set(corpus.document_ids)
