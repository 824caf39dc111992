"""Native tool calls: contract 8 ("one tool an operation with the same fields"), 2.6 and 5.3 with them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from pipeline.corpus import Corpus
from pipeline.errors import InvalidOperation
from pipeline.harness import LongHarness, Reply, Turn
from pipeline.harness.config import (
    ActionConfig,
    ActionMode,
    BudgetConfig,
    HarnessConfig,
    HistoryConfig,
    Profile,
    Reasoning,
    ToolChoice,
)
from pipeline.harness.controller import step
from pipeline.harness.operations import NAMES, operation_forms
from pipeline.harness.parse import parse
from pipeline.harness.prompt import Prompt, exchange
from pipeline.harness.tools import tools, wire_text
from pipeline.protocols import Completion, Json, Message, Request, ToolCall, Usage
from tests.harness.conftest import (
    Opener,
    compute,
    final,
    read,
    revise,
    search,
    start,
    upsert,
)
from tests.harness.episodes import LIMITS, SCRIPT, TASK, Recording
from tests.harness.instances import instances
from tests.variants import VARIANTS, variant


def native(response: dict[str, Any], turn: int = 1) -> ToolCall:
    """The tool call that says what `response` says."""
    arguments = {key: value for key, value in response["operation"].items() if key != "name"}
    arguments |= {key: response[key] for key in ("conclusion", "notes") if key in response}
    return ToolCall(f"chatcmpl-tool-{turn}", response["operation"]["name"], json.dumps(arguments))


def completion(*calls: ToolCall, text: str = "", reasoning: str | None = None) -> Completion:
    return Completion(text, reasoning, "tool_calls", Usage(), "m", "r", 0.0, tool_calls=calls)


def parameters(name: str) -> dict[str, dict[str, Any]]:
    """The parameters of a variant's tools, by the tool's name."""
    return {tool["function"]["name"]: tool["function"]["parameters"] for tool in tools(variant(name))}


@pytest.mark.parametrize("name", VARIANTS)
def test_8_there_is_one_tool_an_operation_with_the_same_fields(name: str) -> None:
    config = variant(name)
    shown = parameters(name)
    beside = {"structured": {"conclusion"}, "notes": {"notes"}, "none": set[str]()}
    fields: dict[str, set[str]] = {}
    for form in operation_forms(config.switches):
        operation = next(each for each in NAMES if f"'{each}'" in str(form.model_fields["name"].annotation))
        fields.setdefault(operation, set()).update({*form.model_fields} - {"name"})
    assert {tool: set(shown[tool]["properties"]) for tool in shown} == {
        tool: names | beside[config.switches.conclusion.value] for tool, names in fields.items()
    }


def test_8_the_evidence_tool_takes_either_of_its_fields_and_a_variant_without_one_lacks_it() -> None:
    full, append_only = parameters("full")["evidence"], parameters("append_only")["evidence"]
    assert full["required"] == [] and {"upsert", "revise"} <= set(full["properties"])
    assert append_only["required"] == ["upsert"] and "revise" not in append_only["properties"]
    assert "evidence" not in parameters("no_state")


def test_7_6_a_list_of_revisions_is_a_form_of_the_evidence_tools_field() -> None:
    config = HarnessConfig(profile=Profile.extended)
    (evidence,) = (tool["function"] for tool in tools(config) if tool["function"]["name"] == "evidence")
    kinds = [each["type"] for each in evidence["parameters"]["properties"]["revise"]["anyOf"]]
    assert kinds == ["object", "array"] and evidence["parameters"]["required"] == []


@pytest.mark.parametrize(
    "response",
    [
        search(top_k=3, conclusion={"unresolved": ["x"]}),
        read(),
        upsert("a"),
        revise("e1"),
        compute("1"),
        final(),
    ],
)
def test_8_what_a_tool_asks_for_is_what_the_runtime_takes(response: dict[str, Any]) -> None:
    call = native(response)
    assert Draft202012Validator(parameters("full")[call.name]).is_valid(json.loads(call.arguments))
    assert parse(wire_text(completion(call))) == response


@pytest.mark.parametrize("caps", [(None, None), (40, 8)])
@pytest.mark.parametrize("name", VARIANTS)
def test_8_the_tools_keep_to_constructs_that_decoders_take(
    name: str, caps: tuple[int | None, int | None]
) -> None:
    config = variant(name)
    config.action = ActionConfig(ActionMode.tools, ToolChoice.required, *caps)
    for tool in tools(config):
        assert tool["type"] == "function" and tool["function"]["description"]
        schema = json.dumps(tool["function"]["parameters"])
        assert pytest.importorskip("xllamacpp").json_schema_to_grammar(schema)


# --- From a call to text


def test_8_a_call_becomes_the_text_that_is_recorded() -> None:
    response = search("é", conclusion={"unresolved": ["June?"]})
    assert wire_text(completion(native(response), text="\n\nI look for it.\n")) == (
        '{"thought": "I look for it.", "operation": {"name": "search", "query": "é"}, '
        '"conclusion": {"unresolved": ["June?"]}}'
    )


def test_8_without_a_call_the_content_is_the_reply() -> None:
    assert wire_text(completion(text="I am not sure.")) == "I am not sure."
    assert wire_text(completion()) == ""


def test_2_6_several_different_calls_are_multiple_operations_and_identical_ones_count_once() -> None:
    one, other = native(search("a")), native(search("b"))
    with pytest.raises(InvalidOperation) as refused:
        parse(wire_text(completion(one, other, text="both")))
    assert refused.value.code == "multiple_operations"
    assert parse(wire_text(completion(one, one, text="x"))) == {"thought": "x", **search("a")}


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ('{"query": "x"', "malformed_response", "not valid"),
        ('{"query": x}', "malformed_response", "not valid"),
        ("query=x", "malformed_response", "not valid"),
        ('{"query": "x"} and more', "malformed_response", "not valid"),
        ('{"query": "\\ud800"}', "malformed_response", "surrogate"),
        ("[" * 100_000, "malformed_response", "not valid"),
        ('["x"]', "invalid_arguments", "query is missing"),
        ('"{}"', "invalid_arguments", "query is missing"),
        ("", "invalid_arguments", "query is missing"),
        ("{}", "invalid_arguments", "query is missing"),
        ('{"query": "x", "depth": 1}', "invalid_arguments", "the allowed fields are name, query"),
        ('{"name": "final", "query": ""}', "invalid_arguments", "search: query"),
    ],
)
def test_8_faulty_arguments_are_a_turn_whose_error_says_what_is_wrong(
    episode: Opener, arguments: str, code: str, said: str
) -> None:
    turn = episode().send(wire_text(completion(ToolCall("1", "search", arguments))))
    assert turn.error and (turn.error.code, said in turn.error.message) == (code, True)


def test_8_a_call_of_a_tool_that_is_none_is_an_unknown_operation(episode: Opener) -> None:
    turn = episode().send(wire_text(completion(ToolCall("1", 'find"}', "{}"))))
    assert turn.error and turn.error.code == "unknown_operation"


def test_3_21_a_number_as_answer_is_taken_digit_for_digit() -> None:
    sent = wire_text(completion(ToolCall("1", "final", '{"answer": 10.50, "evidence": ["e1"]}')))
    assert parse(sent)["operation"]["answer"] == "10.50"


def test_2_6_thinking_before_a_call_is_no_part_of_its_thought() -> None:
    call = native(search("what does </think> close?"))
    text = wire_text(completion(call, text="<think>so {“x”}</think>\n\nI search."))
    assert text.startswith("<think>so {“x”}</think>")
    assert parse(text) == {"thought": "I search.", **search("what does </think> close?")}


@given(
    response=instances("full", Profile.paper),
    more=st.dictionaries(st.text(max_size=4), st.text(max_size=9), max_size=2),
)
def test_8_a_call_says_what_its_text_says(response: dict[str, Any], more: dict[str, str]) -> None:
    said = (response.pop("thought", None) or "").strip()
    operation = {**more, **response.pop("operation")}
    sent = wire_text(completion(native({"operation": operation, **response}), text=said))
    digits = {key: str(value) for key, value in operation.items() if isinstance(value, float)}
    thought = {"thought": said} if said else {}
    assert parse(sent) == {**thought, "operation": operation | digits, **response}


# --- In the history


def taken(episode: Opener, said: Completion) -> Turn:
    return episode().send(wire_text(said))


def test_5_3_a_call_is_repeated_as_a_call_and_its_observation_as_the_result(episode: Opener) -> None:
    response = search("é", conclusion={"unresolved": ["June?"]})
    turn = taken(episode, completion(native(response), text="I look."))
    call, result = (json.loads(message.encoded) for message in exchange(turn, Reasoning.thought, called=True))
    assert call == {
        "role": "assistant",
        "content": "I look.",
        "tool_calls": [
            {
                "id": "call00001",
                "type": "function",
                "function": {
                    "name": "search",
                    "arguments": '{"query": "é", "conclusion": {"unresolved": ["June?"]}}',
                },
            }
        ],
    }
    assert result == {"role": "tool", "content": turn.observation, "tool_call_id": "call00001"}


@pytest.mark.parametrize(
    "said",
    [
        completion(text="I am not sure."),
        completion(text=json.dumps(search())),
        completion(ToolCall("1", "search", '{"query": ')),
        completion(ToolCall("1", "browse", '{"query": "x"}')),
        completion(native(search("a")), native(search("b"))),
        completion(),
    ],
)
def test_5_3_a_reply_that_can_not_be_repeated_as_a_call_is_repeated_as_text(
    episode: Opener, said: Completion
) -> None:
    turn = taken(episode, said)
    repeated = exchange(turn, Reasoning.thought, called=bool(said.tool_calls))
    assert repeated == (
        Message("assistant", turn.reply.text or "(empty)"),
        Message("user", turn.observation),
    )


@pytest.mark.parametrize(
    ("reasoning", "content"),
    [
        (Reasoning.none, ""),
        (Reasoning.thought, "I look."),
        (Reasoning.full, "<think>\napart\n</think>\n\n<think>hm</think>I look."),
    ],
)
def test_5_2_a_call_is_repeated_with_as_much_reasoning_as_configured(
    episode: Opener, reasoning: Reasoning, content: str
) -> None:
    opened = episode()
    text = wire_text(completion(native(search()), text="<think>hm</think>\nI look."))
    turn = step(opened.environment, opened.state, Reply(text, "apart"))
    call, _ = exchange(turn, reasoning, called=True)
    assert call.content == content and call.tool_calls


def test_5_3_the_tail_ends_a_result_and_all_before_it_is_repeated(episode: Opener) -> None:
    opened = episode()
    prompt = Prompt(opened.environment, Message("system", "s"))
    before = prompt.messages(opened.state)
    said = [completion(native(each)) for each in (search("May"), read(), upsert("a"), compute("1+1"))]
    for each in (said[0], completion(text="gibberish"), *said[1:]):
        prompt.append(opened.send(wire_text(each)), called=bool(each.tool_calls))
        now = prompt.messages(opened.state)
        assert now[-1].role == ("tool" if each.tool_calls else "user")
        assert "\n\n=== state ===\n" in now[-1].content
        assert all(one is other for one, other in zip(before[:-1], now, strict=False))
        shared = before[-1].content.partition("\n\n=== state ===\n")[0]
        assert now[len(before) - 1].content == shared
        assert now[len(before) - 1].tool_call_id == before[-1].tool_call_id
        before = now
    ids = [call.id for message in before for call in message.tool_calls]
    assert ids == [message.tool_call_id for message in before if message.role == "tool"]
    assert len(set(ids)) == 4 and all(len(each) == 9 and each.isalnum() for each in ids)


# --- An episode


@dataclass
class Calling:
    """A backbone that sends its responses as tool calls; a text stays one."""

    responses: list[dict[str, Any] | str]
    requests: list[Request] = field(default_factory=list)

    async def complete(self, request: Request) -> Completion:
        self.requests.append(request)
        response = self.responses[len(self.requests) - 1]
        if isinstance(response, str):
            return completion(text=response)
        return completion(native(response), text=response.get("thought", ""), reasoning="because")


async def test_8_an_episode_with_tools_is_the_one_with_text(corpus: Corpus) -> None:
    config = HarnessConfig(action=ActionConfig(ActionMode.tools, ToolChoice.required))
    backbone, recording = Calling(SCRIPT), Recording()
    harness = LongHarness(config)
    outcome = await harness.run(TASK, corpus, backbone, recording, LIMITS)
    assert outcome.answer == "4,400"
    assert [json.loads(text) for _, text, _ in recording.turns if text.startswith("{")] == [
        each for each in SCRIPT if not isinstance(each, str)
    ]
    replies = [Reply(text, "because" if text.startswith("{") else None) for _, text, _ in recording.turns]
    trace = harness.replay(TASK, corpus, replies)
    assert [turn.state_sha256 for turn in trace.turns] == [sha for _, _, sha in recording.turns]
    first = backbone.requests[0]
    assert first.schema is None and first.tools == tools(config) and first.tool_choice == "required"
    roles = [message.role for message in backbone.requests[-1].messages]
    pairs = [("assistant", "user" if isinstance(each, str) else "tool") for each in SCRIPT[:-1]]
    assert roles == ["system", "user", *(role for pair in pairs for role in pair)]


@pytest.mark.parametrize("reasoning", Reasoning)
async def test_5_2_with_tools_reasoning_reenters_only_if_asked(corpus: Corpus, reasoning: Reasoning) -> None:
    config = HarnessConfig(
        budget=BudgetConfig(turns=2),
        action=ActionConfig(ActionMode.tools),
        history=HistoryConfig(reasoning),
    )
    backbone = Calling([search(thought="so"), search("June")])
    await LongHarness(config).run(TASK, corpus, backbone, Recording(), LIMITS)
    sent: Json = json.loads(backbone.requests[1].messages[2].encoded)
    assert ("because" in sent["content"]) == (reasoning is Reasoning.full)
    assert ("so" in sent["content"]) == (reasoning is not Reasoning.none)
    assert sent["tool_calls"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ('{"query": "hello"}, "x": 1', "invalid_arguments"),
        ('{"query": "hello"}}', "invalid_arguments"),
        ('{"name": "final", "query": "hello"}', "invalid_arguments"),
        ('{"query": 1.5}', "invalid_arguments"),
        ('{"query": "hello", "top_k": 3.0}', "invalid_arguments"),
    ],
)
def test_8_arguments_are_read_as_they_were_sent(episode: Opener, arguments: str, code: str) -> None:
    call = ToolCall("a", "search", arguments)
    assert episode().refused(wire_text(completion(call))) == code


def test_8_a_name_is_no_way_to_another_operation(episode: Opener) -> None:
    hidden = '{"operation": {"name": "search", "query": "hello"}} x'
    turn = episode().send(wire_text(completion(ToolCall("a", "x</think>", hidden))))
    assert not turn.valid


def test_2_2_an_error_speaks_of_tools_where_there_are_tools(corpus: Corpus) -> None:
    opened = start(HarnessConfig(action=ActionConfig(ActionMode.tools)), corpus, TASK)
    said = opened.send("I will search now.").observation
    assert "call one tool" in said and "send {" not in said
