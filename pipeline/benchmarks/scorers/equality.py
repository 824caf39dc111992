"""Judged scorer `equality`: does the candidate's answer agree with the official one?

The scorer of AA-LCR, whose answers no rule can compare, and for questions of one's own. The judge is told the
question (for reference only), the official answer and the candidate's, in words of our own
(`equality.md.j2`), and replies CORRECT or INCORRECT.

What a candidate writes can't end its own text: the boundaries carry a mark that is a hash of all three texts,
and no `<` in them begins a tag, or a control token of a chat template.
"""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING

from pipeline.benchmarks.tasks import Gold
from pipeline.protocols import Message

if TYPE_CHECKING:
    from jinja2 import Template

NAME = "equality"
VERSION = "1"
METRIC = "correct"

_TAG = re.compile(r"<(?=[^\s\d=<>])")  # `<think>`, `</s>`, `<|end|>`; not that of `x < 3` or `<5`
_THOUGHT = re.compile(r".*</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_THINKING = re.compile(r"<think(?:ing)?>", re.IGNORECASE)
_DRESSING = " \t*_`#\"'.!:"
_VERDICT = re.compile(
    r"(?:(?:my |the |final )*(?:verdict|judge?ment|assessment)(?: is)?\W+)?(?P<verdict>correct|incorrect)",
    re.IGNORECASE,
)


def messages(question: str, gold: Gold, answer: str) -> tuple[Message, ...]:
    """Return the one message that asks for a verdict on `answer`; equal arguments give equal messages."""
    mark = sha256("\0".join((question, gold.answer, answer)).encode("utf-8", "replace")).hexdigest()[:16]
    texts = {"question": question, "official": gold.answer, "candidate": answer}
    shown = {name: _TAG.sub("< ", text.strip()) for name, text in texts.items()}
    return (Message("user", _template().render(mark=mark, **shown)),)


def verdict(reply: str) -> bool | None:
    """Return whether `reply` says CORRECT; None if it says neither, or both.

    What a model thinks before its reply is left out; one that never stops thinking gives no verdict. The
    verdict is the last line, alone or after a label such as `Verdict:`, and no other line is another one.
    """
    said = _THOUGHT.sub("", reply)
    verdicts = [_read(line) for line in said.splitlines() if line.strip()]
    if not verdicts or verdicts[-1] is None or len(set(verdicts) - {None}) > 1 or _THINKING.search(said):
        return None
    return verdicts[-1]


def _read(line: str) -> bool | None:
    match = _VERDICT.fullmatch(line.strip(_DRESSING))
    return match["verdict"].lower() == "correct" if match else None


@lru_cache(maxsize=1)
def _template() -> Template:
    from jinja2 import Environment, PackageLoader, StrictUndefined  # here: most runs have no judge

    templates = Environment(
        loader=PackageLoader("pipeline.benchmarks", "scorers"),
        undefined=StrictUndefined,
        autoescape=False,  # plain text for a model
    )
    return templates.get_template("equality.md.j2")
