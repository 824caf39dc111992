"""Synthetic bulletins for the benchmarks: prose of a Zipf vocabulary, and tables of unlike numbers."""

from __future__ import annotations

import argparse
import random
from pathlib import Path

import numpy as np

DOCUMENT = 576_000
"""Bytes a document, about what a real bulletin has."""

_SYLLABLES = [a + b for a in "bcdfglmnprstv" for b in ("a", "e", "i", "o", "u", "an", "er", "is", "on", "um")]
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "June", "July", "Aug", "Sept", "Oct", "Nov", "Dec")


def arguments(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Add what all benchmarks take: a folder of documents, or how many tokens to generate."""
    parser.add_argument("--documents", type=Path, help="a folder of documents; else they are generated")
    parser.add_argument(
        "--tokens", type=float, default=1e6, help="estimated tokens to generate (4 bytes each)"
    )
    parser.add_argument("--seed", type=int, default=0)
    return parser


def documents(options: argparse.Namespace, folder: Path) -> Path:
    """Return the folder of documents that the options name, or generate them into `folder`."""
    if options.documents is not None:
        return Path(options.documents)
    words = _vocabulary(options.seed)
    for number in range(max(1, round(options.tokens * 4 / DOCUMENT))):
        size = min(DOCUMENT, round(options.tokens * 4))
        name = f"bulletin_{1939 + number // 12}_{number % 12 + 1:02}.txt"
        (folder / name).write_text(_document(words, np.random.default_rng((options.seed, number)), size))
    return folder


def _vocabulary(seed: int) -> np.ndarray:
    chooser = random.Random(seed)
    words = {"".join(chooser.choices(_SYLLABLES, k=chooser.randint(1, 4))) for _ in range(60_000)}
    return np.array(sorted(words, key=lambda word: (len(word), word)))


def _document(words: np.ndarray, rng: np.random.Generator, size: int) -> str:
    parts: list[str] = []
    written = 0
    while written < size:
        part = _table(words, rng) if rng.random() < 0.5 else _prose(words, rng, int(rng.integers(40, 160)))
        parts.append(part)
        written += len(part) + 2
    return "\n\n".join(parts) + "\n"


def _prose(words: np.ndarray, rng: np.random.Generator, count: int) -> str:
    chosen = words[np.minimum(rng.zipf(1.15, count) - 1, len(words) - 1)].tolist()
    return "\n".join(" ".join(chosen[at : at + 12]) for at in range(0, count, 12)) + "."


def _table(words: np.ndarray, rng: np.random.Generator) -> str:
    rows, columns = int(rng.integers(8, 40)), int(rng.integers(3, 9))
    title = (
        f"TABLE {words[int(rng.integers(50, 400))].upper()[:3]}-{rng.integers(1, 9)}.—{_prose(words, rng, 6)}"
    )
    header = "| Period | " + " | ".join(_prose(words, rng, 2)[:-1] for _ in range(columns)) + " |"
    values = np.exp(rng.normal(8, 3, (rows, columns))).astype(np.int64)
    year = int(rng.integers(1939, 2025))
    lines = [
        f"| {year + row // 12}-{_MONTHS[row % 12]} | "
        + " | ".join(f"{value:,}" for value in values[row].tolist())
        + " |"
        for row in range(rows)
    ]
    return "\n".join(
        (title, "", "[In millions of dollars]", "", header, "|" + " --- |" * (columns + 1), *lines)
    )
