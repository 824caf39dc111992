"""Which tables of different documents have the same title, whatever dates and numbers stand in it."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from pipeline.corpus.tokens import terms

MONTHS = frozenset(
    re.findall(
        r"\w+",
        "january february march april may june july august september october november december"
        " jan feb mar apr jun jul aug sept sep oct nov dec",
    )
)
_GENERIC = frozenset(("table", "tables", "con", "cont", "continued", "the", "of", "and", "in", "by", "for"))
_CODE = re.compile(r"[a-z]+-\d+")


def key(title: str) -> str:
    """Return what two titles share if they are the same title: words and codes, dates and numbers apart."""
    words = [
        term
        for term in terms(title)
        if term not in MONTHS and term not in _GENERIC and (not term[0].isdigit() or _CODE.fullmatch(term))
    ]
    return " ".join(words)


def group(titles: Sequence[str], firsts: np.ndarray) -> dict[str, np.ndarray]:
    """Return each table's group of titles, and each group's documents (ascending), as arrays.

    `firsts[d]` is the first table of document d. A title without a word has no group (-1).
    """
    documents = np.repeat(np.arange(len(firsts) - 1), np.diff(firsts)).tolist()
    members: dict[str, list[int]] = {}
    groups = np.full(len(titles), -1, np.int32)
    numbers: dict[str, int] = {}
    keys = {title: key(title) for title in set(titles)}
    for table, (title, document) in enumerate(zip(titles, documents, strict=True)):
        name = keys[title]
        if name:
            groups[table] = numbers.setdefault(name, len(numbers))
            within = members.setdefault(name, [])
            if within[-1:] != [document]:
                within.append(document)
    starts = np.zeros(len(members) + 1, np.int64)
    np.cumsum([len(within) for within in members.values()], out=starts[1:])
    flat = [document for within in members.values() for document in within]
    return {
        "table_groups": groups,
        "title_documents": np.array(flat, np.int32),
        "title_starts": starts,
    }
