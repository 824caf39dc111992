"""Asking a judge: each request once; what was asked before is taken from the record."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from pipeline.analysis.judgements import Ask, Journal, Judgement, cache, cached
from pipeline.backbone.client import ChatClient
from pipeline.backbone.config import BackboneConfig, JudgeConfig
from pipeline.backbone.serving.endpoint import running
from pipeline.errors import BackboneUnavailable, ConfigError, ModelRequestFailed
from pipeline.protocols import Completion, Request, RequestRecord, Sampling

_GIVE_UP = 5  # failures of the infrastructure in a row, each after its retries, and no reply in between

Shown = Callable[[str, int, int], None]
"""Is told a stage, how much of it is done, and its total."""


def check_judge(judge: JudgeConfig) -> None:
    """Raise `ConfigError` for a judge that can't be asked: a URL that is none, a key that isn't there."""
    if judge.model is not None:
        running(judge.urls, judge.model, judge.api_key_env, "judge")
        _key(judge.api_key_env)


def judge_all(
    wanted: Iterable[Ask], judge: JudgeConfig, journal: Journal, shown: Shown | None = None
) -> Mapping[str, Judgement]:
    """Return what came of each of `wanted`, by key: from the journal, from the cache, or asked now.

    Without a model nothing is asked, and what nobody knows is left out; so is what is still unasked when the
    judge proves to be out of reach. Raises `ConfigError` for a judge that can't be asked at all. An interrupt
    passes through: what was replied until then is in the journal.
    """
    by_key = {ask.key: ask for ask in wanted}
    for key in by_key:
        if not journal.replied(key) and (found := cached(key)):
            journal.append(replace(found, cached=True))
    owed = [ask for key, ask in by_key.items() if not journal.replied(key)]
    if owed and judge.model is not None:
        try:
            asyncio.run(_Session(judge, journal, owed, shown).ask())
        except ExceptionGroup as errors:  # of workers that failed at once, as on a full disk: one says it
            raise errors.exceptions[0] from None
    return {key: journal.known[key] for key in by_key if key in journal.known}


class _Session:
    """Asks `owed`, a few at a time, and gives up on a server that fails again and again."""

    def __init__(self, judge: JudgeConfig, journal: Journal, owed: list[Ask], shown: Shown | None) -> None:
        assert judge.model is not None
        self._judge = judge
        self._model = judge.model
        self._journal = journal
        self._owed = owed
        self._shown = shown or (lambda stage, done, total: None)
        self._key = _key(judge.api_key_env)
        self._done = 0
        self._unreached = 0  # in a row

    async def ask(self) -> None:
        endpoint = running(self._judge.urls, self._model, self._judge.api_key_env, "judge")
        backbone = BackboneConfig(
            self._judge.name, self._model, max_tokens=self._judge.max_tokens, client=self._judge.client
        )
        left = iter(self._owed)
        async with ChatClient(endpoint, backbone) as client, asyncio.TaskGroup() as group:
            for _ in range(min(self._judge.concurrency, len(self._owed))):
                group.create_task(self._work(client, left))

    async def _work(self, client: ChatClient, left: Iterator[Ask]) -> None:
        """Ask one after the other of what is `left`, which all workers share."""
        for ask in left:
            judgement = await self._ask(client, ask)
            self._journal.append(judgement)
            if judgement.reply is not None:
                cache(judgement)
            self._done += 1
            self._shown("judging", self._done, len(self._owed))
            if self._unreached >= max(_GIVE_UP, self._judge.concurrency):
                return

    async def _ask(self, client: ChatClient, ask: Ask) -> Judgement:
        sampling = self._judge.sampling
        request = Request(
            ask.messages,
            self._judge.max_tokens,
            sampling=Sampling(sampling.temperature, sampling.top_p, sampling.extra),
            seed=ask.repeat - 1,
            episode=ask.sha256,  # repeats go to one replica: their prompt is in its prefix cache
        )
        try:
            completion = await client.complete(request)
        except ModelRequestFailed as error:
            self._unreached = 0
            return self._failed(ask, error.requests, str(error))
        except BackboneUnavailable as error:
            self._unreached += 1
            return self._failed(ask, error.requests, str(error))
        self._unreached = 0
        return self._replied(ask, completion)

    def _replied(self, ask: Ask, completion: Completion) -> Judgement:
        return replace(
            _spent(ask, completion.requests, completion.seconds),
            model=self._redacted(completion.model),
            reply=self._redacted(completion.text),
            reasoning=completion.reasoning and self._redacted(completion.reasoning),
            finish=completion.finish,
        )

    def _failed(self, ask: Ask, requests: tuple[RequestRecord, ...], message: str) -> Judgement:
        """The error of the last exchange; the client's own message speaks of a backbone's configuration."""
        seconds = sum(record.seconds for record in requests)
        error = requests[-1].error if requests else None
        return replace(
            _spent(ask, requests, seconds), model=self._model, error=self._redacted(error or message)
        )

    def _redacted(self, text: str) -> str:
        return text.replace(self._key, "[key]") if self._key else text


def _spent(ask: Ask, requests: tuple[RequestRecord, ...], seconds: float) -> Judgement:
    return Judgement(
        ask.key,
        "",
        prompt_tokens=sum(record.usage.prompt for record in requests),
        cached_tokens=sum(record.usage.cached for record in requests),
        completion_tokens=sum(record.usage.completion for record in requests),
        seconds=seconds,
    )


def _key(variable: str | None) -> str | None:
    """Return the API key. Raises `ConfigError` if the environment lacks it."""
    if variable is None:
        return None
    key = os.environ.get(variable, "").strip()
    if not key:
        raise ConfigError(f"judge.api_key_env: the environment variable {variable} is not set: export it")
    return key
