"""Which lines are table rows: pipe rows by their first character, layout rows by their cells.

A layout row is a label and values in columns, set apart by two or more blanks or by dot leaders. Everything
is counted for many lines at once, in one pass over the bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pipeline.corpus.lines import SPACE, Lines

_SLAB = 1 << 22
_POINT, _PIPE = ord("."), ord("|")


def _table(members: str) -> np.ndarray:
    table = np.zeros(256, bool)
    table[[ord(member) for member in members]] = True
    return table


_IS_DIGIT = _table("0123456789")
_IS_LETTER = _table("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")


@dataclass(frozen=True)
class Rows:
    """For each line: is it a pipe row, a layout row, running prose, words that end in one small number."""

    pipe: np.ndarray
    layout: np.ndarray
    prose: np.ndarray
    entry: np.ndarray


def classify(lines: Lines) -> Rows:
    """Classify all lines of a document, some megabytes at a time."""
    count = len(lines)
    layout, prose, entry = np.zeros((3, count), bool)
    pipe = _pipes(lines)
    first = 0
    while first < count:
        last = max(first + 1, int(np.searchsorted(lines.starts, lines.starts[first] + _SLAB)) - 1)
        layout[first:last], prose[first:last], entry[first:last] = _slab(lines, first, last)
        first = last
    return Rows(pipe, layout & ~pipe, prose & ~pipe, entry)


def _pipes(lines: Lines) -> np.ndarray:
    """Which lines begin with a pipe, after at most three blanks."""
    at = lines.starts[:-1].copy()
    last = max(len(lines.array) - 1, 0)
    for _ in range(3):
        at += lines.array[np.minimum(at, last)] == SPACE
    found: np.ndarray = (lines.array[np.minimum(at, last)] == _PIPE) & ~lines.blank
    return found


def _slab(lines: Lines, first: int, last: int) -> np.ndarray:
    """Return three masks: which of the lines `first:last` are layout rows, prose, contents entries."""
    base = lines.starts[first]
    array = lines.array[base : lines.starts[last]]
    starts = lines.starts[first : last + 1] - base
    blank, leader = _blanks(array)
    cells = np.flatnonzero(~blank & _gap_before(blank, starts))
    if not len(cells):
        return np.zeros((3, last - first), bool)
    line = np.searchsorted(starts, cells, "right") - 1
    digits = np.add.reduceat(_IS_DIGIT[array], cells, dtype=np.int32)
    letters = np.add.reduceat(_IS_LETTER[array], cells, dtype=np.int32)
    # A value has digits and hardly a letter (r 320,378; 2y; n.a.), also where the scan misread some of them.
    value = (digits > 0) & (letters <= np.maximum(2, digits))
    empty = (digits == 0) & (letters <= 2)
    label = np.zeros(len(cells), bool)
    label[np.flatnonzero(np.diff(line, prepend=-1))] = True

    def tally(mask: np.ndarray) -> np.ndarray:
        return np.bincount(line[mask], minlength=last - first)

    values, empties = tally(value & ~label), tally(empty & ~label)
    words = tally(~value & ~empty & ~label)
    led = np.diff(np.concatenate(([0], np.cumsum(leader)))[starts]) > 0
    ends = np.flatnonzero(np.diff(line, append=-1))
    ends_in_value = np.zeros(last - first, bool)
    ends_in_value[line[ends]] = value[ends] | empty[ends]
    rows = (values >= 1) & (values + empties >= 2) & (words <= (values + empties) // 2) & ends_in_value
    rows |= led & (values + empties >= 1) & (words == 0) & ends_in_value
    all_letters, all_digits = (np.bincount(line, counts, last - first) for counts in (letters, digits))
    prose = (all_letters >= 60) & (all_letters >= 30 * np.bincount(line, minlength=last - first)) & ~rows
    entries = (all_letters >= 8) & (all_digits >= 1) & (all_digits <= 8) & _ends_in_digit(array, starts)
    return np.stack((rows, prose, entries))


def _ends_in_digit(array: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Which lines end in a digit, blanks and a last pipe apart."""
    at = starts[1:] - 1
    for _ in range(4):
        at = np.where((array[at] <= SPACE) | (array[at] == _PIPE), np.maximum(at - 1, starts[:-1]), at)
    ends: np.ndarray = _IS_DIGIT[array[at]]
    return ends


def _blanks(array: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return which bytes are white space or dot leaders, and which are dot leaders (points in a row)."""
    point = array == _POINT
    leader = np.zeros(len(array), bool)
    leader[1:] = point[1:] & point[:-1]
    leader[:-1] |= leader[1:]
    return (array <= SPACE) | leader, leader


def _gap_before(blank: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Which bytes follow two blanks, or stand at the start of a line after at most one."""
    one = np.concatenate(([True], blank[:-1]))
    two = np.concatenate(([True, True], blank[:-2])) if len(blank) > 1 else one
    gap = one & two
    heads = starts[:-1]
    gap[heads] = True
    after = heads[blank[heads] & (heads + 1 < len(blank))] + 1
    gap[after] = True
    return gap
