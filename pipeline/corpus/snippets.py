"""Snippets: the lines of a passage that match a query best, for navigation only (contract 3.1, 3.2)."""

from __future__ import annotations

from collections.abc import Mapping

from pipeline.corpus.tokens import fold, split

LENGTH = 600
"""Characters of a passage's own lines in a snippet; a table's title, unit line and header come on top."""

_LINE = 240


def snippet(text: str, weights: Mapping[str, float]) -> str:
    """Return the lines of `text` that hold the most of the query, in the order of the text.

    `weights` gives each query term's weight (its IDF). A line counts every term once. Of a long line the part
    around its first match is shown. Without a match: the first lines.
    """
    lines = [line.strip() for line in text.splitlines()]
    scored = [(weight(line, weights), -number) for number, line in enumerate(lines) if line]
    chosen: list[tuple[int, str]] = []
    left = LENGTH
    for score, negative in sorted(scored, reverse=True):
        if left <= 0 or (chosen and score == 0 and max(scored)[0] > 0):
            break
        shown = _window(lines[-negative], weights)[:left]
        chosen.append((-negative, shown))
        left -= len(shown) + 1
    return "\n".join(line for _, line in sorted(chosen))


def weight(line: str, weights: Mapping[str, float]) -> float:
    """Return the summed weights of the terms that occur in `line`."""
    folded = fold(line)
    bare = folded.replace(",", "").replace(".", "")
    if not any(term in folded or term.replace(".", "") in bare or term == "percent" for term in weights):
        return 0.0
    return sum(weights[term] for term in sorted(set(split(folded)) & weights.keys()))


def _window(line: str, weights: Mapping[str, float]) -> str:
    if len(line) <= _LINE:
        return line
    folded = line.lower()
    found = [at for term in weights if (at := folded.find(term)) >= 0]
    start = max(0, min(found, default=0) - _LINE // 3)
    start = line.rfind(" ", 0, start) + 1 if start else 0
    return ("… " if start else "") + line[start : start + _LINE] + (" …" if start + _LINE < len(line) else "")
