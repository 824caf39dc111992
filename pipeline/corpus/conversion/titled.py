"""Titles of a page's tables, set where the corpus looks for them: a caption, else the nearest heading.

A paragraph is no title, but for one that says "Table …" with a number (`headings.is_title`).
"""

from __future__ import annotations

from collections.abc import Iterable

from pipeline.corpus.headings import GAP, is_title, is_unit

CAPTION, HEADING, TABLE = "\ufdd0", "\ufdd1", "\ufdd2"
"""They mark lines: a caption, a heading, the first row of a table. No text has these code points."""


def titled(lines: Iterable[str]) -> list[str]:
    """Return the lines without marks, each table below its title and unit lines.

    A title stands `GAP` lines apart from what is above it, so that nothing is taken to be a part of it; so
    does a table without one. A heading that is not right above its table is said again.
    """
    done: list[str] = []
    heading = ""
    for line in lines:
        if TABLE in line:
            done = _headed(done, heading)
        if HEADING in line:
            heading = _plain(line).strip()
        done.append(line)
    return [_plain(line) for line in done]


def _plain(line: str) -> str:
    return line.translate({ord(mark): None for mark in (CAPTION, HEADING, TABLE)})


def _headed(lines: list[str], heading: str) -> list[str]:
    """Return the lines above a table with its title among them, ready for its first row."""
    above, below = list(lines), list[str]()
    while above and (not above[-1] or is_unit(above[-1]) or CAPTION in above[-1]):
        if line := above.pop():
            below.insert(0, line)
    title = next((line for line in below if CAPTION in line), None)
    units = [line for line in below if CAPTION not in line]
    if title is None and not (above and is_title(_plain(above[-1]))):
        title = heading
        if above and HEADING in above[-1]:
            above.pop()
    while above and not above[-1]:
        above.pop()
    gap = [""] if title is None or is_title(_plain(title)) else [""] * GAP
    return [
        *above,
        *(gap if above else ()),
        *(line for part in (title, *units) if part for line in (part, "")),
    ]
