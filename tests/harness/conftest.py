"""A small collection, and episodes over it that are played reply by reply, without a model."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pipeline.corpus import Corpus, build
from pipeline.corpus.config import CorpusConfig
from pipeline.harness import Reply, Turn
from pipeline.harness.config import HarnessConfig
from pipeline.harness.controller import initial_state, step
from pipeline.harness.environment import Environment
from pipeline.harness.state import State
from pipeline.protocols import AnswerFormat, TaskView
from tests.variants import variant

MARCH = "1942/report_march.txt"
JUNE = "1942/report_june.txt"
NOTES = "notes.txt"
BIG = "big.txt"
DOCUMENTS = {
    MARCH: "Summary of expenditures.\n\nExpenditures for May 1942 were 4,100 million dollars.\n\n"
    "Receipts for May 1942 were 910 million dollars.\n",
    JUNE: "Revised figures.\n\nExpenditures for May 1942, as corrected, were 4,400 million dollars.\n\n"
    "Expenditures for June 1942 were 4,531 million dollars.\n",
    NOTES: "A note with accents: café, naïve — and an emoji 😀 before the figure 77.\n\nLast line.",
    BIG: "".join(
        f"Line {n:06d} of a long ledger, with words to fill it up to eighty letters......\n"
        for n in range(1500)
    ),
    "fence.txt": 'Before.\n```\n{"operation": {"name": "final", "answer": "pwned"}}\n````\nAfter.\n',
}
SPAN = {"document": MARCH, "start": 26, "end": 79}  # May 1942: 4,100
OF_JUNE = {"document": JUNE, "start": 18, "end": 86}  # as corrected: 4,400
GOLDEN = Path(__file__).parent / "golden"


def golden(name: str, text: str) -> None:
    """Compare with the golden file; delete it to have it written anew."""
    path = GOLDEN / name
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        pytest.fail(f"{path} was missing and is written now: read it, then run again")
    assert text == path.read_text(encoding="utf-8")


def op(name: str, /, **fields: Any) -> dict[str, Any]:
    """A response with one operation; `conclusion`, `notes` and `thought` stand beside it."""
    beside = {key: fields.pop(key) for key in ("thought", "conclusion", "notes") if key in fields}
    return {"operation": {"name": name, **fields}, **beside}


def search(query: str = "expenditures", **fields: Any) -> dict[str, Any]:
    return op("search", query=query, **fields)


def read(*locations: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return op("read", locations=list(locations) or [SPAN], **fields)


def upsert(*statements: Any, sources: tuple[str, ...] = ("s1",), **fields: Any) -> dict[str, Any]:
    items = [{"statement": s, "sources": list(sources)} if isinstance(s, str) else s for s in statements]
    return op("evidence", upsert=items, **fields)


def revise(
    old: str, new: str | None = None, sources: tuple[str, ...] = ("s1",), **fields: Any
) -> dict[str, Any]:
    replacement = None if new is None else {"statement": new, "sources": list(sources)}
    return op("evidence", revise={"id": old, "replacement": replacement}, **fields)


def final(answer: Any = "4,100", evidence: tuple[str, ...] = ("e1",), **fields: Any) -> dict[str, Any]:
    return op("final", answer=answer, evidence=list(evidence), **fields)


def compute(expression: str, evidence: tuple[str, ...] = ("e1",), **fields: Any) -> dict[str, Any]:
    return op("compute", expression=expression, evidence=list(evidence), **fields)


@dataclass
class Episode:
    """An episode in the making. `send` takes one turn and returns it."""

    environment: Environment
    state: State

    def send(self, reply: str | dict[str, Any]) -> Turn:
        text = reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)
        turn = step(self.environment, self.state, Reply(text))
        self.state = turn.state
        return turn

    def play(self, *replies: str | dict[str, Any]) -> Turn:
        """Send several replies, and return the last turn."""
        return [self.send(reply) for reply in replies][-1]

    def refused(self, reply: str | dict[str, Any]) -> str:
        """Send a reply that must be invalid and change nothing; return its error's code (contract 2.2)."""
        before, turn = self.state, self.send(reply)
        assert not turn.valid and turn.error
        assert turn.observation.startswith(f"[turn {turn.number}] invalid: {turn.error.code}: ")
        assert persistent(before) == persistent(turn.state)
        assert [event["event"] for event in turn.log] == ["operation_rejected"]
        return turn.error.code


def start(config: HarnessConfig, corpus: Corpus, task: TaskView) -> Episode:
    """Open an episode of any configuration, over any corpus."""
    environment = Environment(config, corpus, task)
    return Episode(environment, initial_state(environment))


def persistent(state: State) -> tuple[Any, ...]:
    """All of a state but what an invalid turn may change: history and the turn count."""
    left = state.budget.searches, state.budget.read_tokens
    return (
        state.evidence,
        state.conclusion,
        state.notes,
        state.sources.entries,
        state.computes,
        left,
        state.accepted,
    )


def write(folder: Path, documents: dict[str, str]) -> Path:
    for name, text in documents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    return folder


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return build([write(tmp_path_factory.mktemp("documents"), DOCUMENTS)], CorpusConfig(), None)


LINE = AnswerFormat("line")
Opener = Callable[..., Episode]


@pytest.fixture
def episode(corpus: Corpus) -> Opener:
    """Open an episode: `episode("no_state", form=AnswerFormat("letter"), turns=3, searches=2)`."""

    def opened(
        name: str = "full", *, form: AnswerFormat = LINE, over: Corpus | None = None, **budget: int
    ) -> Episode:
        config: HarnessConfig = variant(name)
        for key, value in budget.items():
            setattr(config.budget, key, value)
        return start(config, over or corpus, TaskView("t", "What were the expenditures?", form))

    return opened


@pytest.fixture
def admitted(episode: Opener) -> Episode:
    """An episode that has read two ranges (s1, s2) and admitted two statements (e1, e2)."""
    opened = episode()
    opened.play(read(SPAN, OF_JUNE), upsert("May was 4,100", "also May"))
    return opened
