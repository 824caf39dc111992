"""What the model is shown: contract 5, and the variants' prompts of section 6."""

from __future__ import annotations

import json

import orjson
import pytest

from pipeline.corpus import estimate_tokens
from pipeline.harness import LongHarness, Reply
from pipeline.harness.config import ActionConfig, ActionMode, HarnessConfig, Profile, Reasoning, ToolChoice
from pipeline.harness.observation import fenced
from pipeline.harness.operations import operation_forms
from pipeline.harness.prompt import (
    Prompt,
    prompt_sha256,
    replayed,
    sent_schema,
    sent_tools,
    system_prompt,
    task_message,
)
from pipeline.harness.rendering import tail
from pipeline.harness.schema import signature
from pipeline.protocols import Message
from tests.harness.conftest import (
    DOCUMENTS,
    Episode,
    Opener,
    compute,
    golden,
    read,
    revise,
    search,
    upsert,
)
from tests.variants import VARIANTS, variant


def test_5_1_the_system_prompt_and_schema_are_as_reviewed() -> None:
    config = HarnessConfig()
    schema = json.dumps(sent_schema(config), indent=1)
    golden("prompt_full.md", f"{system_prompt(config)}\n\n--- schema ---\n{schema}\n")


def test_5_1_the_tools_and_their_prompt_are_as_reviewed() -> None:
    config = HarnessConfig(action=ActionConfig(ActionMode.tools))
    tools = json.dumps(sent_tools(config), indent=1)
    golden("prompt_tools.md", f"{system_prompt(config)}\n\n--- tools ---\n{tools}\n")


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("mode", ActionMode)
@pytest.mark.parametrize(
    ("profile", "caps"), [(Profile.paper, (2_000, 100)), (Profile.extended, (None, None))]
)
def test_5_2_system_prompt_with_schema_or_tools_takes_at_most_2000_tokens(
    name: str, mode: ActionMode, profile: Profile, caps: tuple[int | None, int | None]
) -> None:
    config = variant(name)
    config.profile = profile
    config.action = ActionConfig(mode, ToolChoice.required, *caps)
    schema, tools = sent_schema(config), sent_tools(config)
    assert (schema is not None, tools != ()) == (mode is ActionMode.json_schema, mode is ActionMode.tools)
    sent = orjson.dumps(schema or tools).decode() if schema or tools else ""
    assert estimate_tokens(system_prompt(config)) + estimate_tokens(sent) <= 2_000


@pytest.mark.parametrize("name", VARIANTS)
def test_5_1_with_tools_the_prompt_does_not_repeat_their_fields(name: str) -> None:
    config = variant(name)
    config.action.mode = ActionMode.tools
    assert '"name":' not in system_prompt(config) and '"query"' not in system_prompt(config)
    for form in operation_forms(config.switches):
        assert signature(form) in system_prompt(variant(name))


def test_5_2_without_a_schema_the_prompt_carries_it() -> None:
    config = HarnessConfig(action=ActionConfig(ActionMode.text))
    schema = json.dumps(sent_schema(HarnessConfig()), separators=(",", ":"))
    assert schema in system_prompt(config) and schema not in system_prompt(HarnessConfig())


def test_5_2_the_first_message_has_question_answer_format_and_document_map(episode: Opener) -> None:
    opened = episode()
    said = task_message(opened.environment)
    outline = opened.environment.corpus.outline(4_000)
    assert said == (
        "Question:\nWhat were the expenditures?\n\nAnswer format:\nOne non-empty line.\n\n"
        f"Documents ({len(DOCUMENTS)}):\n{outline}"
    )


def test_5_4_the_document_map_is_bounded(episode: Opener) -> None:
    opened = episode()
    opened.environment.config.document_map_tokens = 30
    outline = task_message(opened.environment).partition(f"Documents ({len(DOCUMENTS)}):\n")[2]
    assert estimate_tokens(outline) <= 30


def test_5_3_a_request_shares_all_but_the_tail_with_the_one_before(episode: Opener) -> None:
    opened = episode()
    prompt = Prompt(opened.environment, Message("system", "s"))
    before = prompt.messages(opened.state)
    for reply in (search("May"), "gibberish", read(), upsert("a"), compute("1+1")):
        prompt.append(opened.send(reply))
        now = prompt.messages(opened.state)
        assert len(now) == len(before) + 2
        assert all(one is other for one, other in zip(before[:-1], now, strict=False))
        shared, _, state = before[-1].content.partition("\n\n=== state ===\n")
        assert now[len(before) - 1].content == shared and state
        before = now


