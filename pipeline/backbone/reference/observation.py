"""One observation of the harness, parsed: hits of a search, texts of a read, ids of evidence and computes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True)
class TableRange:
    """Where the table that a hit belongs to stands in its document, in code points."""

    title: str
    start: int
    end: int
    others: int  # documents that have a table of this title too


@dataclass(frozen=True)
class Hit:
    """A passage that a search found. `others` are documents and passages that hold nearly the same."""

    passage: str
    document: str
    start: int
    end: int
    score: float
    snippet: str
    table: TableRange | None
    also: tuple[str, ...]
    last: str  # the last document with a table of the same title; empty if there is no other


@dataclass(frozen=True)
class Served:
    """A text that a read returned, registered as `source`; `next` is the offset to go on from if clipped."""

    source: str
    document: str
    start: int
    end: int
    text: str
    next: int | None


@dataclass(frozen=True)
class Observation:
    """What a turn led to: `error` is an invalid operation's code, `items` the ids of an evidence batch."""

    operation: str = ""
    error: str = ""
    summary: str = ""
    hits: tuple[Hit, ...] = ()
    served: tuple[Served, ...] = ()
    items: tuple[str | None, ...] = ()
    value: str = ""  # of a compute

    @property
    def valid(self) -> bool:
        """Whether the operation was carried out."""
        return not self.error


_OPENING = re.compile(
    r"^\[turn \d+\] (?:invalid: (?P<error>\w+)|(?P<operation>\w+)): ?(?P<summary>.*)$", re.MULTILINE
)
_HIT = re.compile(
    r"^\d+\. (?P<passage>.+?#\d+) \[(?P<start>\d+):(?P<end>\d+)\] score (?P<score>[-\d.e+]+)$", re.MULTILINE
)
_TABLE = re.compile(
    r'^table "(?P<title>.*)" \[(?P<start>\d+):(?P<end>\d+)\]'
    r"(?:; same title in (?P<count>\d+) other documents?, (?P<others>.*))?$",
    re.MULTILINE,
)
_ALSO = re.compile(r"^also nearly the same: (.*)$", re.MULTILINE)
_SOURCE = re.compile(
    r"^(?P<source>s\d+) = (?P<document>.+) \[(?P<start>\d+):(?P<end>\d+)\].*\n(?P<fence>`{3,})text\n",
    re.MULTILINE,
)
_NEXT = re.compile(r"next: .* from (\d+)")
_FENCE = re.compile(r"^(?P<fence>`{3,})text\n(?P<text>.*?)\n(?P=fence)$", re.DOTALL | re.MULTILINE)
_ITEM = re.compile(r"^item \d+: (?:(e\d+)(?:: .*)?$|refused)", re.MULTILINE)


@lru_cache(maxsize=1024)
def parse_observation(text: str) -> Observation:
    """Parse the user message that follows a reply (state tail taken off)."""
    opening = _OPENING.search(text)
    if opening is None:
        return Observation(error="unreadable")
    operation, summary, body = opening["operation"] or "", opening["summary"], text[opening.end() :]
    if opening["error"]:
        return Observation(error=opening["error"], summary=summary)
    return Observation(
        operation=operation,
        summary=summary,
        hits=_hits(body) if operation == "search" else (),
        served=_served(body) if operation == "read" else (),
        value=_value(summary, body) if operation == "compute" else "",
        items=tuple(item or None for item in _ITEM.findall(body)) if operation == "evidence" else (),
    )


def _value(summary: str, body: str) -> str:
    """The value of a compute, unrounded where the observation shows both."""
    unrounded = re.search(r"unrounded\D{0,12}(-?[\d.]+(?:e[-+]?\d+)?)", f"{summary}\n{body}")
    found = unrounded or re.search(r"= (-?[\d.]+(?:e[-+]?\d+)?)", summary)
    return found.group(1) if found else ""


def _hits(body: str) -> tuple[Hit, ...]:
    openings = list(_HIT.finditer(body))
    ends = [*(opening.start() for opening in openings), len(body)][1:]
    return tuple(
        _hit(opening, body[opening.end() : end]) for opening, end in zip(openings, ends, strict=True)
    )


def _table(found: re.Match[str]) -> TableRange:
    return TableRange(found["title"], int(found["start"]), int(found["end"]), int(found["count"] or 0))


def _hit(opening: re.Match[str], body: str) -> Hit:
    snippet = _FENCE.search(body)
    head = body[: snippet.start()] if snippet else body
    table, also = _TABLE.search(head), _ALSO.search(head)
    others = (table["others"] or "") if table else ""
    return Hit(
        passage=opening["passage"],
        document=opening["passage"].rpartition("#")[0],
        start=int(opening["start"]),
        end=int(opening["end"]),
        score=float(opening["score"]),
        snippet=snippet["text"] if snippet else "",
        table=_table(table) if table else None,
        also=tuple(also.group(1).split(", ")) if also else (),
        last=others.rpartition(" … ")[2],
    )


def _served(body: str) -> tuple[Served, ...]:
    """The texts of a read: each is cut by its range's length, so that nothing in it can end it early."""
    served, position = [], 0
    while opening := _SOURCE.search(body, position):
        start, end = int(opening["start"]), int(opening["end"])
        stop = opening.end() + end - start
        position = stop
        after = body[stop : stop + 400].lstrip("\n").removeprefix(opening["fence"]).lstrip("\n")
        clipped = _NEXT.match(after)
        served.append(
            Served(
                source=opening["source"],
                document=opening["document"],
                start=start,
                end=end,
                text=body[opening.end() : stop],
                next=int(clipped.group(1)) if clipped else None,
            )
        )
    return tuple(served)
