"""Files that are no documents: what they are by their name or first bytes, and how they are told of."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

TOLD = 10
"""So many problems are told of."""

HEAD = 16
"""So many first bytes say what a file is."""

_WORD = "Word file: not supported; save it as PDF, HTML or text"
_TEXT = "text with layout: not supported; save it as PDF, HTML or text"
_SHEET = "spreadsheet: not supported; save its sheets as HTML or CSV"
_SLIDES = "presentation: not supported; save it as PDF"
_IMAGE = "image: not supported; make text of it first (OCR)"
_ARCHIVE = "archive: not supported; unpack it"
_SOUND = "recording: not supported; make text of it first"
_PDF = "PDF file by another name: let its name end in .pdf"
_WIDE = "text in UTF-16: not supported; save it as UTF-8"

_BY_NAME = {
    **dict.fromkeys((".doc", ".docx", ".docm"), _WORD),
    **dict.fromkeys((".odt", ".rtf", ".pages", ".epub", ".mobi"), _TEXT),
    **dict.fromkeys((".xls", ".xlsx", ".xlsm", ".xlsb", ".ods", ".numbers"), _SHEET),
    **dict.fromkeys((".ppt", ".pptx", ".odp", ".key"), _SLIDES),
    **dict.fromkeys((".png", ".jpg", ".jpeg", ".gif", ".tif", ".tiff", ".bmp", ".webp", ".heic"), _IMAGE),
    **dict.fromkeys((".zip", ".gz", ".tgz", ".tar", ".7z", ".rar", ".bz2", ".xz", ".zst"), _ARCHIVE),
    **dict.fromkeys((".mp3", ".mp4", ".wav", ".m4a", ".mov", ".avi"), _SOUND),
}
_BY_BYTES = {
    b"%PDF-": _PDF,
    b"\xd0\xcf\x11\xe0": "older Word, Excel or PowerPoint file: not supported; save it as PDF, HTML or text",
    b"PK\x03\x04": "archive, Word or Excel file: not supported; unpack it, or save it as PDF, HTML or text",
    b"\x1f\x8b": _ARCHIVE,
    b"7z\xbc\xaf": _ARCHIVE,
    b"Rar!": _ARCHIVE,
    b"BZh": _ARCHIVE,
    b"\xfd7zXZ": _ARCHIVE,
    b"\x28\xb5\x2f\xfd": _ARCHIVE,
    b"\x89PNG": _IMAGE,
    b"\xff\xd8\xff": _IMAGE,
    b"GIF8": _IMAGE,
    b"II*\x00": _IMAGE,
    b"MM\x00*": _IMAGE,
    b"\xff\xfe": _WIDE,
    b"\xfe\xff": _WIDE,
}


def kind(name: str, head: bytes) -> str | None:
    """Return what a file that is no text is, and what to do; `head` are its first bytes. None if unknown."""
    return _BY_NAME.get(PurePath(name).suffix.lower()) or next(
        (what for magic, what in _BY_BYTES.items() if head.startswith(magic)), None
    )


def told(problems: Sequence[str]) -> str:
    """Return problems one a line, sorted, and how many there are more than are told of."""
    more = [f"… and {len(problems) - TOLD:,} more"] if len(problems) > TOLD else []
    return "\n".join([*sorted(problems)[:TOLD], *more])
