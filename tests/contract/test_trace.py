"""The verb `trace`: its output, readable and as JSON, and what it can't use (contract, section 9)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.cli import main
from tests.harness.conftest import DOCUMENTS, JUNE, final, read, search, upsert, write

FIELDS = {
    "turn", "operation", "valid", "error", "observation", "conclusion_error", "result", "evidence",
    "conclusion", "notes", "sources", "budget", "warnings", "log", "status",
}  # fmt: skip


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    write(tmp_path / "documents", DOCUMENTS)
    return [
        "trace",
        "--documents",
        str(tmp_path / "documents"),
        "--responses",
        str(tmp_path / "replies.jsonl"),
    ]


def lines(*replies: Any) -> str:
    return "".join(json.dumps(reply) + "\n" for reply in replies)


def test_9_each_turn_is_a_json_object_with_every_field(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    claims = {"hypotheses": [{"claim": "h", "evidence": []}]}
    replies = [
        search(conclusion=claims),
        "gibberish",
        read(),
        upsert("a"),
        final("x"),
        search("after the end"),
    ]
    (tmp_path / "replies.jsonl").write_text(lines(*replies))
    assert main([*command, "--json"]) == 0
    turns = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [turn["operation"] for turn in turns] == ["search", None, "read", "evidence", "final"]
    assert all(turn.keys() == FIELDS for turn in turns)
    assert turns[0]["conclusion"] == {
        "established": [], "hypotheses": [{"claim": "h", "evidence": [], "stale": []}], "unresolved": [],
    }  # fmt: skip
    assert turns[0]["notes"] is None and turns[1]["result"] is None
    assert turns[0]["result"]["hits"][0].keys() == {
        "passage", "document", "start", "end", "score", "snippet", "table",
    }  # fmt: skip
    assert turns[-1]["sources"][0].keys() == {"id", "document", "start", "end", "sha256"}
    assert turns[-1]["status"] == "answered"


def test_9_without_json_a_person_can_read_it(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "replies.jsonl").write_text(lines(read({"document": JUNE}), "gibberish"))
    assert main([*command, "harness=no_state"]) == 0
    said = capsys.readouterr().out
    assert "[turn 1] read: 1 location" in said and "  log: event source_registered, id s1" in said
    assert "[turn 2] invalid: malformed_response: " in said
    assert "  left: turns_left 198, searches_left 60" in said


def test_9_the_composed_configuration_is_shown_on_demand(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, "--cfg", "job", "harness=notes", "task.answer_format=letter"]) == 0
    said = capsys.readouterr().out
    assert "conclusion: notes" in said and "answer_format: letter" in said


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "can't be read: No such file"),
        (b"\xff\xfe", "is not UTF-8"),
        (b'{"operation": {}}\nnot json\n', "line 2 is not JSON"),
        (b"[1]\n", "line 1 is neither a JSON string nor an object"),
    ],
)
def test_9_unusable_responses_end_with_status_2(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes | None, said: str
) -> None:
    if content is not None:
        (tmp_path / "replies.jsonl").write_bytes(content)
    assert main([*command, "--json"]) == 2
    told = capsys.readouterr()
    assert said in told.err and told.out == ""


@pytest.mark.parametrize(
    "override", ["harness=unheard_of", "harness.budget.trns=3", "harness.budget.turns=0"]
)
def test_9_unusable_overrides_end_with_status_2(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], override: str
) -> None:
    (tmp_path / "replies.jsonl").write_text("")
    assert main([*command, override]) == 2
    assert "longharness trace: " in capsys.readouterr().err


def test_9_documents_that_are_missing_or_not_utf8_end_with_status_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "replies.jsonl").write_text("")
    (tmp_path / "empty").mkdir()
    (tmp_path / "latin").mkdir()
    (tmp_path / "latin" / "a.txt").write_bytes("café".encode("latin-1"))
    for folder in ("missing", "empty", "latin"):
        argv = [
            "trace",
            "--documents",
            str(tmp_path / folder),
            "--responses",
            str(tmp_path / "replies.jsonl"),
        ]
        assert main(argv) == 2
        assert str(tmp_path / folder) in capsys.readouterr().err


@pytest.mark.parametrize("as_json", [False, True])
def test_7_5_what_the_answer_rests_on_is_shown_on_demand(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], as_json: bool
) -> None:
    (tmp_path / "replies.jsonl").write_text(lines(read({"document": JUNE}), upsert("4,400"), final("4,400")))
    assert main([*command, "--provenance", *(["--json"] if as_json else [])]) == 0
    said = capsys.readouterr().out
    if as_json:
        assert [node["id"] for node in json.loads(said)["nodes"]] == ["s1", "e1", "answer"]
    else:
        assert said == f"answer: 4,400\n  e1: 4,400\n    s1: {JUNE} [0:{len(DOCUMENTS[JUNE])}]\n"
