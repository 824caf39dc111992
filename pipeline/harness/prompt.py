"""The prompt: system message, task, full history, and a tail with the current state (contract, section 5).

Append-only but for the tail: what precedes the tail of one request begins the next one, byte for byte. Each
message is serialised once (`Message.encoded`), so a request costs what is new in it.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, get_args

import orjson

from pipeline.calculator import FUNCTIONS
from pipeline.errors import InvalidOperation
from pipeline.harness import answers, rendering
from pipeline.harness.config import ActionMode, HarnessConfig, Reasoning, extensions
from pipeline.harness.operations import ConclusionUpdate, operation_forms
from pipeline.harness.parse import parse, without_thinking
from pipeline.harness.schema import Schema, asked_schema, signature
from pipeline.harness.state import State
from pipeline.harness.tools import call_message, tools
from pipeline.harness.turn import Reply, Turn
from pipeline.protocols import Message

if TYPE_CHECKING:
    from jinja2 import Environment as Templates

    from pipeline.harness.environment import Environment

_EMPTY = "(empty)"  # some servers refuse a message without content


@lru_cache(maxsize=1)
def _templates() -> Templates:
    from jinja2 import Environment as Templates  # here, since a trace renders no prompt
    from jinja2 import PackageLoader, StrictUndefined

    return Templates(
        loader=PackageLoader("pipeline.harness", "prompts"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # plain text for a model
    )


def system_prompt(config: HarnessConfig) -> str:
    """Return the system message of a variant: role, protocol, operations and strategy (contract 5.1)."""
    text = (
        _templates()
        .get_template("system.md.j2")
        .render(
            mode=config.action.mode.value,
            switches=config.switches,
            extensions=extensions(config),
            budget=config.budget,
            top_k=config.search.top_k,
            operations=_operations(config),
            functions=_functions(),
            conclusion=signature(ConclusionUpdate),
            schema=orjson.dumps(asked_schema(config)).decode(),
        )
    )
    return text.strip()


def _operations(config: HarnessConfig) -> dict[str, str]:
    """How each operation is written, by name; those of evidence by the field that tells them apart.

    Tools carry their own fields: the prompt needs only say of which one it speaks.
    """
    written: dict[str, str] = {}
    for form in operation_forms(config.switches, extensions(config).batch_revise):
        name, field = get_args(form.model_fields["name"].annotation)[0], list(form.model_fields)[1]
        key, tool = (field, f'`{name}` with "{field}"') if name == "evidence" else (name, f"`{name}`")
        written.setdefault(key, tool if config.action.mode is ActionMode.tools else signature(form))
    return written


def _functions() -> list[str]:
    """The calculator's functions without aliases, with parameters where they are not one list or number."""
    named = {name: f for name, f in FUNCTIONS.items() if f.signature.startswith(f"{name}(")}
    return [f.signature if f.parameters > 1 else name for name, f in named.items()]


def sent_schema(config: HarnessConfig) -> Schema | None:
    """Return the JSON schema that goes with each request of `action.mode=json_schema`."""
    return asked_schema(config) if config.action.mode is ActionMode.json_schema else None


def sent_tools(config: HarnessConfig) -> tuple[Schema, ...]:
    """Return the tools that go with each request of `action.mode=tools`."""
    return tools(config) if config.action.mode is ActionMode.tools else ()


def prompt_sha256(config: HarnessConfig) -> str:
    """Return the SHA-256 of what all requests share: action mode, system prompt, and schema or tools."""
    shared = [config.action.mode.value, system_prompt(config), sent_schema(config), sent_tools(config)]
    return sha256(orjson.dumps(shared)).hexdigest()


def task_message(environment: Environment) -> str:
    """Return the first user message: question, answer format, document map (contract 5.2)."""
    corpus, task = environment.corpus, environment.task
    return (
        _templates()
        .get_template("task.md.j2")
        .render(
            question=task.question,
            answer_format=answers.describe(task.answer_format),
            count=len(corpus.document_ids),
            outline=corpus.outline(environment.config.document_map_tokens),
        )
    )


class Prompt:
    """The messages of an episode's requests: two more each turn, and none fewer but by compaction."""

    def __init__(self, environment: Environment, system: Message) -> None:
        self._config = environment.config
        self._task = task_message(environment)
        self._messages = [system, Message("user", self._task)]
        self._compacted = 0

    def messages(self, state: State) -> tuple[Message, ...]:
        """Return the messages of the next request: the last one ends with the current state."""
        if state.compacted > self._compacted:
            self._compact(state)
        *before, last = self._messages
        shown = rendering.tail(state, self._config)
        return (*before, replace(last, content=f"{last.content}\n\n{shown}"))

    def _compact(self, state: State) -> None:
        """Put stubs, in the first user message, for turns that leave the prompt (contract 7.4)."""
        stubs = rendering.stubs(state.history.exchanges[: state.compacted])
        left = 2 * (state.compacted - self._compacted)
        self._messages[1 : 2 + left] = [Message("user", f"{self._task}\n\n{stubs}")]
        self._compacted = state.compacted

    def append(self, turn: Turn, *, called: bool = False) -> None:
        """Add a turn's reply and observation; `called` says whether the reply was a native tool call."""
        self._messages += exchange(turn, self._config.history.reasoning, called=called)


def exchange(turn: Turn, reasoning: Reasoning, *, called: bool) -> tuple[Message, Message]:
    """Return the two messages that repeat a turn: a tool call and its result, if the reply was one.

    A call that can't be repeated as such (broken arguments, several operations, an unknown name) is repeated
    as text: a server might refuse every later request for it.
    """
    reply = turn.reply
    if not called or turn.operation is None:
        return Message("assistant", replayed(reply, reasoning)), Message("user", turn.observation)
    response = parse(reply.text)
    said = "" if reasoning is Reasoning.none else response.get("thought") or ""
    if reasoning is Reasoning.full:
        said = _apart(reply) + "".join(reply.text.rpartition("</think>")[:2]) + said
    call = call_message(turn.number, said, response)
    return call, Message("tool", turn.observation, tool_call_id=call.tool_calls[0].id)


def replayed(reply: Reply, reasoning: Reasoning) -> str:
    """Return a reply as the history repeats it (contract 5.2).

    `none`: the bare JSON without its `thought`; `thought`: as it was sent, without thinking; `full`: with all
    reasoning. A reply that can't be parsed is kept as it is.
    """
    if reasoning is Reasoning.full:
        return _apart(reply) + reply.text or _EMPTY
    if reasoning is Reasoning.none:
        try:
            bare = {key: value for key, value in parse(reply.text).items() if key != "thought"}
        except InvalidOperation:
            pass
        else:
            return json.dumps(bare, ensure_ascii=False)
    return without_thinking(reply.text).strip() or _EMPTY


def _apart(reply: Reply) -> str:
    """The reasoning that a server set apart, back in the content, where the model had written it.

    Not in a field of its own: servers differ in its name, and some refuse a message with such a field. The
    templates of models that think (Qwen3, GLM-4.5 and later) find it in the content as well.
    """
    return f"<think>\n{reply.reasoning}\n</think>\n\n" if reply.reasoning else ""
