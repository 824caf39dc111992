"""Pseudo-random numbers as a pure function of keys: the same on every platform, in every order.

`mix` is the finaliser of SplitMix64 (Steele, Lea and Flood, 2014). A key is derived from the seed through
`derive(key, a, b, …) = mix(… mix(mix(key + a·G) + b·G) …)`, modulo 2^64, with the odd constant G; a part
that names a purpose is a `Purpose`. Nothing is drawn from a sequence that documents share, so each can be
made without the ones before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")
Words = NDArray[np.uint64]

GOLDEN = 0x9E3779B97F4A7C15
_FIRST, _SECOND = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_MASK = (1 << 64) - 1
_GOLDEN = np.uint64(GOLDEN)
_FACTORS = (np.uint64(_FIRST), np.uint64(_SECOND))
_SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31))


class Purpose(IntEnum):
    """What a key is for. The numbers are part of the format: changing one changes every dataset."""

    calendar = 1
    topics = 2
    group = 3
    family = 4
    figures = 5
    events = 6
    restatement = 7
    prose = 8
    rendering = 9
    questions = 10
    noise = 11


def mix(word: int) -> int:
    """Scramble 64 bits."""
    word = ((word ^ (word >> 30)) * _FIRST) & _MASK
    word = ((word ^ (word >> 27)) * _SECOND) & _MASK
    return word ^ (word >> 31)


def mix_words(words: Words) -> Words:
    """`mix` of every element, in place."""
    words ^= words >> _SHIFTS[0]
    words *= _FACTORS[0]
    words ^= words >> _SHIFTS[1]
    words *= _FACTORS[1]
    words ^= words >> _SHIFTS[2]
    return words


def derive(key: int, *parts: int) -> int:
    """The key of `parts` below `key`."""
    for part in parts:
        key = mix((key + part * GOLDEN) & _MASK)
    return key


def derive_words(key: int, parts: NDArray[np.int64]) -> Words:
    """`derive(key, part)` for every part."""
    words = parts.astype(np.uint64)
    words *= _GOLDEN
    words += np.uint64(key)
    return mix_words(words)


class Stream:
    """A sequence of choices: SplitMix64 from the derived key.

    `below` takes the remainder, whose bias (below 2^-40) is of no account.
    """

    def __init__(self, key: int, *parts: int) -> None:
        self._state = derive(key, *parts)

    def word(self) -> int:
        """The next 64 bits."""
        self._state = (self._state + GOLDEN) & _MASK
        return mix(self._state)

    def below(self, bound: int) -> int:
        """A number from 0 to `bound - 1`."""
        return self.word() % bound

    def between(self, low: int, high: int) -> int:
        """A number from `low` to `high`, both included."""
        return low + self.below(high - low + 1)

    def chance(self, percent: int) -> bool:
        """True in `percent` of a hundred cases."""
        return self.below(100) < percent

    def pick(self, items: Sequence[T]) -> T:
        """One of the items."""
        return items[self.below(len(items))]

    def sample(self, items: Sequence[T], count: int) -> list[T]:
        """`count` distinct items, in a random order."""
        pool = list(items)
        for index in range(count):
            other = index + self.below(len(pool) - index)
            pool[index], pool[other] = pool[other], pool[index]
        return pool[:count]
