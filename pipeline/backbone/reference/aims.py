"""What a question wants done with its figures, and in which order it names the two of a comparison."""

from __future__ import annotations

import re
from typing import Literal

Aim = Literal[
    "value", "list", "sum", "difference", "percent_change", "mean", "geomean", "median", "stdev", "pstdev",
    "ratio", "share", "max", "min", "slope", "cagr", "absolute",
]  # fmt: skip

_PERCENT = r"per\s?cent(?:age)?"
_MOVES = r"change|increase|decrease|growth|decline|rise|fall|drop|gain|difference|movement|swing|reduction"
_MOVED = (
    r"changed?|increased?|decreased?|grew|grow|declined?|rise|rose|fell|fall|dropped?|moved?|differ(?:ed)?"
)
_MORE = r"more|higher|larger|greater|bigger|above"
_LESS = r"lower|smaller|fewer|below|short of|less than"

_PATTERNS: tuple[tuple[Aim, tuple[str, ...]], ...] = (
    ("geomean", (r"geometric(?:al)?\s+(?:mean|average)",)),
    (
        "pstdev",
        (
            r"population\s+(?:\w+\s+)?(?:standard\s+)?deviation",
            r"standard\s+deviation[^.?]*\bpopulation\b",
            r"standard\s+deviation[^.?]*(?:\bn\b|\bcount\b|\bnumber\b)\s+(?:\w+\s+)?(?:as|in"
            r"|for)\b[^.?]*(?:denominator|divisor)",
            r"standard\s+deviation[^.?]*\bdivid\w+\s+by\s+(?:n|the (?:count|number)[^.?,]*)(?!\s*(?:-"
            r"|–|−|minus|less))\b",
        ),
    ),
    ("stdev", (r"standard\s+deviation",)),
    ("median", (r"\bmedian\b",)),
    ("slope", (r"\bslope\b|least[- ]squares|regression|trend line",)),
    ("cagr", (r"compound(?:ed)?\s+(?:annual\s+)?(?:rate|growth|annual)|\bCAGR\b",)),
    ("absolute", (r"\babsolute (?:value|amount|size)|\bwithout (?:a|its|the) sign\b|\bmagnitude of\b",)),
    (
        "percent_change",
        (
            rf"\b{_PERCENT}\s+(?:\w+\s+)?(?:{_MOVES})\b|\b(?:relative|proportional"
            rf"|proportionate)\s+(?:{_MOVES})\b",
            rf"\bby\s+(?:what|how\s+many|how\s+much\s+in|how\s+large\s+a|which)\s+{_PERCENT}"
            rf"|\bhow\s+many\s+{_PERCENT}\b(?!\s+of)",
            rf"\b{_PERCENT}\s+by\s+which\b|\bhow much\b[^.?]*\b(?:{_MOVED})\b[^.?]*\bin {_PERCENT}",
            rf"\b(?:{_MOVED}|{_MOVES})\b[^.?]*\b(?:in|as a|expressed in"
            rf"|expressed as a)\s+{_PERCENT}\b(?!\s+of)",
            rf"\bin {_PERCENT} of the (?:latter|former|first|second|earlier|original)\b",
            rf"\b{_PERCENT}\b[^.?]*\b(?:{_MORE}|{_LESS})\b|growth rate|rate of (?:{_MOVES})|{_PERCENT} terms",
        ),
    ),
    (
        "share",
        (
            rf"\bshares?\b|\b{_PERCENT}\s+of\b|\bproportion\b|\bfraction\b|\bwhat {_PERCENT}"
            rf"|\bin relation to\b",
            rf"\b(?:part|portion)\b[^.?]*\b{_PERCENT}|\b{_PERCENT}\b[^.?]*\b(?:part|portion|accounted"
            rf"|made up)\b",
        ),
    ),
    (
        "ratio",
        (
            r"\bratio\b|\bdivided by\b|\bquotient\b|\bdivid(?:e|ing)\b|\bmultiple of\b|\brelative to\b",
            r"\bhow many times\b|\btimes (?:as|larger|greater|bigger|higher|the)\b",
        ),
    ),
    (
        "difference",
        (
            r"\b(?:reduced|lowered|diminished|decreased) by\b|\bnet of\b|\bdifference\b|\bexceed"
            r"|\bexcess\b|\bminus\b|\bless\b(?! than)|\bgap\b|\bsubtract|\bdeduct|\bmargin\b",
            rf"\bby how (?:much|many|far)\b|\bhow (?:much|many|far) (?:\w+\s+){{0,4}}?(?:{_MORE}"
            rf"|{_LESS}|less)\b",
            rf"\b(?:net|absolute) change\b|\bchange (?:in|of|from|between)\b"
            rf"|\bthe (?:{_MOVES})\b(?= (?:in|of|from))",
            rf"\bhow (?:much|far|many) (?:did|has|have|had)\b|\b(?:{_MORE}|{_LESS}) than\b|\bchanged? by\b",
            rf"\b(?:{_MOVED}) (?:from|between|over)\b|\bamount by which\b"
            rf"|\btaking (?:\w+ ){{1,8}}?away from\b",
        ),
    ),
    ("mean", (r"\bmean\b|\baverag(?:e|ed|ing)\b",)),
    ("max", (r"\b(?:highest|largest|maximum|peak(?:ed)?|greatest|most|top|biggest)\b",)),
    ("min", (r"\b(?:lowest|smallest|minimum|least|bottom|trough)\b",)),
    (
        "sum",
        (
            r"\bsum(?:s|med|ming)?\b|\bcombin\w+\b|\btogether\b|\badd(?:ed|ing|s|ition)?\b|\bcumulat"
            r"|\baltogether\b",
            r"\bin all\b|\baggregate\b|\btotal(?:l?ed|s|ling)?\b|\boverall\b|taken as a whole|\bplus\b",
        ),
    ),
)  # fmt: skip


