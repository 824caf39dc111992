"""Writes data as AA-LCR is published: a CSV file, and an archive whose names hide that they are UTF-8."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

HEADER = [
    "document_category",
    "document_set_id",
    "question_id",
    "question",
    "answer",
    "data_source_filenames",
    "data_source_urls",
    "input_tokens",
]


def row(number: int, files: str, held: str = "co_one", category: str = "Company", **cells: str) -> list[str]:
    """A row of the CSV file; `cells` replaces some of it."""
    values = [category, held, str(number), f"What is {number}?", f"It is {number}.", files, "", "99000"]
    return [cells.get(column, value) for column, value in zip(HEADER, values, strict=True)]


def write_questions(path: Path, rows: Sequence[Sequence[str]], header: Sequence[str] = HEADER) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def write_archive(path: Path, texts: Mapping[str, bytes]) -> Path:
    """Write an archive with the names' UTF-8 bytes and without the flag that tells so."""
    plain = {name: f"{number:03}".ljust(len(name.encode()), "_") for number, name in enumerate(texts)}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in texts.items():
            archive.writestr(plain[name], text)
    raw = buffer.getvalue()
    for name, placeholder in plain.items():
        raw = raw.replace(placeholder.encode(), name.encode())
    path.write_bytes(raw)
    return path
