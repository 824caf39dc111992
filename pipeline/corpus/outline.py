"""The document map: what documents there are, in a bounded number of tokens (contract 5.4).

Few documents are listed with their sizes. Many are grouped, as deep as the bound allows:

    treasury_bulletin_194*.txt (117 documents, 13.4M tokens)
      treasury_bulletin_1940_*.txt (10 documents, 1.1M tokens): 01–05, 08–12

Every line begins with an id or a glob: a search filter that selects just what the line tells of. A group with
room for all its names shows what the `*` of its glob stands for, with sizes if there is room for all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from itertools import groupby

from pipeline.corpus.groups import Group, Names
from pipeline.corpus.tokens import estimate_tokens

_LEGEND = 'Each line is a filter for "documents", with what it selects; after a colon, what its * stands for'
_SIZED = ", with its tokens"
_MIXED = 40  # so many names stand in one line though more than one word or number of them varies
_UNCLEAR = re.compile(r"|\s.*|.*\s|\d+–\d+")  # a name that could be read as another
_SHOWN = 24  # characters that are shown of a name, by a group without room for all of them


def outline(ids: Sequence[str], sizes: Sequence[int], max_tokens: int) -> str:
    """Return the map of the documents `ids` (sorted; at least one), of `sizes` in estimated tokens."""
    plain = "\n".join(f"{name} ({_tokens(size)} tokens)" for name, size in zip(ids, sizes, strict=True))
    if estimate_tokens(plain) <= max_tokens:
        return plain
    names = Names(ids)
    drawing = _Drawing(names, sizes, max_tokens, by_year=False)
    if drawing.named < len(ids) and names.dated():
        dated = _Drawing(names, sizes, max_tokens, by_year=True)
        vague = drawing.named < len(ids) / 2  # what the names begin with says little: better their years
        drawing = dated if dated.has_years and (vague or dated.named > drawing.named) else drawing
    shorter = (f"* ({len(ids):,} documents)", "*", "")
    texts = [*drawing.texts(), *shorter]
    return next(text for text in texts if estimate_tokens(text) <= max_tokens)


@dataclass
class _Node:
    """A group in the drawing, with its line. `named`: the line names all of its documents."""

    group: Group
    depth: int
    line: str
    named: bool
    parts: list[_Node] = field(default_factory=list)

    def flat(self) -> Iterator[_Node]:
        """Yield this node and those below it, in order."""
        yield self
        for part in self.parts:
            yield from part.flat()

    @property
    def text(self) -> str:
        """The line as it is drawn: empty for a group that is split without a line of its own."""
        return f"\n{'  ' * self.depth}{self.line}" if self.line else ""

    @property
    def cost(self) -> int:
        """Bytes that the line takes."""
        return len(self.text.encode())


class _Drawing:
    """A tree of groups, opened where that tells most for its room, as long as there is room."""

    def __init__(self, names: Names, sizes: Sequence[int], max_tokens: int, *, by_year: bool) -> None:
        self._names = names
        self._sizes = sizes
        self._by_year = by_year
        self._queue: list[tuple[float, int, _Node, _Node]] = []
        self._offered = 0
        self._root = _Node(names.all(), 0, "", named=False)
        self._room = max_tokens * 4 - len(_LEGEND.encode()) - len(_SIZED)
        self._replace(self._root, self._closed(self._root.group, 0))
        while self._queue:
            self._open(*heappop(self._queue)[2:])

    @property
    def named(self) -> int:
        """How many documents the drawing names."""
        return sum(len(node.group.members) for node in self._root.flat() if node.named)

    @property
    def has_years(self) -> bool:
        """Whether a group was split by year."""
        return any(node.group.year for node in self._root.flat())

    def texts(self) -> Iterator[str]:
        """Yield the drawing with every document's size, if it names them all; then as it is."""
        nodes = list(self._root.flat())
        if self.named == len(self._sizes):
            sized = [replace(node, line=self._named(node.group, sized=True) or node.line) for node in nodes]
            yield _LEGEND + _SIZED + "".join(node.text for node in sized)
        yield _LEGEND + "".join(node.text for node in nodes)

    def _open(self, node: _Node, opened: _Node) -> None:
        if sum(each.cost for each in opened.flat()) - node.cost <= self._room:
            self._replace(node, opened)
        elif opened.named:
            self._offer(node, self._split(node))

    def _replace(self, node: _Node, opened: _Node) -> None:
        """Draw a node as it is when opened, and offer what is still closed in it to be opened next."""
        self._room -= sum(each.cost for each in opened.flat()) - node.cost
        node.line, node.named, node.parts = opened.line, opened.named, opened.parts
        for closed in (each for each in node.flat() if not each.named and not each.parts):
            line = self._named(closed.group)
            self._offer(closed, replace(closed, line=line, named=True) if line else self._split(closed))

    def _offer(self, node: _Node, opened: _Node | None) -> None:
        """Queue a way to open a node, in the order of the room that it takes for a document."""
        if opened:
            cost = sum(each.cost for each in opened.flat()) - node.cost
            self._offered += 1
            heappush(self._queue, (cost / len(node.group.members), self._offered, node, opened))

    def _split(self, node: _Node) -> _Node | None:
        """Return a node with smaller groups below it; with a line of its own, if they are more than two."""
        parts = self._names.split(node.group, by_year=self._by_year)
        if not parts:
            return None
        line = self._summary(node.group) if len(parts) > 2 and node.group.prefix else ""
        below = [self._closed(part, node.depth + bool(line)) for part in parts]
        return replace(node, line=line, parts=below)

    def _closed(self, group: Group, depth: int) -> _Node:
        """Return a node of which only the first and the last document are shown."""
        if group.single:
            return _Node(group, depth, self._summary(group), named=True)
        first, last = (
            f"{each[:_SHOWN]}…" if len(each) > _SHOWN else each for each in self._names.ends(group)
        )
        years = self._names.years(group)
        within = f", {years[0]}–{years[1]}" if years else ""
        line = f"{self._summary(group)[:-1]}{within}; first {first}, last {last})"
        return _Node(group, depth, line, named=False)

    def _named(self, group: Group, *, sized: bool = False) -> str | None:
        """Return the line that names all documents of a group; none if it would be hard to read."""
        if group.single or not group.one_star or self._names.breaks_word(group):
            return None
        parts = self._names.parts(group)
        mark = next((mark for mark in (", ", " | ") if not any(mark.strip() in part for part in parts)), None)
        if mark is None or any(_UNCLEAR.fullmatch(part) for part in parts):
            return None
        if len(parts) > _MIXED and not all(part.isalnum() for part in parts):
            return None
        if sized:
            parts = [
                f"{part} {_tokens(self._sizes[n])}" for part, n in zip(parts, group.members, strict=True)
            ]
        return f"{self._summary(group)}: {mark.join(parts if sized else _runs(parts))}"

    def _summary(self, group: Group) -> str:
        tokens = f"{_tokens(sum(self._sizes[number] for number in group.members))} tokens"
        count = "" if group.single else f"{len(group.members):,} documents, "
        return f"{group.glob} ({count}{tokens})"


def _runs(parts: Sequence[str]) -> Iterator[str]:
    """Yield names as they are, but a run of numbers of one width, each one more than the last, as one."""
    for _, run in groupby(enumerate(parts), key=lambda each: _line_of(*each)):
        names = [name for _, name in run]
        yield from names if len(names) < 3 else [f"{names[0]}–{names[-1]}"]


def _line_of(place: int, name: str) -> tuple[int, object]:
    """A key that is the same for neighbours that count up by one; a name without a number has its own."""
    number = name.isascii() and name.isdecimal()
    return (len(name), int(name) - place) if number else (-1, place)


def _tokens(count: int) -> str:
    """Return a count in three digits or so: 940, 8,200, 165k, 1.98M."""
    if count < 10_000:
        return f"{count:,}"
    for size, unit in ((1e3, "k"), (1e6, "M")):
        if count < 999.5 * size:
            return f"{count / size:.3g}{unit}"
    return f"{count / 1e9:.3g}B"
