"""What comes nearest to a question in the texts read: a statement, one of the options, a number.

For what the table reader can't answer: letters, free text, and figures that were not found. Words in common
are all that counts, rare ones more: a guess, and told as one.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from pipeline.backbone.reference.numerals import NUMBER, literal
from pipeline.backbone.reference.reading import Text
from pipeline.backbone.reference.words import YEAR_PATTERN, stems

LONGEST = 400  # characters of a statement
_SENTENCE = re.compile(r"[^\s.?!][^\n]*?(?:[.?!](?=\s+[\"“(A-Z])|(?=\n)|\Z)")
_OPTION = re.compile(r"^[ \t]*\(?([A-D])[).:][ \t]*(.*?)(?=^[ \t]*\(?[A-D][).:]|\Z)", re.M | re.S)
_NUMBER = re.compile(rf"(?<![\w.,-]){NUMBER}(?![\w-])")
_YEAR = re.compile(YEAR_PATTERN)


@dataclass(frozen=True)
class Statement:
    """A sentence, or a line, of a document, and the source that it was read as."""

    text: str
    document: str
    source: str

    @property
    def stems(self) -> frozenset[str]:
        """Its words."""
        return frozenset(stems(self.text))

    @property
    def numbers(self) -> tuple[str, ...]:
        """Its numbers, as an expression writes them; what may be a year is none."""
        found = (match.group() for match in _NUMBER.finditer(self.text))
        return tuple(literal(each) for each in found if not _YEAR.fullmatch(each))


def options(question: str) -> dict[str, str]:
    """The options of a question by their letters; empty if it has none."""
    return {letter: " ".join(text.split()) for letter, text in _OPTION.findall(question)}


def without_options(question: str) -> str:
    """The question itself."""
    found = _OPTION.search(question)
    return question[: found.start()] if found and options(question) else question


def statements(texts: Sequence[Text]) -> list[Statement]:
    """The sentences and lines of the texts read, each once."""
    found: dict[str, Statement] = {}
    for text in texts:
        for served in text.served:
            for sentence in _sentences(served.text):
                found.setdefault(sentence, Statement(sentence, served.document, served.source))
    return list(found.values())


@lru_cache(maxsize=512)
def _sentences(text: str) -> tuple[str, ...]:
    found = (" ".join(match.group().split())[:LONGEST] for match in _SENTENCE.finditer(text))
    return tuple(each for each in found if len(stems(each)) > 1)


def nearest(question: str, among: Sequence[Statement]) -> list[Statement]:
    """The statements by how much of the question's words they have; of equal ones, the shorter first."""
    asked, weights = frozenset(stems(question)), _weights(among)
    scored = [(-_sum(weights, each.stems & asked), len(each.text)) for each in among]
    order = sorted(range(len(among)), key=lambda index: (scored[index], index))
    return [among[index] for index in order]


def choose(question: str, among: Sequence[Statement]) -> tuple[str, Statement | None]:
    """The option that one statement supports best, and that statement; without any, the first option.

    A statement supports an option by the share of the option's own words that it has (those that not all the
    options have), and half as much by the share of the question's.
    """
    offered = options(question) or {"A": ""}
    words = {letter: frozenset(stems(text)) for letter, text in offered.items()}
    common = frozenset.intersection(*words.values()) if len(words) > 1 else frozenset()
    asked, weights = frozenset(stems(without_options(question))), _weights(among)
    best: tuple[float, str, Statement | None] = (0.0, min(offered), None)
    for letter, own in words.items():
        for each in among:
            support = _share(weights, own - common, each.stems)
            score = support + _share(weights, asked, each.stems) / 2 if support else 0.0
            if score > best[0]:
                best = (score, letter, each)
    return best[1], best[2]


def _weights(among: Sequence[Statement]) -> Mapping[str, float]:
    """How telling a word is: the fewer statements have it, the more."""
    counts = Counter(word for each in among for word in each.stems)
    return {word: math.log(1 + len(among) / count) for word, count in counts.items()}


def _sum(weights: Mapping[str, float], words: frozenset[str]) -> float:
    return math.fsum(sorted(weights.get(word, 0.0) for word in words))


def _share(weights: Mapping[str, float], wanted: frozenset[str], had: frozenset[str]) -> float:
    """The weight of the wanted words that are had; of one that occurs nowhere, that of the rarest."""
    rarest = max(weights.values(), default=1.0)
    whole = math.fsum(sorted(weights.get(word, rarest) for word in wanted))
    return _sum(weights, wanted & had) / whole if whole else 0.0
