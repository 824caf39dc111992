"""What a scan makes of some figures: nothing that could be taken for another number.

Only figures in the tables of scanned documents are misread, never one that a question rests on: its gold
places, the other places that print the same, and those that print what it replaced. Titles, labels, units,
marks, notes and circulars are read well. So each gold can be found as without noise.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pipeline.benchmarks.ledgerqa.families import Family
from pipeline.benchmarks.ledgerqa.reading import Place
from pipeline.benchmarks.ledgerqa.streams import Purpose, derive, derive_words

_LETTERS = {"0": "O", "1": "l", "5": "S", "8": "B"}


@dataclass(frozen=True)
class Noise:
    """How many of a hundred figures of an issue are misread, but for those at the `kept` places of it."""

    percent: int
    kept: Collection[Place]

    def misread(
        self, family: Family, issue: int, restated: bool, cells: Iterable[str], columns: int
    ) -> list[str]:
        """A table's cells, row by row, as a scan has them."""
        printed = list(cells)
        key = derive(family.key, Purpose.noise, issue, restated)
        words = derive_words(key, np.arange(len(printed), dtype=np.int64))
        rows = len(printed) // columns
        kept = {
            place.row % rows * columns + place.column % columns
            for place in self._places.get((family.number, restated), ())
        }
        for at in (words % np.uint64(100) < np.uint64(self.percent)).nonzero()[0].tolist():
            if at not in kept:
                printed[at] = misread(printed[at], int(words[at]) // 100)
        return printed

    @cached_property
    def _places(self) -> dict[tuple[int, bool], list[Place]]:
        """The kept places by table."""
        places = defaultdict(list)
        for place in self.kept:
            if not place.note:
                places[place.family, place.restated].append(place)
        return places


def misread(figure: str, word: int) -> str:
    """A figure with a digit that became a letter, or apart from the others; a lone clear digit stays."""
    digits = [at for at, character in enumerate(figure) if character.isdecimal()]
    at = digits[word % len(digits)]
    if figure[at] in _LETTERS:
        return figure[:at] + _LETTERS[figure[at]] + figure[at + 1 :]
    if len(digits) == 1:
        return figure
    gap = at if at > digits[0] else at + 1
    return f"{figure[:gap]} {figure[gap:]}"
