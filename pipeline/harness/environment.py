"""What an episode runs in, and what an operation leads to: the two ends of every action."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import orjson

from pipeline.corpus import Corpus, estimate_tokens
from pipeline.figures import Text
from pipeline.harness.config import Extensions, HarnessConfig, extensions
from pipeline.harness.observation import Told
from pipeline.harness.prompt import sent_schema, sent_tools, system_prompt, task_message
from pipeline.harness.sources import Source
from pipeline.harness.state import State
from pipeline.harness.turn import Fault
from pipeline.protocols import TaskView

Event = Mapping[str, Any]


@dataclass(frozen=True)
class Environment:
    """What an episode runs in: all that a turn depends on beside the state and the reply (contract 1.1)."""

    config: HarnessConfig
    corpus: Corpus
    task: TaskView
    _texts: dict[Source, Mapping[str, Text]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @cached_property
    def extensions(self) -> Extensions:
        """The extensions in force (contract, section 7)."""
        return extensions(self.config)

    @cached_property
    def opening_tokens(self) -> int:
        """The estimated tokens of what begins every prompt: schema or tools, system message, task."""
        schema = orjson.dumps(sent_schema(self.config) or sent_tools(self.config)).decode()
        parts = (schema, system_prompt(self.config), task_message(self))
        return sum(map(estimate_tokens, parts))

    def texts(self, source: Source) -> Mapping[str, Text]:
        """Return a source's text and its document's name, as `figures` reads them: once.

        A bulletin's year often stands in its name alone.
        """
        if source not in self._texts:
            number = self.corpus.number(source.document)
            assert number is not None, "a source is registered from its document"
            text = self.corpus.text(number, source.start, source.end)
            self._texts[source] = {source.id: Text(text), f"name of {source.id}": Text(source.document)}
        return self._texts[source]


@dataclass(frozen=True)
class Effect:
    """What a valid operation leads to: the state, what is told of it, its result, log events and warnings."""

    state: State
    told: Told
    result: Mapping[str, Any]
    events: tuple[Event, ...] = ()
    warnings: tuple[Fault, ...] = ()
