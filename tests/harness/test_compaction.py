"""Compaction with provenance: long episodes in short windows (contract 7.4)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256

import pytest

from pipeline.corpus import Corpus, build, estimate_tokens
from pipeline.corpus.config import CorpusConfig
from pipeline.errors import ModelRequestFailed
from pipeline.harness import LongHarness, Reply
from pipeline.harness.config import CompactionConfig, ExtensionsConfig, HarnessConfig
from pipeline.harness.prompt import Prompt, system_prompt
from pipeline.harness.rendering import stubs
from pipeline.harness.state import Exchange
from pipeline.protocols import Completion, Limits, Message, Request, RequestRecord, TaskView, Usage
from tests.harness.conftest import Episode, final, op, read, search, start, upsert, write

WINDOW = 32_768
DOCUMENTS, LINES = 24, 2_000
READ = 28_000  # code points a read, of one byte each: 7,000 tokens
TASK = TaskView("t", "What do the ledgers say?")


@pytest.fixture(scope="module")
def ledgers(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """Some 960,000 tokens of ledgers, in lines of 80 code points."""
    documents = {
        f"ledger_{year}.txt": "".join(
            f"Entry {line:04d} of ledger {year}, which comes to {year * line:>12,} thousand".ljust(79) + "\n"
            for line in range(LINES)
        )
        for year in range(1930, 1930 + DOCUMENTS)
    }
    return build([write(tmp_path_factory.mktemp("ledgers"), documents)], CorpusConfig(), None)


def config(*, compaction: bool = True) -> HarnessConfig:
    return HarnessConfig(
        extensions=ExtensionsConfig(compaction=compaction),
        compaction=CompactionConfig(window=WINDOW, share=0.9),
        document_map_tokens=1_000,
    )


def locations(corpus: Corpus) -> Iterator[dict[str, object]]:
    for document in corpus.document_ids:
        for begin in range(0, 80 * LINES, READ):
            yield {"document": document, "start": begin, "end": min(begin + READ, 80 * LINES)}


def replies(corpus: Corpus) -> Iterator[dict[str, object]]:
    """197 turns: every ledger read from end to end, 960,000 tokens, with searches and evidence between."""
    for number, location in enumerate(locations(corpus), 1):
        yield read(location)
        if number % 4 == 0:
            yield upsert(
                *(f"ledger range {n}" for n in range(number - 3, number + 1)), sources=(f"s{number}",)
            )
        if number % 9 == 0:
            yield search(f"entry {number:04d} thousand", top_k=3)
    yield final("done", ("e1",))


def play(episode: Episode, sent: Iterator[dict[str, object]]) -> Iterator[tuple[int, tuple[Message, ...]]]:
    """Play an episode; yield, before each reply, the turn and the messages of the request."""
    environment = episode.environment
    prompt = Prompt(environment, Message("system", system_prompt(environment.config)))
    for reply in sent:
        yield episode.state.turn + 1, prompt.messages(episode.state)
        prompt.append(episode.send(reply))


def tokens(messages: tuple[Message, ...]) -> int:
    return sum(estimate_tokens(message.content) for message in messages)


def text(corpus: Corpus, document: str, begin: int, end: int) -> str:
    number = corpus.number(document)
    assert number is not None
    return corpus.text(number, begin, end)


def test_7_4_a_200_turn_episode_of_900_000_tokens_stays_in_a_window_of_32_000(ledgers: Corpus) -> None:
    episode = start(config(), ledgers, TASK)
    sizes = {turn: tokens(messages) for turn, messages in play(episode, replies(ledgers))}
    state = episode.state
    assert state.status == "answered" and 170 <= state.turn <= 200
    assert state.budget.read_tokens > 900_000
    assert max(sizes.values()) <= WINDOW
    assert state.compacted > 100

    assert len(state.history.exchanges) == state.turn
    assert sum(len(exchange.observation) for exchange in state.history.exchanges) > 4 * 900_000
    for source in state.sources.entries:
        assert (
            sha256(text(ledgers, source.document, source.start, source.end).encode()).hexdigest()
            == source.sha256
        )


def test_7_4_every_reference_stays_citable_and_is_listed(ledgers: Corpus) -> None:
    episode = start(config(), ledgers, TASK)
    *before, _ = replies(ledgers)
    shown = [messages for _, messages in play(episode, iter([*before, op("search", query="entry")]))]
    registered = [source.id for source in episode.state.sources.entries]
    assert all(f"\n{source.line}\n" in shown[-1][-1].content for source in episode.state.sources.entries)
    turn = episode.send(upsert(*(f"from {source}" for source in registered), sources=tuple(registered)))
    assert turn.result and all(item["id"] for item in turn.result["items"])


def test_7_4_without_compaction_the_same_episode_outgrows_the_window(ledgers: Corpus) -> None:
    episode = start(config(compaction=False), ledgers, TASK)
    sizes = [tokens(messages) for _, messages in play(episode, replies(ledgers))]
    assert sizes[-1] > 900_000 and sizes[9] > WINDOW


def test_7_4_between_compactions_the_prompt_is_append_only(ledgers: Corpus) -> None:
    episode = start(config(), ledgers, TASK)
    before, compacted, compactions, checked = (), 0, 0, 0
    for _, messages in play(episode, replies(ledgers)):
        if episode.state.compacted == compacted and before:
            assert messages[: len(before) - 1] == before[:-1]
            last, repeated = before[-1].content, messages[len(before) - 1].content
            assert repeated == last.partition("\n\n=== state ===")[0]
            checked += 1
        elif before:
            compactions += 1
        before, compacted = messages, episode.state.compacted
    assert checked > 2 * compactions > 0


def test_7_4_what_left_the_prompt_is_logged_and_told_of_in_a_line(ledgers: Corpus) -> None:
    episode = start(config(), ledgers, TASK)
    sent = list(replies(ledgers))[:30]
    *_, (_, messages) = play(episode, iter(sent))
    turns = LongHarness(config()).replay(TASK, ledgers, (Reply(json.dumps(reply)) for reply in sent)).turns
    log = [event for turn in turns for event in turn.log if event["event"] == "turns_compacted"]
    assert [event["first"] for event in log] == [1, *(event["last"] + 1 for event in log[:-1])]
    told, _, short = messages[1].content.partition("\n=== earlier turns, in short; ")
    assert told.startswith("Question:\nWhat do the ledgers say?")
    _, first, *rest = short.splitlines()
    assert first == "[turn 1] read: 1 location, 7000 tokens: s1 = ledger_1930.txt [0:28000]"
    assert rest and all(line.startswith("[turn ") for line in rest)


def test_7_4_reading_again_what_left_the_prompt_is_free_and_once_more_is_not(ledgers: Corpus) -> None:
    episode = start(config(), ledgers, TASK)
    first, *others = locations(ledgers)
    episode.play(*(read(location) for location in (first, *others[:6])))
    assert episode.state.compacted >= 1
    left = episode.state.budget.read_tokens_left
    turn = episode.send(read(first))
    assert turn.result and turn.result["reads"][0]["source"] == "s1"
    assert turn.state.budget.read_tokens_left == left
    assert "(first read at turn 1; it had left the prompt, no budget spent)" in turn.observation
    assert episode.send(read(first)).state.budget.read_tokens_left == left - READ // 4


def test_7_4_a_free_read_needs_no_budget_left(ledgers: Corpus) -> None:
    settings = config()
    settings.budget.read_tokens = 6 * READ // 4
    episode = start(settings, ledgers, TASK)
    first, second, third, fourth, fifth, _, other, another = (
        location for location, _ in zip(locations(ledgers), range(8), strict=False)
    )
    episode.play(*map(read, (first, second, third, fourth, fifth, other)))
    assert episode.state.budget.read_tokens_left == 0
    assert episode.send(read(first)).valid
    error = episode.send(read(another)).error
    assert error and error.code == "read_budget_exhausted"


def test_7_4_a_replay_compacts_at_the_same_turns(ledgers: Corpus) -> None:
    harness = LongHarness(config())
    episode = start(config(), ledgers, TASK)
    for _ in play(episode, replies(ledgers)):
        pass
    trace = harness.replay(
        TASK, ledgers, (Reply(each.reply.text) for each in episode.state.history.exchanges)
    )
    assert trace.state.sha256 == episode.state.sha256 and trace.state.compacted == episode.state.compacted


class Windowed:
    """A backbone with a script and a real window: a prompt beyond it is refused, as a server refuses it."""

    def __init__(self, script: Iterator[dict[str, object]]) -> None:
        self.script = script

    async def complete(self, request: Request) -> Completion:
        if tokens(request.messages) > WINDOW:
            raise ModelRequestFailed("context_overflow", "the prompt is longer than the window")
        return Completion(json.dumps(next(self.script)), None, "stop", Usage(), "scripted", "r0", 0.0)


class Silent:
    """A recorder that keeps nothing."""

    def turn(self, turn: int, completion: Completion, state_sha256: str) -> None: ...

    def failed_request(self, turn: int, requests: tuple[RequestRecord, ...]) -> None: ...


@pytest.mark.parametrize(("compaction", "status"), [(True, "answered"), (False, "model_request_failed")])
async def test_7_4_it_keeps_alive_what_would_end_as_a_failed_request(
    ledgers: Corpus, compaction: bool, status: str
) -> None:
    harness = LongHarness(config(compaction=compaction))
    outcome = await harness.run(TASK, ledgers, Windowed(replies(ledgers)), Silent(), Limits(1_024))
    assert outcome.status == status


def test_7_4_many_stubs_are_told_in_one_line() -> None:
    lines = stubs([Exchange(Reply(""), "", f"[turn {n}] search") for n in range(1, 151)]).splitlines()
    assert (
        lines[1] == "[turns 1 to 50] what came of them is in the state below"
        and lines[2] == "[turn 51] search"
    )
    assert len(lines) == 102


def test_7_4_a_read_of_many_ranges_is_told_by_its_ids(ledgers: Corpus) -> None:
    episode = start(config(), ledgers, TASK)
    document = ledgers.document_ids[0]
    episode.play(read(*({"document": document, "start": n, "end": n + 10} for n in range(4))))
    episode.play(search("word " * 200))
    few, long = (exchange.stub for exchange in episode.state.history.exchanges)
    assert few.endswith(": s1, s2, s3, s4") and document not in few
    assert len(long) <= 300


def test_7_4_a_range_served_at_the_last_turn_that_left_is_free_and_the_next_is_not(ledgers: Corpus) -> None:
    episode = start(config(), ledgers, TASK)
    ranges = [location for location, _ in zip(locations(ledgers), range(7), strict=False)]
    episode.play(*map(read, ranges))
    last = episode.state.compacted
    assert 0 < last < len(ranges)
    left = episode.state.budget.read_tokens_left
    assert episode.send(read(ranges[last - 1])).state.budget.read_tokens_left == left
    again = start(config(), ledgers, TASK)
    again.play(*map(read, ranges))
    assert again.send(read(ranges[last])).state.budget.read_tokens_left < left


def test_7_4_the_newest_turn_stays_however_large_it_is(ledgers: Corpus) -> None:
    narrow = config()
    narrow.compaction = CompactionConfig(window=4_000, share=1.0)
    sent = [read(location) for location, _ in zip(locations(ledgers), range(4), strict=False)]
    episode = start(narrow, ledgers, TASK)
    requests = [messages for _, messages in play(episode, iter(sent))]
    assert episode.state.compacted == len(sent) - 1
    for exchange, request in zip(episode.state.history.exchanges, requests[1:], strict=False):
        assert request[-1].content.startswith(exchange.observation)
