"""Transcripts of the other arms: their shapes, and tool outputs that are what the tools really print."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from pipeline.benchmarks.ledgerqa.planted import Fault
from pipeline.benchmarks.ledgerqa.planted.steps import Range
from pipeline.benchmarks.ledgerqa.planted.transcripts import FORMS, telling
from tests.benchmarks.ledgerqa.planted.conftest import Bed, Planted

EVEN = "0123456789abcdef0123456789abcdee"
ODD = "0123456789abcdef0123456789abcdef"
SHOWN = re.compile(r"^Wall time: [\d.]+ seconds\nProcess exited with code 0\nOutput:\n", re.MULTILINE)


@dataclass(frozen=True)
class Document:
    """What a REPL's context is made of."""

    id: str
    text: str


def records(bed: Bed, each: Planted, form: str, episode: str = EVEN) -> list[dict[str, Any]]:
    return list(FORMS[form](each.trajectory, bed.tables, episode))


def run(bed: Bed, lines: list[str]) -> list[str]:
    """Run shell commands on the documents, all in one shell; `/corpus` is the documents' folder."""
    folder, end = str(bed.folder / "documents"), "=== end of a command ==="
    script = f"\nprintf '%s\\n' {shlex.quote(end)}\n".join([*lines, ""])
    found = subprocess.run(
        ["bash"], input=script.replace("/corpus", folder), capture_output=True, text=True, check=True
    )
    assert found.stderr == ""
    return [part.replace(folder, "/corpus") for part in found.stdout.split(f"{end}\n")[:-1]]


def some(bed: Bed) -> list[Planted]:
    """Episodes of every fault and operation."""
    found: dict[tuple[str, str, bool], Planted] = {}
    for each in bed.planted:
        corrected = any(figure.note for figure in each.plant.figures)
        found.setdefault((each.plant.fault, each.plant.question.facts.operation, corrected), each)
    return list(found.values())


def codex_calls(lines: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    items = [line["payload"] for line in lines if line["type"] == "response_item"]
    calls = [item for item in items if item["type"] == "function_call"]
    outputs = {item["call_id"]: item["output"] for item in items if item["type"] == "function_call_output"}
    assert len(calls) == len(outputs)
    for call in calls:
        yield json.loads(call["arguments"])["cmd"], SHOWN.sub("", outputs[call["call_id"]], count=1)


def claude_calls(lines: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any], str]]:
    blocks = [
        block
        for line in lines
        if line["type"] in ("assistant", "user")
        for block in line["message"]["content"]
    ]
    uses = [block for block in blocks if block["type"] == "tool_use"]
    results = {block["tool_use_id"]: block["content"] for block in blocks if block["type"] == "tool_result"}
    assert len(uses) == len(results)
    for use in uses:
        yield use["name"], use["input"], results[use["id"]]


def as_command(name: str, given: dict[str, Any]) -> str:
    """The shell command that prints what a tool of Claude Code shows."""
    match name:
        case "Bash":
            return str(given["command"])
        case "Grep":
            return f"grep -nF {shlex.quote(given['pattern'])} {given['path']}"
        case "Read":
            first, last = given["offset"], given["offset"] + given["limit"] - 1
            return f"awk 'NR>={first} && NR<={last} {{printf \"%6d→%s\\n\", NR, $0}}' {given['file_path']}"
    raise AssertionError(name)


def test_codex_shows_what_the_commands_print(bed: Bed) -> None:
    calls = [call for each in some(bed) for call in codex_calls(records(bed, each, "codex"))]
    lines, outputs = zip(*calls, strict=True)
    assert {line.split()[0] for line in lines} == {"grep", "sed", "python3"}
    assert run(bed, list(lines)) == list(outputs)


def test_claude_code_shows_what_the_tools_print(bed: Bed) -> None:
    calls = [call for each in some(bed) for call in claude_calls(records(bed, each, "claude_code"))]
    assert {name for name, _, _ in calls} == {"Bash", "Grep", "Read"}
    printed = run(bed, [as_command(name, given) for name, given, _ in calls])
    assert [text.removesuffix("\n") for text in printed] == [output for _, _, output in calls]


