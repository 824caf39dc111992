"""Codex CLI: the records of a session's rollout file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from pipeline.benchmarks.ledgerqa.planted.steps import Answer, Trajectory
from pipeline.benchmarks.ledgerqa.planted.tables import Tables
from pipeline.benchmarks.ledgerqa.planted.transcripts import telling

VERSION = "0.135.0"
_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
_BYTES_A_TOKEN = 4


def transcript(trajectory: Trajectory, tables: Tables, episode: str) -> Iterator[dict[str, Any]]:
    """Yield the rollout's lines: a second apart, since there is no clock."""
    for number, (kind, payload) in enumerate(_records(trajectory, tables, episode)):
        yield {"timestamp": _time(number), "type": kind, "payload": payload}


def _time(second: int) -> str:
    return (_BEGIN + timedelta(seconds=second)).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def _records(trajectory: Trajectory, tables: Tables, episode: str) -> Iterator[tuple[str, dict[str, Any]]]:
    where = {"cwd": telling.CORPUS}
    yield (
        "session_meta",
        {
            "id": str(UUID(episode)),
            "timestamp": _time(0),
            **where,
            "originator": "codex_exec",
            "cli_version": VERSION,
            "source": "exec",
        },
    )
    yield "event_msg", {"type": "task_started"}
    yield (
        "turn_context",
        {
            **where,
            "approval_policy": "never",
            "sandbox_policy": {"type": "read-only"},
            "model": "scripted",
            "summary": "auto",
        },
    )
    asked = f"{telling.INSTRUCTIONS}\n\n{trajectory.question}"
    yield "response_item", _message("user", "input_text", asked)
    yield "event_msg", {"type": "user_message", "message": asked}
    spent = _Spent(len(asked))
    for number, (said, act) in enumerate(telling.narrated(trajectory), 1):
        text = f"{said}\n\nANSWER: {act.text}" if isinstance(act, Answer) else said
        yield "event_msg", {"type": "agent_message", "message": text}
        yield "response_item", _message("assistant", "output_text", text)
        if isinstance(act, Answer):
            yield "event_msg", spent.after(len(text), 0)
            yield "event_msg", {"type": "task_complete", "last_agent_message": text}
            return
        command, call = telling.command(act, tables), f"call_{episode[:12]}{number:04}"
        arguments = json.dumps({"cmd": command.line, "workdir": telling.CORPUS})
        yield (
            "response_item",
            {
                "type": "function_call",
                "name": "exec_command",
                "arguments": arguments,
                "call_id": call,
            },
        )
        yield (
            "response_item",
            {
                "type": "function_call_output",
                "call_id": call,
                "output": f"Wall time: 0.0500 seconds\nProcess exited with code 0\nOutput:\n{command.output}",
            },
        )
        yield "event_msg", spent.after(len(text) + len(arguments), len(command.output))


def _message(role: str, kind: str, text: str) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


class _Spent:
    """Counts tokens by characters, as a server would report them after each reply."""

    def __init__(self, prompt: int) -> None:
        self._prompt = prompt
        self._before = 0
        self._total = {"input_tokens": 0, "cached_input_tokens": 0, "output_tokens": 0}

    def after(self, said: int, shown: int) -> dict[str, Any]:
        """The `token_count` event after a reply of `said` characters; `shown` come into the next prompt."""
        last = {
            "input_tokens": self._prompt // _BYTES_A_TOKEN,
            "cached_input_tokens": self._before // _BYTES_A_TOKEN,
            "output_tokens": said // _BYTES_A_TOKEN,
        }
        self._before, self._prompt = self._prompt, self._prompt + said + shown
        self._total = {name: count + last[name] for name, count in self._total.items()}
        usage = {
            f"{name}_token_usage": {
                **counts,
                "reasoning_output_tokens": 0,
                "total_tokens": counts["input_tokens"] + counts["output_tokens"],
            }
            for name, counts in (("total", self._total), ("last", last))
        }
        return {"type": "token_count", "info": usage}
