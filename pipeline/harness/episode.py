"""LongHarness: the episode loop. A model is asked, its reply taken as a turn, until the episode ends."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from hashlib import sha256

from pipeline.corpus import Corpus
from pipeline.errors import ModelRequestFailed
from pipeline.harness.config import HarnessConfig, check
from pipeline.harness.controller import initial_state, step
from pipeline.harness.environment import Environment
from pipeline.harness.prompt import Prompt, prompt_sha256, sent_schema, sent_tools, system_prompt
from pipeline.harness.replay import outcome, replay
from pipeline.harness.schema import Schema
from pipeline.harness.tools import wire_text
from pipeline.harness.turn import Reply, Trace
from pipeline.protocols import Backbone, Limits, Message, Outcome, Recorder, Request, TaskView


class LongHarness:
    """The method, and by its switches each of its variants. Holds no state of any episode."""

    def __init__(self, config: HarnessConfig) -> None:
        """Take a variant's configuration. Raises `ConfigError` if it does not describe a runtime."""
        check(config)
        self.config = config

    @cached_property
    def prompt_sha256(self) -> str:
        """The SHA-256 of what all requests share: part of an episode's identity."""
        return prompt_sha256(self.config)

    @cached_property
    def _system(self) -> Message:
        return Message("system", system_prompt(self.config))

    @cached_property
    def _schema(self) -> Schema | None:
        return sent_schema(self.config)

    @cached_property
    def _tools(self) -> tuple[Schema, ...]:
        return sent_tools(self.config)

    async def run(
        self, task: TaskView, corpus: Corpus, backbone: Backbone, recorder: Recorder, limits: Limits
    ) -> Outcome:
        """Run one episode to its end (contract 4.3).

        A request that fails for good is the episode's end and its result. `BackboneUnavailable` passes
        through: it says nothing of the model, and the episode is owed.
        """
        environment = Environment(self.config, corpus, task)
        prompt = Prompt(environment, self._system)
        state = initial_state(environment)
        while (ended := outcome(state)) is None:
            request = Request(
                prompt.messages(state),
                limits.max_tokens,
                self._schema,
                self._tools,
                self.config.action.tool_choice.value,
                limits.sampling,
                seed(limits, state.turn + 1),
                limits.episode,
            )
            try:
                completion = await backbone.complete(request)
            except ModelRequestFailed as failure:
                recorder.failed_request(state.turn + 1, failure.requests)
                return Outcome("model_request_failed", error=failure.kind)
            text = wire_text(completion)
            turn = step(environment, state, Reply(text, completion.reasoning))
            recorder.turn(turn.number, replace(completion, text=text), turn.state_sha256)
            prompt.append(turn, called=bool(completion.tool_calls))
            state = turn.state
        return ended

    def replay(self, task: TaskView, corpus: Corpus, replies: Iterable[Reply]) -> Trace:
        """Rebuild an episode from its recorded replies, with no model call (contract 1.2)."""
        return replay(Environment(self.config, corpus, task), replies)


def seed(limits: Limits, turn: int) -> int:
    """Return the sampling seed of a turn: 31 bits of the SHA-256 of the episode's seed, its id and the turn.

    So each turn of each episode draws anew, and draws the same when the episode is run again.
    """
    drawn = sha256(f"{limits.seed} {limits.episode} {turn}".encode()).digest()
    return int.from_bytes(drawn[:4]) >> 1