def test_the_repl_shows_what_its_code_prints(bed: Bed) -> None:
    corpus = bed.tables.corpus
    context = [Document(name, telling.whole(name, bed.tables)) for name in corpus.document_ids]
    for each in some(bed):
        answer: dict[str, Any] = {}
        names = {"context": context, "answer": answer}
        lines = records(bed, each, "rlm")
        for said, following in zip(lines, [*lines[1:], {}], strict=True):
            block = re.search(r"```repl\n(.*?)\n```", said["content"], re.DOTALL)
            if said["role"] != "assistant" or block is None:
                continue
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(block[1], names)
            if following:
                assert following["content"] == f"REPL output:\n{out.getvalue()[:20_000]}"
        assert answer == {"content": each.plant.answer, "ready": True}


def test_both_protocols_of_the_repl_end_with_the_answer(bed: Bed) -> None:
    for each in some(bed):
        assert records(bed, each, "rlm", EVEN)[-1]["content"].endswith('answer["ready"] = True\n```')
        last = records(bed, each, "rlm", ODD)[-1]["content"]
        assert last.endswith(f"FINAL({each.plant.answer})")


def test_direct_is_one_prompt_of_real_passages_and_its_reply(bed: Bed) -> None:
    for each in some(bed):
        asked, replied = records(bed, each, "direct")
        assert (asked["role"], replied["role"]) == ("user", "assistant")
        for where in each.trajectory.read:
            assert bed.tables.text(where) in asked["content"]
        assert each.plant.question.task.view.question in asked["content"]
        assert replied["content"].splitlines()[-1] == f"ANSWER: {each.plant.answer}"


@pytest.mark.parametrize("form", FORMS)
def test_evidence_that_was_never_read_is_in_no_output(bed: Bed, form: str) -> None:
    """Shown by the whole line that the figure stands in: the figure alone may occur anywhere."""
    for each in bed.of(Fault.unread):
        text = json.dumps(records(bed, each, form), ensure_ascii=False)
        for operand in each.plant.question.facts.operands:
            span = operand.span
            whole = telling.whole(span.document, bed.tables)
            start, end = whole.rfind("\n", 0, span.start) + 1, whole.find("\n", span.end)
            line = bed.tables.text(Range(span.document, start, end))
            assert json.dumps(line, ensure_ascii=False)[1:-1] not in text


def test_codex_records_have_the_shape_of_a_rollout(bed: Bed) -> None:
    lines = records(bed, bed.planted[0], "codex")
    assert lines[0]["type"] == "session_meta"
    assert {line["type"] for line in lines} == {"session_meta", "turn_context", "response_item", "event_msg"}
    assert all(line.keys() == {"timestamp", "type", "payload"} for line in lines)
    assert [line["timestamp"] for line in lines] == sorted(line["timestamp"] for line in lines)
    events = [line["payload"]["type"] for line in lines if line["type"] == "event_msg"]
    assert (events[0], events[-1]) == ("task_started", "task_complete")
    assert lines[-1]["payload"]["last_agent_message"].endswith(f"ANSWER: {bed.planted[0].plant.answer}")
    counts = [line["payload"] for line in lines if line["payload"].get("type") == "token_count"]
    totals = [count["info"]["total_token_usage"]["input_tokens"] for count in counts]
    lasts = [count["info"]["last_token_usage"]["input_tokens"] for count in counts]
    assert totals == [sum(lasts[: number + 1]) for number in range(len(lasts))]


def test_claude_code_lines_have_the_shape_of_a_stream(bed: Bed) -> None:
    lines = records(bed, bed.planted[0], "claude_code")
    assert (lines[0]["type"], lines[0]["subtype"]) == ("system", "init")
    last = lines[-1]
    assert (last["type"], last["subtype"], last["is_error"]) == ("result", "success", False)
    assert last["result"].endswith(f"ANSWER: {bed.planted[0].plant.answer}")
    assert len({line["session_id"] for line in lines}) == 1
    assert len({line["uuid"] for line in lines}) == len(lines)
    ids = [line["message"]["id"] for line in lines if line["type"] == "assistant"]
    assert last["num_turns"] == len(set(ids))


@pytest.mark.parametrize("form", FORMS)
def test_a_transcript_is_the_same_whenever_it_is_made(bed: Bed, form: str) -> None:
    each = bed.planted[1]
    assert records(bed, each, form) == records(bed, each, form)
    assert json.loads(json.dumps(records(bed, each, form))) == records(bed, each, form)
