"""AA-LCR as one Parquet file: rows of `question`, `answer` and `context`, documents between markers."""

from __future__ import annotations

import re
from pathlib import Path

from pipeline.benchmarks.aa_lcr.sets import Data, Document, DocumentSet, Question
from pipeline.benchmarks.rows import Row, parquet_rows

COLUMNS = ("question", "answer", "context")
_MARKER = re.compile(r"^(?:BEGIN DOCUMENT [0-9]+:|END DOCUMENT [0-9]+)$", re.MULTILINE)


def read(path: Path) -> Data:
    """Read the file. Rows with the same context share a document set; what it is called isn't told.

    Raises `BenchmarkError`, which names file, row and column.
    """
    questions: list[Question] = []
    sets: dict[str, DocumentSet] = {}
    for number, row in enumerate(parquet_rows(path, COLUMNS), start=1):
        context = row.text("context")
        if context not in sets:
            sets[context] = DocumentSet(f"set_{len(sets) + 1:02}", _documents(row, context))
        question, answer = row.text("question"), row.text("answer")
        questions.append(Question(f"q{number:03}", question, answer, sets[context].id))
    return Data(tuple(questions), tuple(sets.values()))


def _documents(row: Row, context: str) -> tuple[Document, ...]:
    """Split a context at its markers, which must stand in lines of their own, in order, and enclose all text.

    A document that holds such a line can't be told from two documents: it is refused.
    """
    markers = list(_MARKER.finditer(context))
    for place, marker in enumerate(markers):
        if marker[0] != (wanted := _marker(place)):
            raise row.error(
                "context", f"{marker[0]!r} stands at character {marker.start():,}, not {wanted!r}"
            )
    if not markers or len(markers) % 2:
        raise row.error("context", f"it ends without {_marker(len(markers))!r}")
    begins, ends = markers[::2], markers[1::2]
    starts = [0, *(end.end() for end in ends)]
    stops = [*(begin.start() for begin in begins), len(context)]
    for start, stop in zip(starts, stops, strict=True):
        if outside := context[start:stop].strip():
            raise row.error(
                "context", f"text between documents, from character {start:,} on: {outside[:60]!r}"
            )
    return tuple(
        Document(None, context[begin.end() + 1 : max(begin.end() + 1, end.start() - 1)].encode())
        for begin, end in zip(begins, ends, strict=True)
    )


def _marker(place: int) -> str:
    """Return the marker that is due after `place` others."""
    number = place // 2 + 1
    return f"END DOCUMENT {number}" if place % 2 else f"BEGIN DOCUMENT {number}:"
