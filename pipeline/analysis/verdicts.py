"""Verdicts: what a judged scorer makes of a judge's replies, answer by answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any

from pipeline.analysis.judgements import Ask, Journal, Judgement, asks
from pipeline.analysis.judging import Shown, judge_all
from pipeline.backbone.config import JudgeConfig
from pipeline.benchmarks.scorers import NO_ANSWER, JudgedScorer, Metric
from pipeline.benchmarks.tasks import Gold

BLANK = "blank answer"
NO_JUDGE = "there is no judge"
NOT_ASKED = "not asked: the judge was out of reach"
NO_VERDICT = "the judge's reply holds no verdict"
CUT_OFF = "the judge's reply was cut off: raise judge.max_tokens"
FAILED = "the judge failed"


@dataclass(frozen=True)
class Case:
    """An answer to be judged; None, if there is none."""

    question: str
    gold: Gold
    answer: str | None


@dataclass(frozen=True)
class Repeat:
    """One repeat of a case: what was asked, what came of it, and the verdict, or why there is none.

    `first`: no case before asked the same.
    """

    ask: Ask
    judgement: Judgement | None
    verdict: bool | None
    error: str | None
    first: bool

    def row(self) -> dict[str, Any]:
        """Return its columns of the table `judgements`; what another case asked too cost nothing here."""
        found = self.judgement or Judgement(self.ask.key, "")
        return {
            "repeat": self.ask.repeat,
            "model": found.model or None,
            "prompt_sha256": self.ask.sha256,
            "verdict": None if self.verdict is None else "correct" if self.verdict else "incorrect",
            "reply": found.reply,
            "prompt_tokens": found.prompt_tokens,
            "cached_tokens": found.cached_tokens,
            "completion_tokens": found.completion_tokens,
            "seconds": found.seconds,
            "cached": found.cached or not self.first,
            "error": self.error,
        }


@dataclass(frozen=True)
class Verdict:
    """The metric of one case, and the repeats that it is made of; none, where nobody was to be asked."""

    metric: Metric
    repeats: tuple[Repeat, ...] = ()


def params(scorer: JudgedScorer, judge: JudgeConfig) -> dict[str, Any]:
    """Return the settings behind the scorer's metric; `model` is None without a judge."""
    if judge.model is None:
        return {"model": None}
    shape = b"".join(m.encoded for m in scorer.messages("question", Gold("official answer"), "answer"))
    return {
        "model": judge.model,
        "repeats": judge.repeats,
        "max_tokens": judge.max_tokens,
        "sampling": asdict(judge.sampling),
        "prompt_sha256": sha256(shape).hexdigest(),
    }


def judged(
    scorer: JudgedScorer,
    cases: Sequence[Case],
    judge: JudgeConfig,
    journal: Journal,
    shown: Shown | None = None,
) -> list[Verdict]:
    """Return the verdict on each of `cases`, in order; see `judge_all` for what it raises.

    A blank answer scores 0 and is not asked about. Else the metric is the mean over the repeats that gave a
    verdict, and None (unscored) if none did; a repeat that gave none is told of in the reason.
    """
    asked = [
        asks(scorer.messages(case.question, case.gold, case.answer), judge)
        if judge.model is not None and case.answer is not None and not blank(case.answer)
        else []
        for case in cases
    ]
    found = judge_all((ask for each in asked for ask in each), judge, journal, shown)
    seen = set[str]()
    return [_verdict(scorer, case, each, found, judge, seen) for case, each in zip(cases, asked, strict=True)]


def blank(answer: str) -> bool:
    """Tell whether an answer shows nothing: white space, or marks without width."""
    return not any(character.isprintable() and not character.isspace() for character in answer)


def _verdict(
    scorer: JudgedScorer,
    case: Case,
    asked: Sequence[Ask],
    found: Mapping[str, Judgement],
    judge: JudgeConfig,
    seen: set[str],
) -> Verdict:
    if case.answer is None or blank(case.answer):
        return Verdict(Metric(scorer.METRIC, 0.0, NO_ANSWER if case.answer is None else BLANK))
    if judge.model is None:
        return Verdict(Metric(scorer.METRIC, None, NO_JUDGE))
    repeats = tuple(_repeat(scorer, ask, found.get(ask.key), ask.key not in seen) for ask in asked)
    seen.update(ask.key for ask in asked)
    return Verdict(_metric(scorer, repeats), repeats)


def _repeat(scorer: JudgedScorer, ask: Ask, judgement: Judgement | None, first: bool) -> Repeat:
    verdict, error = None, None
    if judgement is None:
        error = NOT_ASKED
    elif judgement.reply is None:
        error = f"{FAILED}: {judgement.error}"
    elif judgement.finish == "length":
        error = CUT_OFF
    else:
        verdict = scorer.verdict(judgement.reply)
        error = NO_VERDICT if verdict is None else None
    return Repeat(ask, judgement, verdict, error, first)


def _metric(scorer: JudgedScorer, repeats: Sequence[Repeat]) -> Metric:
    given = [repeat.verdict for repeat in repeats if repeat.verdict is not None]
    lacking = [repeat.error for repeat in repeats if repeat.error is not None]
    if not given:
        return Metric(scorer.METRIC, None, lacking[0])
    value = sum(given) / len(given)
    reason = "" if value == 1 else f"judged correct {sum(given)} times of {len(given)}"
    if lacking:
        told = f"{len(lacking)} of {len(repeats)} repeats gave no verdict ({lacking[0]})"
        reason = f"{reason}; {told}" if reason else told
    return Metric(scorer.METRIC, value, reason)
