"""The words of a question that may name a table, its rows and columns; and the two sides of a comparison."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pipeline.backbone.reference.aims import Aim
from pipeline.backbone.reference.words import content_words, stems

CODE = re.compile(r"\b[A-Z]{1,6}-\d+\b")  # a table's number
FILLER = frozenset(
    stems(
        "figure value amount number report reported publication published printed print shown show "
        "given give state "
        "stated answer round rounded nearest decimal decimals place places express expressed issue "
        "issues bulletin "
        "bulletins edition treasury table tables file files question month months year years monthly "
        "fiscal calendar "
        "quarter using use used take taking taken consider every latest recent recently most first "
        "according appear "
        "appears appearing record recorded percent percentage change difference ratio sum mean "
        "average combined "
        "highest lowest largest smallest all any bracketed list order million millions thousand "
        "thousands billion "
        "billions dollar dollars unit units initially originally revised corrected last newest "
        "following find compute "
        "calculate determine say says whole integer period stand stood increase decrease growth "
        "deviation standard "
        "geometric median share proportion exactly actual more less higher lower larger smaller "
        "errata including "
        "include counting count compare compared respectively later earlier document documents "
        "correction revision "
        "original restated sample population one two three four five six digit digits point"
    )
)


_TITLE_WORDS = 4  # a quoted phrase of so many content words is a table's title, a shorter one a label


def quoted_title(text: str) -> str:
    """The longest phrase in quotes that is a table's title; empty if a text quotes none."""
    quoted = (found[0] or found[1] for found in re.findall(r'"([^"]+)"|“([^”]+)”', text))
    return max((each for each in quoted if len(stems(each)) >= _TITLE_WORDS), key=len, default="")


@dataclass(frozen=True)
class Side:
    """One side of a comparison, as a text words it."""

    words: tuple[str, ...]


def subject_words(text: str) -> tuple[str, ...]:
    """The words that may name a series, a row or a column, in order."""
    return tuple(dict.fromkeys(word for word in stems(text) if word not in FILLER and not word.isdigit()))


def search_words(text: str) -> str:
    """A query: the words of a question that may name its subject, as they are written, and table numbers."""
    words = [
        text[word.start : word.end]
        for word in content_words(text)
        if word.stem not in FILLER and (len(word.stem) == 4 or not word.stem.isdigit())
    ]
    codes = CODE.findall(text)
    return " ".join(dict.fromkeys((*codes, *words))) or text


_SPLITS: Mapping[str, tuple[str, ...]] = {
    "share": (
        r"(?:share|per\s?cent(?:age)?|proportion|fraction|portion"
        r"|part)\s+of\s+(?P<a>[^.?]{1,160}?)\s+(?:was|were|did|is"
        r"|are|consist\w*|came|comes?|made|went|account\w*|attribut\w*|represent\w*|held)\b"
        r"\s*(?:held\s+|up\s+)?(?:of|by|for|from|to|in)*\s*(?P<b>[^.?]+)",
        r"(?P<a>[^.?]{1,160}?)\s+(?:held|was|were|is|are|makes? up|made up|represent\w*"
        r"|account\w*\s+for|constitut\w*)?"
        r"\s*(?:as\s+)?(?:what\s+|a\s+|the\s+)?(?:share|per\s?cent(?:age)?|proportion|fraction|portion|part)"
        r"\s+of\s+(?P<b>[^.?]+)",
    ),
    "ratio": (
        r"ratio\s+(?:of|between)\s+(?P<a>[^.?]{1,160}?)\s+(?:to|and)\s+(?P<b>[^.?]+)",
        r"(?P<a>[^.?]{1,160}?)\s+(?:divided by|relative to|times as \w+ as)\s+(?P<b>[^.?]+)",
    ),
    "difference": (
        r"(?:difference|gap|margin)\s+between\s+(?P<a>[^.?]{1,160}?)\s+and\s+(?P<b>[^.?]+)",
        r"(?:more|less|higher|lower|larger|smaller|greater|fewer|bigger)\s+(?:was|were|is"
        r"|are)?\s*(?P<a>[^.?]{1,160}?)"
        r"\s+than\s+(?P<b>[^.?]+)",
        r"(?P<a>[^.?]{1,160}?)\s+(?:exceed\w*|minus|less|above|below|over)\s+(?P<b>[^.?]+)",
        r"(?P<a>[^.?]{1,160}?)\s+(?:was|were|is|are)?\s*(?:more|less|higher|lower|larger|smaller"
        r"|greater|fewer)"
        r"\s+than\s+(?P<b>[^.?]+)",
    ),
    "sum": (
        r"sum\s+of\s+(?P<a>[^.?]{1,160}?)\s+and\s+(?P<b>[^.?]+)",
        r"(?P<a>[^.?]{1,160}?)\s+(?:and|plus)\s+(?P<b>[^.?]{1,160}?)\s*(?:combined|together|taken|add"
        r"|in all|altogether)",
        r"(?:combined|together|total)\s+(?P<a>[^.?]{1,160}?)\s+(?:and|plus)\s+(?P<b>[^.?]+)",
    ),
    "percent_change": (
        r"(?:higher|lower|larger|smaller|greater|more|less)\s+(?:was"
        r"|were)?\s*(?P<a>[^.?]{1,160}?)\s+than\s+(?P<b>[^.?]+)",
    ),
}


def sides(text: str, aim: Aim) -> tuple[Side, ...]:
    """The two sides of a comparison in the order of the text, if it tells them apart; else none."""
    text = re.sub(r"\s+", " ", text)  # blanked words leave long runs that patterns crawl over
    for pattern in _SPLITS.get(aim, ()):
        found = re.search(pattern, text, re.I)
        if found and subject_words(found["a"]) and subject_words(found["b"]):
            return Side(subject_words(found["a"])), Side(subject_words(found["b"]))
    return ()
