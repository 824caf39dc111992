"""Claude Code: the lines of `--output-format stream-json`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid5

from pipeline.benchmarks.ledgerqa.planted.steps import Answer, Compute, Range, Read, Search, Trajectory
from pipeline.benchmarks.ledgerqa.planted.tables import Tables
from pipeline.benchmarks.ledgerqa.planted.transcripts import telling

VERSION = "2.1.216"
_BYTES_A_TOKEN = 4


def transcript(trajectory: Trajectory, tables: Tables, episode: str) -> Iterator[dict[str, Any]]:
    """Yield the stream's lines; one range is read by the tool Read, several by one command."""
    session = UUID(episode)
    for number, line in enumerate(_lines(trajectory, tables, episode)):
        yield {**line, "session_id": str(session), "uuid": str(uuid5(session, str(number)))}


def _lines(trajectory: Trajectory, tables: Tables, episode: str) -> Iterator[dict[str, Any]]:
    yield {
        "type": "system",
        "subtype": "init",
        "cwd": telling.CORPUS,
        "tools": ["Bash", "Glob", "Grep", "Read"],
        "mcp_servers": [],
        "model": "scripted",
        "permissionMode": "default",
        "slash_commands": [],
        "apiKeySource": "none",
        "claude_code_version": VERSION,
        "output_style": "default",
    }
    prompt, spent = len(telling.INSTRUCTIONS) + len(trajectory.question), {"in": 0, "out": 0}
    for turn, (said, act) in enumerate(telling.narrated(trajectory), 1):
        ended = isinstance(act, Answer)
        text = f"{said}\n\nANSWER: {act.text}" if isinstance(act, Answer) else said
        usage = _usage(prompt, len(text))
        spent = {"in": spent["in"] + prompt, "out": spent["out"] + len(text)}
        reply = _Reply(f"msg_{episode[:16]}{turn:04}", usage)
        yield reply.line({"type": "text", "text": text})
        if ended:
            yield _result(text, turn, _usage(spent["in"], spent["out"]))
            return
        name, given, output = _tool(act, tables)
        call = f"toolu_{episode[:16]}{turn:04}"
        yield reply.line({"type": "tool_use", "id": call, "name": name, "input": given})
        answered = {"tool_use_id": call, "type": "tool_result", "content": output, "is_error": False}
        yield {
            "type": "user",
            "message": {"role": "user", "content": [answered]},
            "parent_tool_use_id": None,
        }
        prompt += len(text) + len(output)


class _Reply:
    """One reply of the model, whose content blocks come as a line each."""

    def __init__(self, identity: str, usage: dict[str, int]) -> None:
        self._message = {
            "id": identity,
            "type": "message",
            "role": "assistant",
            "model": "scripted",
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage,
        }

    def line(self, block: dict[str, Any]) -> dict[str, Any]:
        """The line of one block."""
        message = {**self._message, "content": [block]}
        return {"type": "assistant", "message": message, "parent_tool_use_id": None}


def _tool(act: object, tables: Tables) -> tuple[str, dict[str, Any], str]:
    """The tool for an act, its input and its output."""
    match act:
        case Read((where,)):
            return _read(where, tables)
        case Search(query, (document,), _):
            title = telling.title_of(query, tables, (document,))
            given = {"pattern": title, "path": f"{telling.CORPUS}/{document}", "output_mode": "content"}
            output = telling.grep(title, (document,), tables).output
            return "Grep", {**given, "-n": True}, output.removesuffix("\n")
        case Search() | Read() | Compute():
            command = telling.command(act, tables)
            return "Bash", {"command": command.line}, command.output.removesuffix("\n")
    raise TypeError(f"no tool for {act!r}")


def _read(where: Range, tables: Tables) -> tuple[str, dict[str, Any], str]:
    """Read: lines with their numbers, an arrow between."""
    first, last = telling.lines(where, tables)
    shown = telling.sed(where, tables).output.removesuffix("\n").split("\n")
    output = "\n".join(f"{number:>6}→{line}" for number, line in enumerate(shown, first))
    given = {"file_path": f"{telling.CORPUS}/{where.document}", "offset": first, "limit": last - first + 1}
    return "Read", given, output


def _usage(prompt: int, said: int) -> dict[str, int]:
    return {
        "input_tokens": prompt // _BYTES_A_TOKEN,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": said // _BYTES_A_TOKEN,
    }


def _result(text: str, turns: int, usage: dict[str, int]) -> dict[str, Any]:
    return {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "duration_ms": 0,
        "duration_api_ms": 0,
        "num_turns": turns,
        "result": text,
        "total_cost_usd": 0.0,
        "usage": usage,
        "permission_denials": [],
    }
