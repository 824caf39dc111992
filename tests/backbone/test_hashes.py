"""The hash of each prompt, of the very bytes that are sent; and what is recorded of its sampling."""

from __future__ import annotations

import hashlib
import json

from hypothesis import given
from hypothesis import strategies as st

from pipeline.backbone.hashes import PromptHashes
from pipeline.backbone.wire import Form, encode, sampled
from pipeline.protocols import Message, Request, Sampling


class CountedMessage(Message):
    """Counts how often its bytes are looked at."""

    looks = 0

    @property
    def encoded(self) -> bytes:
        type(self).looks += 1
        return json.dumps({"role": self.role, "content": self.content}).encode()


def expected(messages: tuple[Message, ...]) -> str:
    """By the body that is sent."""
    body = encode(Request(messages, 10), "m")
    start = body.index(b'"messages":') + len(b'"messages":')
    return hashlib.sha256(body[start:-1]).hexdigest()


@given(st.lists(st.tuples(st.sampled_from("ab"), st.lists(st.text(max_size=5), min_size=1, max_size=4))))
def test_whatever_is_asked_in_whatever_order_the_hash_is_of_what_is_sent(
    asked: list[tuple[str, list[str]]],
) -> None:
    hashes = PromptHashes()
    for episode, texts in asked:
        messages = tuple(Message("user", text) for text in texts)
        assert hashes.sha256(Request(messages, 10, episode=episode)) == expected(messages)


def test_of_a_prompt_that_grows_only_what_is_new_is_read() -> None:
    hashes, history = PromptHashes(), [CountedMessage("system", "do this")]
    for turn in range(50):
        request = Request((*history, CountedMessage("user", f"observation {turn}, tail")), 10, episode="e")
        before = CountedMessage.looks
        hashes.sha256(request)
        assert CountedMessage.looks - before <= 3  # what the last turn added, and the tail
        history += [CountedMessage("user", f"observation {turn}"), CountedMessage("assistant", "reply")]


def test_an_episode_that_is_over_is_forgotten() -> None:
    hashes, messages = PromptHashes(), (CountedMessage("system", "do this"), CountedMessage("user", "ask"))
    hashes.sha256(Request(messages, 10, episode="e"))
    hashes.forget("e")
    before = CountedMessage.looks
    hashes.sha256(Request(messages, 10, episode="e"))
    assert CountedMessage.looks - before == 2


def test_the_sampling_that_is_recorded_is_what_is_sent() -> None:
    extra = {"top_k": 20, "max_tokens": None, "max_completion_tokens": 400, "seed": None}
    request = Request((Message("user", "x"),), 400, sampling=Sampling(0.6, None, extra), seed=3)
    assert sampled(request, Form(max_tokens=100)) == (
        None,
        '{"max_completion_tokens":100,"temperature":0.6,"top_k":20}',
    )
    assert sampled(Request((Message("user", "x"),), 400, seed=3)) == (3, '{"max_tokens":400}')
    body = json.loads(encode(request, "m", Form(max_tokens=100)))
    assert body.keys() == {"model", "messages", "max_completion_tokens", "temperature", "top_k"}
