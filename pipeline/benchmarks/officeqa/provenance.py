"""Pro V2's column `source_docs`: where in its documents an answer stands.

A record is `corpus_file=… | pdf_page_number=… | year=… | month=… | description=…`; records are separated by
`;`, and descriptions may hold `;` and `|`. Other question files have links in this column, which are left
alone. Records are checked and go no further: no figure rests on gold pages.
"""

from __future__ import annotations

import re

from pipeline.benchmarks.rows import Row

COLUMN = "source_docs"
KEYS = ("corpus_file", "pdf_page_number", "year", "month", "description")
_START = re.compile(r"corpus_file\s*=")
_NEXT = re.compile(r"[;\n]\s*(?=corpus_file\s*=)")


def check_sources(row: Row) -> None:
    """Raise `BenchmarkError`, which names row, column and record, for a record that is malformed."""
    text = (row.optional(COLUMN) or "").strip()
    if not _START.match(text):
        return
    for number, record in enumerate(_NEXT.split(text), start=1):
        parts = [part.partition("=") for part in record.split("|", len(KEYS) - 1)]
        values = {key.strip(): value.strip() for key, _, value in parts}
        if tuple(values) != KEYS:
            raise row.error(COLUMN, f"record {number} has {', '.join(values)}, not {', '.join(KEYS)}")
        if not re.match(r"\d", values["pdf_page_number"]):
            raise row.error(
                COLUMN, f"record {number}: pdf_page_number is {values['pdf_page_number']!r}, no number"
            )
