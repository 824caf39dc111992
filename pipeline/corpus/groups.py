"""Groups of document names: each is a glob that selects its documents and no other.

A group's documents are those whose names begin alike, or also have the same year in them. It splits where
its names part, at the next character, so that names in one word, in numbers or in folders all split evenly.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, takewhile

_WORD = re.compile(r"[^\W_]+")
_YEAR = re.compile(r"(?<![^\W_])(?:1[5-9]|20)\d\d(?=(?:[01]\d(?:[0-3]\d)?)?(?![^\W_]))")


@dataclass(frozen=True)
class Group:
    """Documents by number, ascending: those whose names begin with `prefix`, hold `year`, end in `suffix`.

    `apart` is the place of the first character that differs; `prefix` may end before it, where a word does.
    """

    members: Sequence[int]
    prefix: str
    year: str
    suffix: str
    glob: str
    apart: int

    @property
    def single(self) -> bool:
        """Whether it is one document; `glob` is then its id."""
        return len(self.members) == 1

    @property
    def one_star(self) -> bool:
        """Whether the glob has one `*`: a year is no part of it, or of its suffix."""
        return not self.year or self.year in self.suffix


class Names:
    """Document ids, sorted, and the groups that they fall into."""

    def __init__(self, ids: Sequence[str]) -> None:
        self._ids = ids
        self._known = set(ids)
        self._reversed = [name[::-1] for name in ids]

    def all(self) -> Group:
        """Return the group of all documents."""
        members = range(len(self._ids))
        return self._group(members, 0) or Group(members, "", "", "", "*", 0)

    def dated(self) -> bool:
        """Whether half of the names or more hold a year."""
        return sum(1 for name in self._ids if _YEAR.search(name)) * 2 >= len(self._ids)

    def parts(self, group: Group) -> list[str]:
        """Return what stands for the `*` of a group's glob, name by name."""
        start, end = len(group.prefix), len(group.suffix)
        return [self._ids[number][start : len(self._ids[number]) - end] for number in group.members]

    def ends(self, group: Group) -> tuple[str, str]:
        """Return the first and the last name, from the word on in which they part."""
        first, last = (self._ids[group.members[at]] for at in (0, -1))
        start, end = _last_break(group.prefix, first, last), len(group.suffix)
        return first[start : len(first) - end], last[start : len(last) - end]

    def breaks_word(self, group: Group) -> bool:
        """Whether the prefix ends in the midst of a word or a number."""
        ends = (self._ids[group.members[0]], self._ids[group.members[-1]])
        return _last_break(group.prefix, *ends) < len(group.prefix)

    def years(self, group: Group) -> tuple[str, str] | None:
        """Return the first and the last year in a group's names, if each holds one after where they part."""
        found = []
        for number in group.members:
            year = _YEAR.search(self._ids[number], group.apart + 1)
            if year is None:
                return None
            found.append(year[0])
        return min(found), max(found)

    def split(self, group: Group, *, by_year: bool) -> list[Group]:
        """Return the smaller groups, or single documents, of a group; none if no globs tell them apart.

        With `by_year` by the last year in the names, where that groups better than their next words do.
        """
        if by_year and not group.year and (years := self._by_year(group)):
            return years
        at = group.apart
        parts = groupby(group.members, key=lambda number: self._ids[number][at : at + 1])
        found = [self._group(list(part), at + 1, group.year) for _, part in parts]
        return [each for each in found if each] if all(found) else []

    def _by_year(self, group: Group) -> list[Group]:
        members: defaultdict[str, list[int]] = defaultdict(list)
        words = set()
        for number in group.members:
            name = self._ids[number]
            word, years = _WORD.search(name, len(group.prefix)), [*_YEAR.finditer(name, len(group.prefix))]
            if not years or not word:
                return []
            year = years[-1]
            mark = max(len(group.prefix), year.start() - 1)  # a glob with it is less likely to select others
            members[name[mark : year.end()]].append(number)
            words.add(word[0])
        if not 1 < len(members) <= len(words) / 2:
            return []
        found = [self._group(part, len(group.prefix), year) for year, part in sorted(members.items())]
        return [each for each in found if each] if all(found) else []

    def _group(self, members: Sequence[int], least: int, year: str = "") -> Group | None:
        """Return the group of `members`; none if no glob of our kind selects just them.

        Its prefix ends where a word does, if that leaves it `least` characters.
        """
        first, last = self._ids[members[0]], self._ids[members[-1]]
        if len(members) == 1:
            return Group(members, first, year, "", first, len(first))
        prefix = _shared(first, last)
        apart = len(prefix)
        if year:
            prefix = prefix[: min(self._ids[number].find(year) for number in members)]
            if self._holding(year, prefix) != len(members):
                return None
        if (cut := _last_break(prefix, first, last)) >= least:
            prefix = prefix[:cut]
        suffix = self._suffix(members, [len(prefix)] * len(members))
        if year and year not in suffix:
            found = (self._ids[number].find(year, len(prefix)) for number in members)
            suffix = self._suffix(members, [at + len(year) for at in found])
        star = "*"
        fixed = (prefix, suffix) if year in suffix else (prefix, year, suffix)
        while (glob := star.join(map(_escaped, fixed))) in self._known:
            star += "*"  # a filter that is an id selects that document alone
        return Group(members, prefix, year, suffix, glob, apart)

    def _suffix(self, members: Sequence[int], starts: Sequence[int]) -> str:
        """Return what the names of `members`, each from its start on, have in common at their ends."""
        longest = min(len(self._ids[number]) - start for number, start in zip(members, starts, strict=True))
        names = [self._reversed[number] for number in members]
        suffix = _shared(min(names), max(names))[:longest][::-1]
        while suffix[:1].isalnum():  # no part of a word: what is left of it would be hard to read
            suffix = suffix[1:]
        return suffix

    def _holding(self, year: str, prefix: str) -> int:
        """Return how many of the names that begin with `prefix` hold `year` after it."""
        cut = len(prefix)
        first = bisect_left(self._ids, prefix)
        end = bisect_right(self._ids, prefix, key=lambda name: name[:cut])
        return sum(name.find(year, cut) >= 0 for name in self._ids[first:end])


def _shared(one: str, other: str) -> str:
    """Return what both begin with."""
    length = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    return one[:length]


def _last_break(prefix: str, *names: str) -> int:
    """Return the length of `prefix` up to the last place where no word or number of the `names` goes on."""
    at = len(prefix)
    kind = _kind(prefix[at - 1 : at])
    if kind and any(_kind(name[at : at + 1]) == kind for name in names):
        while at and _kind(prefix[at - 1]) == kind:
            at -= 1
    return at


def _kind(character: str) -> str:
    """Return what a character is part of: a word, a number, or (then the empty string) neither."""
    return "word" if character.isalpha() else "number" if character.isdigit() else ""


def _escaped(text: str) -> str:
    return "".join(f"[{character}]" if character in "*?[" else character for character in text)
