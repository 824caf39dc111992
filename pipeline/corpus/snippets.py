"""Snippets: the lines of a passage that match a query best, for navigation only (contract 3.1, 3.2)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from pipeline.corpus.tables import year_of
from pipeline.corpus.titles import MONTHS
from pipeline.corpus.tokens import fold

LENGTH = 440
"""Characters of a passage's own lines in a snippet; a table's title, unit line and header come on top."""

_LINE = 240
_NAN = re.compile(r"\| nan (?=\|)")
_ROUGH = re.compile(r"[^\W_]+(?:[-.][0-9]+)?")
_LABEL = re.compile(r"[|\s]*([A-Za-z]+)")


def snippet(text: str, weights: Mapping[str, float], above: str | None = None) -> str:
    """Return the lines of `text` that hold the most of the query, in the order of the text.

    `weights` gives each query term's weight (its IDF); a line counts every term once. Of a long line the part
    around its first match is shown. Without a match: the first lines. With `above`, the rows that stand above
    `text` in its table, a row that is labelled with a month alone is led by the year it inherits, and cells
    without a value are blanked.
    """
    lines = [line.strip() for line in text.splitlines()]
    scored = sorted((-_weight(line, weights), number) for number, line in enumerate(lines) if line)
    chosen: dict[int, str] = {}
    left = LENGTH
    for weight, number in scored:
        if left <= 0 or (weight == 0 and scored[0][0] < 0):
            break
        line = lines[number] if above is None else _row(lines, number, above)
        chosen[number] = _cut(_window(line, weights), left)
        left -= len(chosen[number]) + 1
    return "\n".join(chosen[number] for number in sorted(chosen))


def _weight(line: str, weights: Mapping[str, float]) -> float:
    """Return the summed weights of the terms that occur in `line`.

    This runs for every line of every hit: it splits more roughly, and much faster, than the index does.
    """
    found = set(_ROUGH.findall(fold(line).replace(",", "")))
    found.update([number.rstrip("0").rstrip(".") for number in found if "." in number])
    return sum(weight for term, weight in weights.items() if term in found)


def _cut(line: str, longest: int) -> str:
    """Cut a line at a blank, so that no number is cut to another."""
    return line if len(line) <= longest else line[:longest].rpartition(" ")[0] + " …"


def _row(lines: Sequence[str], number: int, above: str) -> str:
    row = _NAN.sub("|  ", lines[number])
    cells = {cell.strip() for cell in row.strip("|").split("|")}
    if len(cells) == 1 and row.count("|") > 2:
        return f"| {cells.pop()} |"  # a label that the rendering repeats in every column
    label = _LABEL.match(row)
    if label is None or label[1].lower() not in MONTHS or year_of(row):
        return row
    for before in [*reversed(lines[:number]), *reversed(above.splitlines())]:
        if year := year_of(before.strip()):
            return f"({year}) {row}"
    return row


def _window(line: str, weights: Mapping[str, float]) -> str:
    if len(line) <= _LINE:
        return line
    folded = line.lower()
    found = [at for term in weights if (at := folded.find(term)) >= 0]
    start = max(0, min(found, default=0) - _LINE // 3)
    start = line.rfind(" ", 0, start) + 1
    return ("… " if start else "") + _cut(line[start:], _LINE)
