"""Tokens, of two kinds: the estimate that budgets are counted in, and the terms that the index is made of.

A search term is one of

- a word, case and accents folded, a possessive 's dropped: `Café's` → `cafe`; acronyms joined: `U.S.` → `us`;
- a number by its value, whole: `2,963`, `2963` and `2963.0` → `2963`; `6.20` → `6.2`; signs, currency marks
  and brackets around it don't count;
- `percent`, for the sign %;
- a code, beside its parts: `FFO-1` → `ffo`, `1`, `ffo-1`.

There are no stop words and nothing is stemmed: every letter and digit of a text can be searched for
(`Series E` has the term `e`). A Chinese or Japanese character is a term of its own.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_WORD = "a-z0-9\x80-\U0010ffff"
_LETTER = "a-z\x80-\U0010ffff"
_TERM = re.compile(
    rf"(?P<acronym>[{_LETTER}](?:\.[{_LETTER}])+(?![{_WORD}]))"
    rf"|(?P<code>(?P<prefix>[a-z]{{1,5}})-(?P<suffix>[0-9]{{1,3}})(?![{_WORD}]|[.,][0-9]))"
    rf"|(?P<number>(?P<whole>[0-9]{{1,3}}(?:,[0-9]{{3}})+|[0-9]+)(?:\.(?P<decimals>[0-9]+))?(?![{_WORD}]))"
    rf"|(?P<word>[{_WORD}]+(?:'[{_LETTER}]+)?)"
    r"|(?P<percent>%)"
)
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_IDEOGRAPHS = (("぀", "ヿ"), ("㐀", "鿿"), ("豈", "﫿"), ("\U00020000", "\U0003ffff"))


def estimate_tokens(text: str) -> int:
    """Return how many tokens `text` counts for in budgets: ceil(UTF-8 bytes / 4) (contract 4.5)."""
    return (len(text.encode()) + 3) // 4


@lru_cache(maxsize=8_192)
def _fold_character(character: str) -> str:
    if character == "’":
        return "'"
    if unicodedata.category(character) == "Nd":
        return str(unicodedata.decimal(character))
    if unicodedata.category(character) == "Pd":
        return " " if character in "—―" else "-"
    if any(first <= character <= last for first, last in _IDEOGRAPHS):
        return f" {character} "
    mapping = unicodedata.decomposition(character)
    if mapping.startswith(("<super>", "<sub>", "<circle>", "<fraction>")):
        return " "  # a footnote mark or a fraction glued to a number would change its value
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", character).casefold())
    kept = "".join(part for part in folded if unicodedata.category(part) != "Mn")
    return "".join(part if part.isalnum() or part.isascii() else " " for part in kept).lower()


def fold(text: str) -> str:
    """Return `text` in lower case without accents; beyond ASCII, only letters and digits remain.

    Folding is character by character, so pieces of a text can be folded apart.
    """
    return (text if text.isascii() else _NOT_ASCII.sub(lambda m: _fold_character(m[0]), text)).lower()


def split(folded: str) -> list[str]:
    """Return the search terms of a folded text, in order."""
    terms: list[str] = []
    for match in _TERM.finditer(folded):
        kind = match.lastgroup
        if kind == "word":
            word, _, ending = match["word"].partition("'")
            terms.append(word if ending == "s" else word + ending)
        elif kind == "number":
            decimals = (match["decimals"] or "").rstrip("0")
            whole = match["whole"].replace(",", "")
            terms.append(f"{whole}.{decimals}" if decimals else whole)
        elif kind == "code":
            terms += (match["prefix"], match["suffix"], match["code"])
        elif kind == "acronym":
            terms.append(match["acronym"].replace(".", ""))
        else:
            terms.append("percent")
    return terms


def terms(text: str) -> list[str]:
    """Return the search terms of `text`, in order, repeats included."""
    return split(fold(text))
