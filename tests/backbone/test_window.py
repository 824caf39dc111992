"""What a reply may take: what is asked for, or what the prompt leaves of the window."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.backbone.client import ChatClient
from pipeline.backbone.window import LEAST, corrected, fitting
from pipeline.errors import ModelRequestFailed
from pipeline.protocols import Message, Request, Sampling
from tests.backbone.faults import completion, faulty, replied
from tests.backbone.requests import ask, hasty

MODELS = json.dumps(
    {"data": [{"id": "other", "max_model_len": 7}, {"id": "asked-for", "max_model_len": 4_000}]}
)
LLAMA = json.dumps({"data": [{"id": "asked-for", "owned_by": "llamacpp", "meta": {"n_ctx_train": 99}}]})
PROPS = json.dumps({"default_generation_settings": {"n_ctx": 4_000}})
LONG = "x" * 8_000
TOO_LARGE = (
    "'max_tokens' or 'max_completion_tokens' is too large: 4096. This model's maximum context length is 2048 "
    "tokens and your request has 1012 input tokens."
)


@given(st.integers(1, 10**6), st.integers(1, 10**6), st.integers(0, 2 * 10**6), st.integers(0, 10**6))
def test_a_reply_fits_behind_its_prompt_or_is_the_least(
    most: int, window: int, prompt: int, unseen: int
) -> None:
    fit = fitting(most, window, prompt, unseen)
    assert min(most, LEAST) <= fit <= most
    assert fit <= LEAST or prompt + fit < window
    assert fitting(most, None, prompt, unseen) == most


@pytest.mark.parametrize(
    ("looks", "asked"),
    [
        ({"/v1/models": MODELS}, "/v1/models"),
        ({"/v1/models": LLAMA, "/props": PROPS}, "/props"),
    ],
)
async def test_the_server_is_asked_for_its_window_once(looks: dict[str, str], asked: str) -> None:
    usage = {"prompt_tokens": 3_000, "completion_tokens": 3}
    async with faulty(completion(usage=usage)) as server, ChatClient(server.endpoint, hasty()) as client:
        server.looks = looks
        for text in (LONG, LONG + "y" * 800):
            await client.complete(ask(text, max_tokens=3_000))
    assert server.looked.count(asked) == 1
    first, second = (body["max_tokens"] for body in server.bodies)
    assert 1_000 < first < 2_000 + LEAST  # of 8,000 characters, before any were counted
    unseen = int(
        800 * 3_000 / (len(LONG) + len('{"role":"user","content":""}'))
    )  # at the rate that was counted
    assert second == 4_000 - (3_000 + unseen) - 64 - unseen // 10


async def test_a_configured_window_is_not_asked_for() -> None:
    backbone = hasty()
    backbone.window = 3_000
    async with faulty(completion()) as server, ChatClient(server.endpoint, backbone) as client:
        await client.complete(ask(LONG, max_tokens=3_000))
    assert server.bodies[0]["max_tokens"] < 1_000
    assert "/v1/models" not in server.looked


@pytest.mark.parametrize("said", [None, "no JSON", "[]", '{"data": [{"id": "asked-for"}]}', '{"data": [3]}'])
async def test_a_server_that_names_no_window_is_asked_for_all(said: str | None) -> None:
    async with faulty(completion()) as server, ChatClient(server.endpoint, hasty()) as client:
        server.looks = {} if said is None else {"/v1/models": said}
        await client.complete(ask(LONG, max_tokens=100_000))
    assert server.bodies[0]["max_tokens"] == 100_000


async def test_what_goes_by_another_name_is_fitted_too() -> None:
    backbone = hasty()
    backbone.window = 3_000
    extra = {"max_tokens": None, "max_completion_tokens": 2_900}
    async with faulty(completion()) as server, ChatClient(server.endpoint, backbone) as client:
        await client.complete(Request((Message("user", LONG),), 2_900, sampling=Sampling(extra=extra)))
    assert server.bodies[0]["max_completion_tokens"] < 1_000 and "max_tokens" not in server.bodies[0]


async def test_too_large_a_reply_is_corrected_once_by_the_numbers_of_the_refusal() -> None:
    refusal = replied(400, {"error": {"message": TOO_LARGE, "param": "max_tokens"}})
    async with faulty(refusal, completion("fits")) as server, ChatClient(server.endpoint, hasty()) as client:
        reply = await client.complete(ask(max_tokens=4_096))
    assert reply.text == "fits"
    assert [body["max_tokens"] for body in server.bodies] == [4_096, 1_036]
    assert [record.status for record in reply.requests] == [400, 200]

    async with faulty(refusal) as server, ChatClient(server.endpoint, hasty()) as client:
        with pytest.raises(ModelRequestFailed, match="context_overflow"):
            await client.complete(ask(max_tokens=4_096))
    assert len(server.bodies) == 2


@pytest.mark.parametrize(
    ("said", "left"),
    [
        (TOO_LARGE, 1_036),
        (
            "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (5000 in "
            "the messages, 4000 in the completion). Please reduce the length",
            3_192,
        ),
        ("max_tokens is too large: 5000. This model supports at most 4096 completion tokens, whereas", 4_096),
        ("max_tokens: 5000 > 4096, which is the maximum allowed number of output tokens for this", 4_096),
        ("input length and `max_tokens` exceed context limit: 199000 + 5000 > 200000, decrease it", 1_000),
        ("input length and `max_tokens` exceed context limit: 199990 + 5000 > 200000, decrease it", None),
        ("This model's maximum context length is 2048 tokens. However, your prompt contains 2049", None),
        ("max_tokens must be positive", None),
    ],
)
def test_numbers_are_read_in_every_servers_words(said: str, left: int | None) -> None:
    assert corrected(said, 5_000) == left


def test_a_correction_is_never_upwards() -> None:
    assert corrected(TOO_LARGE, 1_036) is None
