"""Rows and headers of layout text: figures set apart by spaces after a label that may end in dot leaders."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

_FIELD = re.compile(
    r"(?:(?<=\s)|^)(?:[rpe]\s?)?(?:\(?-?\$?-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?%?\)?|-?\.\d+%?"
    r"|[-–*](?=\s|$)|n\.a\.?)(?=\s|$)",
    re.I,
)
_LABEL_COLUMN = re.compile(
    r"(?:state|countr|fiscal|year|month|or month|end of|item|agenc|class|area|type|auction)", re.I
)
_LEADER = re.compile(r"\s*(?:\.\s?){2,}\s*|\s+\.\s*(?=\s{2})")


@lru_cache(maxsize=32768)
def layout_row(text: str) -> tuple[tuple[str, int], ...]:
    """The label and figures of a row, each with its offset in the line; empty if the line is no row."""
    if not text.strip() or text.startswith("|"):
        return ()
    leader = _LEADER.search(text)
    if leader:
        label, body_at = text[: leader.start()], leader.end()
    else:
        gap = next(
            (g for g in re.finditer(r"\s{2,}", text) if g.start() and _FIELD.match(text, g.end())), None
        )
        if gap is None:
            return ()
        label, body_at = text[: gap.start()], gap.end()
    fields = [(found.group(), found.start()) for found in _FIELD.finditer(text, body_at)]
    rest = _FIELD.sub(" ", text[body_at:])
    if not fields or len(re.findall(r"[A-Za-z]{2,}", rest)) > 3:
        return ()
    return ((label.strip(), len(label) - len(label.lstrip())), *fields)


def is_header_row(text: str) -> bool:
    """Whether a line of figures is a header: column numbers `(1)  (2)`, or years without dot leaders."""
    numbers = re.findall(r"\(\d{1,2}\)", text)
    if len(numbers) > 1:
        return True
    return (
        not _LEADER.search(text)
        and re.fullmatch(r"\s*(?:(?:FY\s?)?(?:1[789]|20)\d\d\s*){2,}", text) is not None
    )


def layout_columns(header: Sequence[str], width: int) -> tuple[str, ...]:
    """Names for `width` columns from header lines that lost their alignment.

    A field that carries its column's number is placed by it. A line with exactly `width` fields (or one more,
    for the label column) maps one to one; others can't be placed with certainty: they are spread in order.
    """
    names: list[list[str]] = [[] for _ in range(width)]
    first = min((int(number) for line in header for number in re.findall(r"\((\d{1,2})\)", line)), default=1)
    for line in header:
        fields = [field for field in re.split(r"\s{2,}", line.strip()) if field]
        if all(re.fullmatch(r"\(\d{1,2}\)", field) for field in fields):
            continue
        fields = _without_label(fields, width)
        for index, place in enumerate(_places(fields, width, first)):
            for column in place:
                names[column].append(re.sub(r"\s*\(\d{1,2}\)$", "", fields[index]))
    return tuple(" ".join(part for part in dict.fromkeys(name) if part) for name in names)


def _without_label(fields: list[str], width: int) -> list[str]:
    """The fields of a header line less the label column's; if one is missing then, the longest is two."""
    if len(fields) > width:
        return fields[-width:]
    if len(fields) < width - 1 or not _LABEL_COLUMN.match(fields[0]):
        return fields
    fields = fields[1:]
    while len(fields) == width - 1:
        longest = max(range(len(fields)), key=lambda i: len(fields[i].split()))
        first, _, second = fields[longest].partition(" ")
        fields[longest : longest + 1] = [first, second]
    return fields


def _places(fields: Sequence[str], width: int, first: int) -> list[range]:
    """For each field of a header line, the columns it stands over."""
    numbered = [re.search(r"\((\d{1,2})\)$", field) for field in fields]
    if any(numbered):
        at = [int(found.group(1)) - first if found else -1 for found in numbered]
        return [range(place, place + 1) if 0 <= place < width else range(0) for place in at]
    if len(fields) == 1 and width > 2:  # a heading over some of the columns, no telling which
        return [range(0)]
    if width % len(fields) == 0:
        share = width // len(fields)
        return [range(i * share, (i + 1) * share) for i in range(len(fields))]
    return [range(width - len(fields) + i, width - len(fields) + i + 1) for i in range(len(fields))]
