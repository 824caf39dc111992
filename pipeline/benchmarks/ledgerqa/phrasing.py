"""What a set of phrasings holds. Two sets say the same in different words; `{…}` are slots.

Slots of a frame: `table` and `where` (which issue prints it), `what` (a noun phrase: the operation over
cells), `form` (a sentence: the unit and rounding asked for), and for series `column`, `first`, `last`,
`count`. Cells have `column`, `row` and `period` (a fiscal year also its `first` and `last` month); operations
have `a`, `b` and `list`, rankings `rows`, `column` and `period`. Forms have `unit`, `decimals`, and for lists
`count`; `signs` says that the sign counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Phrasings:
    """A set of phrasings. The slots of `table` are code, title, concept, topic, by and basis."""

    frames: Mapping[str, tuple[str, ...]]
    operations: Mapping[str, tuple[str, ...]]
    table: tuple[str, ...]
    where: tuple[str, ...]
    where_each: str
    printed_in: str
    month_cell: tuple[str, ...]
    fiscal_cell: tuple[str, ...]
    fiscal_year_cell: tuple[str, ...]
    calendar_cell: tuple[str, ...]
    cross_cell: tuple[str, ...]
    quoted: str
    first_report: str
    last_report: str
    units: Mapping[str, str]
    whole: tuple[str, ...]
    rounded: tuple[str, ...]
    list_whole: tuple[str, ...]
    list_rounded: tuple[str, ...]
    list_names: tuple[str, ...]
    signs: tuple[str, ...]
    numerals: Mapping[int, str]
