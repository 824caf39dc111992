"""Which print of a figure a question wants: an issue's, the first, the last, or two of them compared."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from pipeline.backbone.reference.periods import Mention
from pipeline.backbone.reference.words import Period

Vintage = Literal["latest", "first", "issue", "any"]
Print = tuple[Period | None, Vintage]

_SAID = (
    r"figure|value|amount|report|print|publish|version|number|given|issued|known|stated|estimate"
    r"|revision|recorded"
    r"|available|released|announced|appear|count|entry|data"
)
_LATER_PRINT = re.compile(
    r"\b(?:most recent(?:ly)?|latest|last(?:ly)?|newest|final(?:ly)?|eventual(?:ly)?|ultimate(?:ly)?"
    r"|current(?:ly)?"
    rf"|revised|corrected|restated|amended|updated)\b\s+(?:\w+\s+){{0,2}}?(?:{_SAID})",
    re.I,
)
_LATEST = re.compile(
    r"most recent|\blatest|newest|\blast (?:reported|published|printed)|\bfinal(?:ly)?\b"
    r"|up[- ]to[- ]date|definitive"
    r"|\b(?:revis|correct|restat|amend|updat)(?:e|ed|ing|ion|ions|ement|ements|ment|ments)?\b|\berrat"
    r"|misprint"
    r"|\bnow (?:stands?|reported|published)|\bcurrent(?:ly)? (?:figure|stand|report)",
    re.I,
)
FIRST = re.compile(
    rf"\bas first\b|\bfirst (?:\w+\s+)?(?:{_SAID})|\binitial(?:ly)?\b|\boriginal(?:ly)?\b|\bpreliminar"
    r"|\b(?:before|prior to) (?:\w+ )?(?:revision|correction|restatement|amendment)|unrevised|uncorrected"
    r"|\bearliest (?:\w+\s+)?(?:figure|published|reported|printed|report)|\bwhen first\b",
    re.I,
)
_EARLIEST = re.compile(r"\b(?:earliest|first|oldest|earlier)\b", re.I)


def read_prints(text: str, found: Sequence[Mention]) -> tuple[Print, ...]:
    """The print that all figures are wanted from, or one for each of them in the order of the text."""
    issues = [period for mention in found if mention.issue for period in mention.periods]
    latest, first = _LATER_PRINT.search(text) or _LATEST.search(text), FIRST.search(text)
    early = _EARLIEST.search(text)
    if len(issues) > 1 and (latest or early):
        ends: tuple[Print, ...] = ((max(issues), "issue"), (min(issues), "issue"))
        return ends[::-1] if early and latest and early.start() < latest.start() else ends
    if issues:
        return tuple((issue, "issue") for issue in issues)
    if latest and first:
        pair: tuple[Print, ...] = ((None, "latest"), (None, "first"))
        return pair if latest.start() < first.start() else pair[::-1]
    if first:
        return ((None, "first"),)
    return ((None, "latest" if latest else "any"),)


def without_prints(text: str) -> str:
    """The text without its words on prints: `most recently` is no `most`, and `latest` no superlative."""
    for pattern in (_LATER_PRINT, _LATEST, FIRST):
        text = pattern.sub(lambda found: " " * len(found.group()), text)
    return text
