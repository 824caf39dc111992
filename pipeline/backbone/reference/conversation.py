"""The messages of one request → what is known: question, operations, hits, texts read, evidence, budget."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from pipeline.backbone.reference.observation import Observation, parse_observation
from pipeline.backbone.reference.replies import BESIDE

Json = Mapping[str, Any]

_STATE = "=== state ==="
_FIRST = re.compile(
    r"Question:\n(?P<question>.*?)\n\nAnswer format:\n(?P<form>.*?)"
    r"\n\nDocuments \((?P<count>\d+)\):\n(?P<outline>.*)",
    re.DOTALL,
)
_LISTED = re.compile(r"^(\S.*) \([\d.]+[kM]? tokens\)$", re.MULTILINE)
_ACTIVE = re.compile(r"^(e\d+): (.*?)(?: \[[^\[\]]*\])?$", re.MULTILINE)
_BUDGET = re.compile(r"^Budget: (\d+) turns?, (\d+) search(?:es)?, (\d+) read tokens left", re.MULTILINE)


@dataclass(frozen=True)
class Operations:
    """Which operations and fields the reply may use, as the request's JSON schema or tools show them."""

    evidence: bool = True
    revise: bool = True
    conclusion: bool = True
    notes: bool = False


@dataclass(frozen=True)
class Turn:
    """One reply of ours (empty where it was not a JSON object) and what was observed after it."""

    reply: Json
    observation: Observation

    @property
    def operation(self) -> Json:
        """The operation that was sent."""
        operation = self.reply.get("operation")
        return operation if isinstance(operation, Mapping) else {}


@dataclass(frozen=True)
class Budget:
    """What is left, as the state tail says it. Tokens are the harness's estimates."""

    turns: int = 200
    searches: int = 60
    read_tokens: int = 1_000_000


@dataclass(frozen=True)
class Conversation:
    """Everything that one request tells."""

    question: str
    answer_format: str
    count: int  # of documents
    outline: str
    operations: Operations
    turns: tuple[Turn, ...] = ()
    active: Mapping[str, str] = field(default_factory=dict)  # active evidence: id → statement
    budget: Budget = Budget()

    @property
    def documents(self) -> tuple[str, ...]:
        """The names of all documents; none where the outline has no room for them."""
        names = _LISTED.findall(self.outline)
        return tuple(names) if len(names) == self.count else ()

    def sent(self, operation: Json) -> Turn | None:
        """The turn of an operation that was sent already."""
        wanted = json.dumps(operation, sort_keys=True)
        return next((t for t in self.turns if json.dumps(t.operation, sort_keys=True) == wanted), None)


def parse(
    messages: Sequence[Json], response_format: Json | None, tools: Sequence[Json] | None = None
) -> Conversation:
    """Read a request. Raises `ValueError` if its first user message is not a task of the harness."""
    system = "\n".join(_content(message) for message in messages if message.get("role") == "system")
    spoken = [message for message in messages if message.get("role") != "system"]
    if not spoken or spoken[0].get("role") != "user":
        raise ValueError("the first message after the system message must be the user's")
    body, _, tail = _content(spoken[-1]).rpartition(_STATE)
    if tail and body:
        spoken[-1] = {**spoken[-1], "content": body.rstrip("\n")}
    else:
        tail = ""
    first = _FIRST.match(_content(spoken[0]))
    if first is None:
        raise ValueError("the first user message does not open with `Question:`")
    return Conversation(
        question=first["question"],
        answer_format=first["form"],
        count=int(first["count"]),
        outline=first["outline"],
        operations=_operations(response_format, tools, system),
        turns=tuple(_turns(spoken[1:])),
        active=_active(tail),
        budget=_budget(tail),
    )


def _content(message: Json) -> str:
    """The text of a message, whose content may be a list of text parts."""
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(str(part.get("text", "")) for part in content)


def _turns(spoken: Sequence[Json]) -> list[Turn]:
    pairs = zip(spoken[::2], spoken[1::2], strict=False)
    return [Turn(_reply(reply), parse_observation(_content(observed))) for reply, observed in pairs]


def _reply(message: Json) -> Json:
    """An earlier reply of ours, in the wire format: its text, or the operation of its tool call."""
    calls = message.get("tool_calls")
    if not calls:
        return parse_reply(_content(message))
    function = calls[0]["function"]
    arguments = parse_reply(function["arguments"])
    return {
        "operation": {"name": function["name"]} | {k: v for k, v in arguments.items() if k not in BESIDE},
        **{k: v for k, v in arguments.items() if k in BESIDE},
    }


@lru_cache(maxsize=4096)
def parse_reply(text: str) -> Json:
    """The JSON object of an earlier reply, or of its call's arguments; empty where there is none."""
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _operations(response_format: Json | None, tools: Sequence[Json] | None, system: str) -> Operations:
    """What the tools or the schema offer; without either, what the system prompt's own copy of it shows."""
    form = tools or (response_format or {}).get("json_schema", {}).get("schema")
    return _offered(json.dumps(form) if form else system)


@lru_cache(maxsize=64)
def _offered(schema: str) -> Operations:
    """The operations and fields that a schema, or tools, name. Quoted names are all that is looked at."""
    names = set(re.findall(r'"(\w+)"', schema))
    return Operations("upsert" in names, "revise" in names, "conclusion" in names, "notes" in names)


def _active(tail: str) -> dict[str, str]:
    section = re.search(
        r"^Active evidence:(.*?)^(?:Conclusion|Notes|Sources|Computes|Budget)\b",
        tail,
        re.DOTALL | re.MULTILINE,
    )
    return dict(_ACTIVE.findall(section.group(1))) if section else {}


def _budget(tail: str) -> Budget:
    found = _BUDGET.findall(tail)
    return Budget(*map(int, found[-1])) if found else Budget()