def test_5_3_the_tail_shows_active_evidence_conclusion_sources_and_budget(admitted: Episode) -> None:
    admitted.send(
        search(
            "x",
            conclusion={
                "established": [{"claim": "two\nlines", "evidence": ["e2"]}],
                "unresolved": ["June?"],
            },
        )
    )
    admitted.send(revise("e1", "May was\n4,400", sources=("s2", "s1")))
    assert tail(admitted.state, admitted.environment.config) == (
        "=== state ===\n"
        "Active evidence:\n"
        "e2: also May [s1]\n"
        "e3: May was 4,400 [s2, s1]\n"
        "Conclusion:\n"
        "established:\n"
        "- two lines [e2]\n"
        "hypotheses: none\n"
        "unresolved:\n"
        "- June?\n"
        "Sources:\n"
        "s1: 1942/report_march.txt [26:79]\n"
        "s2: 1942/report_june.txt [18:86]\n"
        f"Budget: 196 turns, 59 searches, {admitted.state.budget.read_tokens_left} read tokens left"
    )


def test_6_the_tail_shows_what_the_variant_has(episode: Opener) -> None:
    def shown(name: str) -> str:
        opened = episode(name)
        return tail(opened.state, opened.environment.config)

    budget = "Budget: 200 turns, 60 searches, 1000000 read tokens left"
    assert shown("no_state") == f"=== state ===\nSources: none\n{budget}"
    assert shown("no_coevolution") == f"=== state ===\nActive evidence: none\nSources: none\n{budget}"
    assert shown("notes") == f"=== state ===\nActive evidence: none\nNotes: none\nSources: none\n{budget}"
    opened = episode("notes")
    opened.send(search(notes="one\ntwo"))
    assert "\nNotes:\n| one\n| two\nSources: none\n" in tail(opened.state, opened.environment.config)


def test_5_5_document_text_is_fenced_and_never_altered(episode: Opener) -> None:
    turn = episode().send(read({"document": "fence.txt"}))
    assert turn.state.status == "running"
    assert f"\n`````text\n{DOCUMENTS['fence.txt']}\n`````" in turn.observation


@pytest.mark.parametrize("text", ["", "plain", "```", "a ````` b", "`" * 50])
def test_5_5_a_fence_does_not_occur_in_its_text(text: str) -> None:
    fence = fenced(text).partition("text\n")[0]
    assert set(fence) == {"`"} and len(fence) >= 3 and fence not in text
    assert fenced(text) == f"{fence}text\n{text}\n{fence}"


SENT = '<think>hm</think>\n{"thought": "so", "operation": {"name": "search", "query": "é"}, "conclusion": {}}'


@pytest.mark.parametrize(
    ("reasoning", "content"),
    [
        (Reasoning.none, '{"operation": {"name": "search", "query": "é"}, "conclusion": {}}'),
        (
            Reasoning.thought,
            '{"thought": "so", "operation": {"name": "search", "query": "é"}, "conclusion": {}}',
        ),
        (Reasoning.full, f"<think>\napart\n</think>\n\n{SENT}"),
    ],
)
def test_5_2_history_repeats_as_much_reasoning_as_configured(reasoning: Reasoning, content: str) -> None:
    assert replayed(Reply(SENT, "apart"), reasoning) == content


@pytest.mark.parametrize("reasoning", Reasoning)
def test_5_2_a_reply_that_cannot_be_parsed_is_kept(reasoning: Reasoning) -> None:
    assert replayed(Reply("I am not sure."), reasoning) == "I am not sure."
    assert replayed(Reply(""), reasoning) == "(empty)"


def test_5_1_the_prompts_hash_tells_prompts_and_schemas_apart() -> None:
    configs = [variant(name) for name in VARIANTS]
    configs += [
        HarnessConfig(action=ActionConfig(max_string=9)),
        HarnessConfig(action=ActionConfig(max_items=9)),
        HarnessConfig(action=ActionConfig(ActionMode.text)),
        HarnessConfig(action=ActionConfig(ActionMode.tools)),
        HarnessConfig(action=ActionConfig(ActionMode.tools, max_items=9)),
    ]
    assert len({prompt_sha256(config) for config in configs}) == len(configs)
    assert LongHarness(configs[0]).prompt_sha256 == prompt_sha256(configs[0])
