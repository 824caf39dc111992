"""Digits of other scripts, and full-width forms, as ASCII: numbers in them are read like any other."""

from __future__ import annotations

import re
import unicodedata

_OTHER = re.compile(r"[^\D0-9]|[！-～٫٬]")  # the block of full-width forms mirrors ASCII
_ARABIC = {"٫": ".", "٬": ","}


def ascii_digits(text: str) -> str:
    """Return a text with "９" and "٩" as "9", "％" as "%": one code point for each, so positions hold."""
    return text if text.isascii() else _OTHER.sub(_ascii, text)


def _ascii(match: re.Match[str]) -> str:
    digit = unicodedata.decimal(match[0], None)
    if digit is not None:
        return str(digit)
    return _ARABIC.get(match[0]) or chr(ord(match[0]) - ord("！") + ord("!"))
