"""PDF files to be read, made by a real writer."""

from __future__ import annotations

from collections.abc import Sequence

from fpdf import FPDF

ROWS = [
    ("Year and month", "Total outlays", "Interest"),
    ("1953 - April", "6,120", "512"),
    ("May", "6,241", ""),
    ("June", "5,998", "1,001"),
]
TITLE = ("Table 1. - Total Outlays by Month", "(In millions of dollars)")


def pdf(*pages: Sequence[str], table: bool = True, angle: int = 0, password: str = "") -> bytes:
    """Write pages of lines; each page that has any ends in the table."""
    writer = FPDF()
    writer.set_font("Helvetica", size=10)
    if password:
        writer.set_encryption(owner_password=password, user_password=password)
    for lines in pages:
        writer.add_page()
        with writer.rotation(angle, x=100, y=100):
            for line in (*lines, *(TITLE if lines and table else ())):
                writer.multi_cell(0, 6, line, new_x="LMARGIN", new_y="NEXT")
            for cells in ROWS if lines and table else ():
                for width, cell in zip((60, 30, 30), cells, strict=True):
                    writer.cell(width, 6, cell, align="L" if width == 60 else "R")
                writer.ln()
    return bytes(writer.output())
