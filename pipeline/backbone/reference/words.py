"""Words and periods of English statistical text, as questions, table labels and document names write them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
MONTH_PATTERN = _MONTH.replace("?P<month>", "?:")
YEAR_PATTERN = r"(?:1[789]|20)\d\d"
_STOP = frozenset(
    re.split(
        " ",
        "a an and are as at be been by did do does each end ended ending for from give had has have "
        "her his how if in into is it its me much many of on or our over please shown so such tell "
        "than that the their them then there these they this those through to up us was we were what "
        "when where which while who whose will with would you your",
    )
)
_WORD = re.compile(r"[a-z]+(?:-[a-z]+)*|\d+(?:[.,]\d+)*")


@dataclass(frozen=True)
class Word:
    """A content word, stemmed, and where it stands."""

    stem: str
    start: int
    end: int


@lru_cache(maxsize=8192)
def content_words(text: str) -> tuple[Word, ...]:
    """The content words of a text in order; a hyphened one with a stop word (`on-budget`) stays whole."""
    found: list[Word] = []
    for match in _WORD.finditer(text.lower().replace("’", "'").replace("'s", "  ")):
        parts = match.group().split("-")
        if len(parts) > 1 and any(part in _STOP for part in parts):
            found.append(Word("".join(parts), match.start(), match.end()))
            continue
        at = match.start()
        for part in parts:
            if part not in _STOP:
                found.append(Word(_stem(part), at, at + len(part)))
            at += len(part) + 1
    return tuple(found)


@lru_cache(maxsize=16384)
def stems(text: str) -> tuple[str, ...]:
    """The stems of a text's content words, in order."""
    return tuple(word.stem for word in content_words(text))


def _stem(word: str) -> str:
    if word.isdigit() or len(word) < 4:
        return word
    for ending, kept in (("ies", "y"), ("sses", "ss"), ("ches", "ch"), ("xes", "x"), ("ss", "ss"), ("s", "")):
        if word.endswith(ending):
            return word[: -len(ending)] + kept
    return word


@dataclass(frozen=True, order=True)
class Period:
    """A year, or a quarter or month of one. A fiscal year is a year: its table knows which is meant."""

    year: int = 0  # 0: not said
    month: int = 0  # 1–12; 0: not a month
    quarter: int = 0  # 1–4; 0: not a quarter

    def __str__(self) -> str:
        """As a statement names it."""
        if self.month:
            return f"{MONTHS[self.month - 1].title()} {self.year}"
        return f"Q{self.quarter} {self.year}" if self.quarter else str(self.year)

    @property
    def ordinal(self) -> int:
        """Months since year 0 at the period's end."""
        return self.year * 12 + (self.month or self.quarter * 3 or 12)


def month_number(name: str) -> int:
    """1 for `Jan`, `Jan.` or `January`."""
    return next(i for i, month in enumerate(MONTHS, 1) if month.startswith(name.lower().rstrip(".")[:3]))


_LABEL_PERIOD = (
    re.compile(rf"(?P<year>{YEAR_PATTERN})\s*[-–—:,./]?\s*\b{_MONTH}\b\.?", re.I),
    re.compile(rf"\b{_MONTH}\b\.?,?\s*(?:\d{{1,2}},?\s*)?(?:of\s*)?(?P<year>{YEAR_PATTERN})\b", re.I),
    re.compile(
        rf"\b(?P<year>{YEAR_PATTERN})\s*[-–:,]?\s*(?:Q(?P<quarter>[1-4])|(?P<nth>1st|2nd|3rd|4th"
        rf"|first|second|third|fourth)\s+q)",
        re.I,
    ),
    re.compile(rf"\bQ(?P<quarter>[1-4])[\s,]*(?P<year>{YEAR_PATTERN})\b", re.I),
    re.compile(rf"\b(?P<year>{YEAR_PATTERN})-(?P<number>0[1-9]|1[0-2])\b"),
    re.compile(rf"\b{_MONTH}\b\.?(?:\s*\d{{1,2}}\b)?", re.I),
    re.compile(rf"\b(?P<year>{YEAR_PATTERN})\b"),
)
NTH = {"1st": 1, "first": 1, "2nd": 2, "second": 2, "3rd": 3, "third": 3, "4th": 4, "fourth": 4}


@lru_cache(maxsize=8192)
def label_period(label: str) -> tuple[Period | None, str]:
    """The period that a row or column label names, and the label without it. A bare month has year 0."""
    for pattern in _LABEL_PERIOD:
        if found := pattern.search(label):
            parts = found.groupdict()
            month = month_number(parts["month"]) if parts.get("month") else int(parts.get("number") or 0)
            quarter = int(parts.get("quarter") or NTH.get((parts.get("nth") or "").lower(), 0))
            rest = f"{label[: found.start()]} {label[found.end() :]}".strip(" .-–—:,")
            return Period(int(parts.get("year") or 0), month, quarter), rest
    return None, label


@lru_cache(maxsize=4096)
def document_period(document: str) -> Period | None:
    """The date in a document's name: `treasury_bulletin_2009_03.txt`, `1941/january.txt`, `2004-Q2.md`."""
    spaced = document.replace("_", " ").replace("/", " ")
    if found := re.search(rf"(?<!\d)({YEAR_PATTERN})\s*[- .]?\s*(0?[1-9]|1[0-2])(?!\d)", spaced):
        return Period(int(found[1]), int(found[2]))
    period, _ = label_period(spaced)
    return period if period and period.year else None
