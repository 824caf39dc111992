"""Episodes of the reference policy in process: the harness's own prompts, the policy's own server."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.backbone.reference.server import MODEL, complete
from pipeline.backbone.wire import Form, decode, encode
from pipeline.benchmarks.scorers.officeqa import score_answer
from pipeline.benchmarks.tasks import Task
from pipeline.corpus import Corpus, build
from pipeline.corpus.config import CorpusConfig
from pipeline.errors import ModelRequestFailed
from pipeline.harness import LongHarness
from pipeline.harness.config import ActionConfig, ActionMode, BudgetConfig, HarnessConfig, Profile
from pipeline.harness.tools import wire_text
from pipeline.protocols import Completion, Limits, Outcome, Request, RequestRecord, TaskView, Usage
from tests.variants import VARIANTS


@dataclass
class InProcess:
    """The policy as a backbone, over the bytes of the API but without HTTP. Keeps what was asked and replied.

    Replies are kept as the runtime reads them: of a tool call, its text in the wire format.
    """

    replies: list[str] = field(default_factory=list)
    bodies: list[dict[str, object]] = field(default_factory=list)

    async def complete(self, request: Request) -> Completion:
        body = json.loads(encode(request, MODEL, Form(schema=request.schema is not None)))
        self.bodies.append(body)
        reply = decode(json.dumps(complete(body)).encode())
        if reply.refusal:
            raise ModelRequestFailed("refused", reply.refusal)
        completion = Completion(
            reply.text, None, reply.finish, Usage(), MODEL, "in process", 0.0, tool_calls=reply.tool_calls
        )
        self.replies.append(wire_text(completion))
        return completion


class Unrecorded:
    """A recorder that keeps nothing."""

    def turn(self, turn: int, completion: Completion, state_sha256: str) -> None: ...

    def failed_request(self, turn: int, requests: tuple[RequestRecord, ...]) -> None: ...


async def episode(
    view: TaskView,
    corpus: Corpus,
    variant: str = "full",
    budget: BudgetConfig | None = None,
    profile: Profile = Profile.paper,
    mode: ActionMode = ActionMode.json_schema,
) -> tuple[Outcome, InProcess]:
    """Run one episode."""
    config = HarnessConfig(
        switches=VARIANTS[variant],
        budget=budget or BudgetConfig(turns=60),
        profile=profile,
        action=ActionConfig(mode),
    )
    backbone = InProcess()
    outcome = await LongHarness(config).run(view, corpus, backbone, Unrecorded(), Limits(8_192))
    return outcome, backbone


async def wrong(
    tasks: Sequence[Task],
    corpus: Corpus,
    variant: str = "full",
    profile: Profile = Profile.paper,
    mode: ActionMode = ActionMode.json_schema,
) -> list[str]:
    """The ids of the tasks that aren't answered exactly."""
    found = []
    for task in tasks:
        outcome, _ = await episode(task.view, corpus, variant, profile=profile, mode=mode)
        if not score_answer(task.gold.answer, outcome.answer or "", 0.0):
            found.append(task.view.id)
    return found


def corpus_of(folder: Path) -> Corpus:
    """A folder's documents, indexed in memory."""
    return build([folder], CorpusConfig(), None)


def operations(backbone: InProcess) -> Iterator[dict[str, object]]:
    """The operations sent, in order."""
    return (json.loads(reply)["operation"] for reply in backbone.replies)
