"""The document map: what documents there are, in a bounded number of tokens (contract 5.4)."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.corpus.tokens import estimate_tokens


def outline(ids: Sequence[str], sizes: Sequence[int], max_tokens: int) -> str:
    """Return the map of documents `ids` with sizes in estimated tokens."""
    lines = [f"{name} ({size:,} tokens)" for name, size in zip(ids, sizes, strict=True)]
    while estimate_tokens("\n".join(lines)) > max_tokens:
        lines.pop()
    return "\n".join(lines)
