"""What a request of each API was sent with."""

from __future__ import annotations

import hashlib

import orjson

from pipeline.backbone.gateway.sent import sent
from pipeline.backbone.hashes import PromptHashes
from pipeline.backbone.wire import encode, sampled
from pipeline.protocols import Message, Request, Sampling


def test_a_chat_request_is_recorded_as_the_client_records_its_own() -> None:
    messages = (Message("system", "Be brief."), Message("user", "What was “it”?"))
    request = Request(messages, 16, sampling=Sampling(0.5, 0.9, {"top_k": 20}), seed=7)
    found = sent(orjson.loads(encode(request, "model")))
    assert (found.seed, found.sampling) == sampled(request)
    assert found.prompt_sha256 == PromptHashes().sha256(request)


def test_a_system_prompt_apart_is_part_of_the_prompt() -> None:
    turn = [{"role": "user", "content": "Hello"}]
    one = sent({"system": "Be brief.", "messages": turn, "max_tokens": 9, "thinking": {"type": "enabled"}})
    other = sent({"system": "Be long.", "messages": turn, "max_tokens": 9})
    assert one.prompt_sha256 != other.prompt_sha256
    assert orjson.loads(one.sampling) == {"max_tokens": 9, "thinking": {"type": "enabled"}}
    assert one.seed is None
    responses = sent({"instructions": "Be brief.", "input": "Hello", "max_output_tokens": 9})
    assert responses.prompt_sha256 == hashlib.sha256(b'["Be brief.","Hello"]').hexdigest()


def test_what_is_no_seed_is_none() -> None:
    assert sent({"seed": "7", "messages": []}).seed is None