def read_aim(text: str, compared: bool) -> Aim:
    """The operation that a text names first in the order above; `compared`: of two prints of a figure."""
    for aim, patterns in _PATTERNS:
        if compared and aim in ("sum", "max", "min", "mean", "share"):
            continue
        if any(re.search(pattern, text, re.I) for pattern in patterns):
            return aim
    return "difference" if compared else "value"


def is_reversed(text: str, aim: Aim) -> bool:
    """Whether the figure named second is the minuend, the later of a change, or the part of a share."""
    match aim:
        case "difference":
            return _subtracts_first(text)
        case "percent_change":
            return _compares_with_second(text)
        case "ratio":
            return re.search(r"\b(?:goes|go|fits?|contained|divided) into?\b", text, re.I) is not None
        case "share":
            return _names_whole_first(text)
    return False


def _compares_with_second(text: str) -> bool:
    """`B was above A by …`, `B differs from A by …`; but `from A to B`, `between A and B`."""
    if re.search(r"\bof the latter\b", text, re.I):
        return True
    compared = (
        rf"\b(?:{_MORE}|{_LESS}|less|exceed\w*|over|against|versus|relative to|compared (?:to|with))\b"
        r"|\bdiffer\w*\b[^.?]*\bfrom\b"
    )
    over_time = (
        r"(?<!differs )(?<!differ )\bfrom\b[^.?]+\bto\b|\bbetween\b[^.?]+\band\b|\bgo(?:es|ing)\b|\bmov\w+\b"
    )
    return bool(re.search(compared, text, re.I)) and not re.search(over_time, text, re.I)


def _subtracts_first(text: str) -> bool:
    if re.search(r"\b(?:subtract|deduct)\w*\b.*\bfrom\b|\btak\w+\b.*\baway from\b", text, re.I | re.S):
        return True
    if re.search(rf"\b(?:{_LESS})\b", text, re.I):
        return True
    compares = (
        r"\bless\b|\b(?:reduced|lowered|diminished|decreased) by\b|\bnet of\b|\bminus\b"
        rf"|\bexce[es]|\bdifference\b|\bgap\b|\bmargin\b|\b(?:{_MORE})\b"
    )
    return re.search(compares, text, re.I) is None  # else it is told as a change from the first to the second


_CLAIMS = (
    r"represent\w*|made up|makes? up|account\w*|came|comes?|consist\w*|constitut\w*|attribut\w*"
    r"|due to|held|hold"
    r"|amounts?|contribut\w*|compris\w*|formed|went|was|were|is|are"
)
_SHARE = rf"share|part|portion|proportion|fraction|{_PERCENT}"


def _names_whole_first(text: str) -> bool:
    """`what share of B did A make up`, not `A as a share of B` nor `the share of A in B`."""
    of = re.search(rf"\b(?:{_SHARE})\s+of\s+", text, re.I)
    verbs = (
        "as|held|hold|made up|makes? up|represent\\w*|account\\w* "
        "for|constitut\\w*|comprised?|(?:was|were|is|are) what"
    )
    claimed = rf"\b(?:{verbs})\s+(?:a |the |what |which |how large an? )?(?:{_SHARE})\s+of\b"
    if of is None or re.search(claimed, text, re.I):
        return False
    sentence = re.split(r"[?!]|\.\s", text[of.end() :])[0]
    return re.search(rf"\b(?:{_CLAIMS})\b", sentence, re.I) is not None
