"""Quotations: found in a text, and folded so that they are found again in another."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate

from pipeline.figures.digits import ascii_digits

_QUOTED = re.compile(r'(?<!\w)"([^"]*)"|“([^“”]+)”')
_PLAIN = str.maketrans("“”‘’–—−‑", "\"\"''----")


def quotations(text: str) -> tuple[str, ...]:
    """Return what a text has in double quotes, straight or curly. An inch mark after a digit opens none."""
    found = (match[1] or match[2] or "" for match in _QUOTED.finditer(text))
    return tuple(quoted for quoted in found if quoted.strip())


def fold(text: str) -> str:
    """Return a text with case, white space, and the shapes of digits, quotes and dashes folded."""
    return " ".join(ascii_digits(text).casefold().translate(_PLAIN).split())


class Folded:
    """A text in which quotations are looked up."""

    def __init__(self, text: str) -> None:
        self._text = fold(text)
        self._words = list(accumulate(len(line.split()) for line in text.split("\n")))

    def line(self, quoted: str) -> int | None:
        """Return the line, from 1, on which a quotation begins; a stop at its end may be the quoter's."""
        wanted = fold(quoted).rstrip(" .,;:")
        position = self._text.find(wanted) if wanted else -1
        if position < 0:
            return None
        return bisect_right(self._words, self._text.count(" ", 0, position)) + 1
