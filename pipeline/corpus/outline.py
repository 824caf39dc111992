"""The document map: what documents there are, in a bounded number of tokens (contract 5.4).

Few documents are listed with their sizes. Many are grouped by what their names begin with, as deep as the
bound allows: `treasury_bulletin_194*` is a glob that selects a group, in a search filter too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby, takewhile

from pipeline.corpus.tokens import estimate_tokens


@dataclass(frozen=True)
class _Group:
    """Documents `first:end`, all and only those whose ids begin with `prefix`."""

    first: int
    end: int
    prefix: str


def outline(ids: Sequence[str], sizes: Sequence[int], max_tokens: int) -> str:
    """Return the map of the documents `ids` (sorted), of `sizes` in estimated tokens."""
    drawing = _Drawing(ids, sizes)
    best = drawing.draw([_Group(number, number + 1, name) for number, name in enumerate(ids)])
    if estimate_tokens(best) <= max_tokens:
        return best
    groups = [drawing.group(0, len(ids))]
    best = drawing.draw(groups)
    while (finer := drawing.split(groups)) != groups:
        drawn = drawing.draw(finer)
        if estimate_tokens(drawn) > max_tokens:
            break
        best, groups = drawn, finer
    return best.encode()[: max_tokens * 4].decode(errors="ignore")


class _Drawing:
    def __init__(self, ids: Sequence[str], sizes: Sequence[int]) -> None:
        self._ids = ids
        self._totals = [0, *accumulate(sizes)]

    def group(self, first: int, end: int) -> _Group:
        pairs = zip(self._ids[first], self._ids[end - 1], strict=False)
        shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        return _Group(first, end, self._ids[first][:shared])

    def split(self, groups: Sequence[_Group]) -> list[_Group]:
        """Split every group of several documents by the character after what their ids have in common."""
        finer: list[_Group] = []
        for group in groups:
            at = len(group.prefix)
            start = group.first
            for _, part in groupby(name[at : at + 1] for name in self._ids[group.first : group.end]):
                end = start + len(list(part))
                finer.append(self.group(start, end))
                start = end
        return finer

    def draw(self, groups: Sequence[_Group]) -> str:
        return "\n".join(self._line(group) for group in groups)

    def _line(self, group: _Group) -> str:
        tokens = f"{self._totals[group.end] - self._totals[group.first]:,} tokens"
        if group.end - group.first == 1:
            return f"{self._ids[group.first]} ({tokens})"
        first, last = self._ids[group.first], self._ids[group.end - 1]
        cut = len(group.prefix)
        count, glob = group.end - group.first, _escaped(group.prefix) + "*"
        return f"{glob} ({count} documents, {tokens}: …{first[cut:]} to …{last[cut:]})"


def _escaped(prefix: str) -> str:
    """Return a glob that matches `prefix` itself."""
    return "".join(f"[{character}]" if character in "*?[" else character for character in prefix)
