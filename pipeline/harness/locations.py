"""Where a read's locations lie in the corpus, and how much of them a read may serve (contract 3.5 to 3.7)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Sequence
from difflib import get_close_matches

from pipeline.corpus import Corpus
from pipeline.errors import InvalidOperation
from pipeline.harness.operations import DocumentLocation, Location, PassageLocation

_COMPARED = 1_000  # ids on either side that a wrong one is compared with, to name the nearest

Range = tuple[int, int, int]  # document number, start, end


def locate(corpus: Corpus, location: Location) -> Range:
    """Find a location's document and range (contract 3.5); an end beyond the text is the text's end."""
    if isinstance(location, PassageLocation):
        passage = corpus.passage(location.passage)
        number = corpus.number(passage.document) if passage else None
        if passage is None or number is None:
            raise InvalidOperation("unknown_passage", _no_passage(corpus, location.passage))
        if passage.start == passage.end:
            raise InvalidOperation(
                "invalid_range", f"passage {passage.id} is empty: {passage.document} has no text"
            )
        return number, passage.start, passage.end
    number = corpus.number(location.document)
    if number is None:
        raise InvalidOperation(
            "unknown_document",
            f"there is no document {location.document[:80]!r}; {nearest(corpus, location.document)}",
        )
    return number, *_bounds(location, corpus.length(number))


def _bounds(location: DocumentLocation, length: int) -> tuple[int, int]:
    start = 0 if location.start is None else location.start
    end = length if location.end is None else location.end
    sent = f"[{start}:{end}] of {location.document}, which has the range [0:{length}]"
    if start < 0:
        raise InvalidOperation("invalid_range", f"start is negative in {sent}: offsets count from 0")
    if location.end is not None and start >= end:
        raise InvalidOperation("invalid_range", f"start is not before end in {sent}")
    if start >= length:
        raise InvalidOperation("invalid_range", f"start is beyond the text in {sent}")
    return start, min(end, length)


def _no_passage(corpus: Corpus, passage: str) -> str:
    """Say which passages there are instead: ids are numbered without a gap, so bisection finds the last."""
    document = passage.rpartition("#")[0] or passage
    if corpus.passage(f"{document}#0") is None:
        return (
            f"there is no passage {passage[:80]!r}: an id is DOCUMENT#n, as search gives it; "
            f"{nearest(corpus, document)}"
        )
    there, beyond = 0, 1
    while corpus.passage(f"{document}#{beyond}"):
        there, beyond = beyond, beyond * 2
    while beyond - there > 1:
        middle = (there + beyond) // 2
        if corpus.passage(f"{document}#{middle}"):
            there = middle
        else:
            beyond = middle
    return f"there is no passage {passage[:80]!r}: {document} has the passages #0 to #{there}"


def clip(corpus: Corpus, ranges: Sequence[Range], tokens: int) -> list[Range]:
    """Cut a read after `tokens`, counted over its locations in order (contract 3.6).

    What comes after the cut is not served: its range is empty.
    """
    pieces: list[Range] = []
    cut = False
    for number, start, end in ranges:
        stop = start if cut else corpus.clip(number, start, end, tokens)
        cut = cut or stop < end
        tokens -= corpus.tokens(number, start, stop)
        pieces.append((number, start, stop))
    return pieces


def too_large(corpus: Corpus, pieces: Sequence[Range], left: int, free: Collection[Range] = ()) -> str:
    """Say how much of a read would fit in the `left` tokens (contract 3.7); `free` ranges cost none (7.4)."""
    costs = [0 if piece in free else corpus.tokens(*piece) for piece in pieces]
    said = f"the read takes {sum(costs)} tokens and {left} are left"
    for index, ((number, start, end), tokens) in enumerate(zip(pieces, costs, strict=True)):
        if tokens <= left:
            left -= tokens
            continue
        ends = range(start, end)
        largest = ends[bisect_right(ends, left, key=lambda stop: corpus.tokens(number, start, stop)) - 1]
        if largest > start:
            said += f": the largest end that fits is {largest}, of {corpus.document_ids[number]} from {start}"
        elif index == 0:
            said += ": nothing fits, work with what has been read"
        return f"{said}; {index} of the locations before it fit" if index else said
    return said


def nearest(corpus: Corpus, document: str) -> str:
    """Name the document ids most like `document`."""
    ids = corpus.document_ids
    at = bisect_left(ids, document)
    around = ids[max(0, at - _COMPARED) : at + _COMPARED]
    folded = {name.casefold(): name for name in around}
    close = [folded[name] for name in get_close_matches(document[:200].casefold(), folded, n=3, cutoff=0.4)]
    return f"the nearest ids are {', '.join(close or [*ids[:2], *ids[-1:]][: len(ids)])}"
