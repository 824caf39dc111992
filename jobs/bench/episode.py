"""The harness in a long episode: how much of each request repeats the one before, and what a turn costs.

    python jobs/bench/episode.py --tokens 1e7

A scripted analyst (`analyst.py`) stands in for the model: every reply follows from what was observed, and is
valid. Tokens are estimates over the messages' contents (4 bytes each). CPU time is the thread's own.

- cached: what of a request's tokens is a prefix of the request before, so that a prefix cache can hit it; per
  request, its 5th percentile if there were no tail, and of all tokens of all requests;
- repeated: what of the request before begins this one. All before its tail is checked to be identical.
- cost: from a reply's arrival to the next request's bytes, by stage, over each fifty turns.
- peer: the same requests serialised from scratch each turn, by the standard library's json.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import orjson
from analyst import Analyst

from pipeline.backbone.wire import Form, encode
from pipeline.benchmarks.ledgerqa import LedgerQAConfig, generate
from pipeline.config import resolve
from pipeline.corpus import Corpus, build, estimate_tokens
from pipeline.corpus.config import CorpusConfig
from pipeline.harness import LongHarness, controller, episode
from pipeline.harness.config import HarnessConfig
from pipeline.harness.prompt import Prompt, sent_schema, system_prompt
from pipeline.harness.state import History, State
from pipeline.protocols import Completion, Limits, Message, Request, TaskView, Usage
from pipeline.runs.journal import AttemptRecorder, Segment

VARIANTS = ("longharness", "no_state", "no_coevolution", "append_only", "no_guidance", "notes")
STAGES = ("parse", "execute", "hash", "journal", "render", "encode", "all")
TAIL = "\n\n=== state ===\n"
SPAN = 50  # turns in a row of the table of costs


class Clock:
    """CPU nanoseconds of a turn by stage; a stage within another counts for itself alone."""

    def __init__(self) -> None:
        self.turns: list[dict[str, int]] = []
        self._spent: defaultdict[str, int] = defaultdict(int)
        self._within = 0

    def timed(self, stage: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return `call`, timed."""

        def timing(*given: Any, **named: Any) -> Any:
            outer, self._within = self._within, 0
            began = time.thread_time_ns()
            try:
                return call(*given, **named)
            finally:
                spent = time.thread_time_ns() - began
                self._spent[stage] += spent - self._within
                self._within = outer + spent

        return timing

    def lap(self) -> None:
        """End a turn."""
        self.turns.append({**self._spent, "all": sum(self._spent.values())})
        self._spent.clear()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Time the stages of the real loop, each at the function that is all of it."""
        hashed = cached_property(self.timed("hash", State.sha256.func))
        hashed.__set_name__(State, "sha256")
        stages = {
            (controller, "parse"): self.timed("parse", controller.parse),
            (episode, "step"): self.timed("execute", episode.step),
            (History, "append"): self.timed("hash", History.append),
            (State, "sha256"): hashed,
            (AttemptRecorder, "turn"): self.timed("journal", AttemptRecorder.turn),
            (Prompt, "append"): self.timed("render", Prompt.append),
            (Prompt, "messages"): self.timed("render", Prompt.messages),
        }
        with ExitStack() as patches:
            for (owner, name), timed in stages.items():
                patches.enter_context(patch.object(owner, name, timed))
            yield


class Script:
    """A `Backbone`: the analyst's replies, and what is to be known of each request."""

    def __init__(self, analyst: Analyst, turns: int, clock: Clock, *, peer: bool = False) -> None:
        self._analyst = analyst
        self._work = analyst.work()
        self._turns = turns
        self._encode = clock.timed("encode", encode)
        self._lap = clock.lap
        self._peer = peer
        self.peer: list[int] = []
        self.sizes: list[tuple[int, int, int]] = []
        """Bytes of each request: in all, shared with the one before, and its tail."""
        self._before: Sequence[Message] = ()

    async def complete(self, request: Request) -> Completion:
        """Encode the request, as a client does, and reply to it."""
        body = self._encode(request, "model", Form(schema=True))
        self._lap()
        self._compare(request.messages)
        if self._peer:
            began = time.thread_time_ns()
            again = json.dumps([{"role": m.role, "content": m.content} for m in request.messages])
            self.peer.append(time.thread_time_ns() - began)
            assert len(again) > len(body) // 2
        text = orjson.dumps(self._reply(request.messages[-1].content.partition(TAIL)[0])).decode()
        usage = Usage(self.sizes[-1][0] // 4, self.sizes[-1][1] // 4, len(text) // 4)
        return Completion(text, None, "stop", usage, "model", "replica", 0.0)

    def _reply(self, observed: str) -> dict[str, Any]:
        turn = len(self.sizes)
        assert " invalid: " not in observed.partition("\n")[0], observed[:2_000]
        assert not observed.startswith("invalid_conclusion"), observed[:2_000]
        if turn == self._turns:
            return self._analyst.final()
        return next(self._work) if turn == 1 else self._work.send(observed)

    def _compare(self, now: Sequence[Message]) -> None:
        before, shared = self._before, 0
        if before:
            kept = before[-1].content.partition(TAIL)[0]
            assert [m.encoded for m in before[:-1]] == [m.encoded for m in now[: len(before) - 1]]
            assert now[len(before) - 1].content == kept, "what precedes the last tail has changed"
            shared = sum(_size(message) for message in now[: len(before)])
        tail = len(now[-1].content.partition(TAIL)[2].encode())
        self.sizes.append((sum(map(_size, now)), shared, tail))
        self._before = now


def _size(message: Message) -> int:
    """Bytes of a message's content; of its JSON, which is kept, but for quotes and escapes."""
    return len(message.content.encode())


def run(
    config: HarnessConfig, corpus: Corpus, questions: Sequence[str], turns: int, *, peer: bool = False
) -> tuple[Script, Clock]:
    """Run one episode of a variant through the real loop and journal."""
    config.budget.turns = turns
    clock = Clock()
    script = Script(Analyst(questions, config.switches), turns, clock, peer=peer)
    with tempfile.TemporaryDirectory() as folder, clock.watching():
        segment = Segment(Path(folder), "bench")
        recorder = AttemptRecorder(segment, "episode", 0)
        task = TaskView("bench", questions[0])
        ended = asyncio.run(LongHarness(config).run(task, corpus, script, recorder, Limits(1_024)))
        segment.close()
    assert ended.status == "answered", ended
    return script, clock


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--dataset", type=Path, help="a generated LedgerQA; else it is generated")
    parser.add_argument("--tokens", type=float, default=1e7, help="estimated tokens to generate")
    parser.add_argument("--turns", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        dataset = options.dataset or Path(temporary) / "ledgerqa"
        if options.dataset is None:
            generate(LedgerQAConfig(seed=options.seed, tokens=int(options.tokens)), dataset)
        corpus = build([dataset / "documents"], CorpusConfig(), None)
        lines = (dataset / "questions.jsonl").read_bytes().splitlines()
        questions = [str(orjson.loads(line)["question"]) for line in lines]
        size = sum(
            corpus.tokens(number, 0, corpus.length(number)) for number in range(len(corpus.document_ids))
        )
    print(f"{size / 1e6:.1f}M tokens in {len(corpus.document_ids):,} documents; {options.turns} turns")
    print_parts(corpus, questions)
    print_prefixes({name: run(harness(name), corpus, questions, options.turns)[0] for name in VARIANTS})
    print_costs(*run(harness("longharness"), corpus, questions, options.turns, peer=True))


def harness(name: str) -> HarnessConfig:
    """Return an option of `harness`, as a run has it."""
    config: HarnessConfig = resolve([f"harness={name}"]).arms[0].harness
    return config


def print_parts(corpus: Corpus, questions: Sequence[str]) -> None:
    """Print the sizes of what begins every prompt."""
    document_map = estimate_tokens(corpus.outline(4_000))
    print(f"\n{'tokens':<16}{'system':>8}{'schema':>8}{'both':>8}{'map':>8}")
    for name in VARIANTS:
        config = harness(name)
        system, schema = estimate_tokens(system_prompt(config)), estimate_tokens(_json(sent_schema(config)))
        print(f"{name:<16}{system:>8,}{schema:>8,}{system + schema:>8,}{document_map:>8,}")


def print_prefixes(scripts: Mapping[str, Script]) -> None:
    """Print what requests 2 to n share with the ones before, and what the tail takes."""
    print(f"\n{'%':<16}{'cached, p5 / p50 / min':>24}{'no tail':>9}{'of all':>8}", end="")
    print(f"{'repeated, p5 / p50 / min':>26}{'tail, p50':>11}{'at the end':>12}{'prompt at the end':>19}")
    for name, script in scripts.items():
        whole, shared, tail = np.array(script.sizes, float).T
        cached, repeated = 100 * shared[1:] / whole[1:], 100 * shared[1:] / whole[:-1]
        shown = [
            " / ".join(f"{each:.1f}" for each in (*np.percentile(part, (5, 50)), part.min()))
            for part in (cached, repeated)
        ]
        bound = np.percentile(100 * shared[1:] / (whole - tail)[1:], 5)  # what is new and no tail remains
        total = 100 * shared.sum() / whole[1:].sum()
        print(f"{name:<16}{shown[0]:>24}{bound:>9.1f}{total:>8.1f}{shown[1]:>26}", end="")
        print(f"{np.median(100 * tail / whole):>11.1f}{tail[-1] / 4:>12,.0f}{whole[-1] / 4:>19,.0f}")


def print_costs(script: Script, clock: Clock) -> None:
    """Print what a turn costs, by stage, and what serialising its request from scratch costs."""
    turns, peer = clock.turns[1:], np.array(script.peer[1:]) / 1e6  # the first request has no turn before it
    print(f"\n{'CPU ms, p50 (p99)':<18}" + "".join(f"{stage:>14}" for stage in (*STAGES, "peer")))
    for first in range(0, len(turns), SPAN):
        rows = turns[first : first + SPAN]
        columns = [np.array([turn.get(stage, 0) for turn in rows]) / 1e6 for stage in STAGES]
        columns.append(peer[first : first + SPAN])
        shown = [f"{np.percentile(part, 50):.2f} ({np.percentile(part, 99):.2f})" for part in columns]
        print(f"turns {first + 1}–{first + len(rows)}".ljust(18) + "".join(f"{each:>14}" for each in shown))
    ours = sum(turn["render"] + turn["encode"] for turn in turns) / 1e6
    every = np.percentile([turn["all"] / 1e6 for turn in turns], (50, 99))
    print(f"\nall turns: {every[0]:.2f} ({every[1]:.2f}) ms", end="; ")
    print(f"render and encode {ours:.0f} ms an episode, peer {peer.sum():.0f} ms: {peer.sum() / ours:.1f}×")


def _json(schema: object) -> str:
    return orjson.dumps(schema).decode()


if __name__ == "__main__":
    main()
