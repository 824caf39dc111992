"""A finding: one thing looked at, whether it works, and what to do where it doesn't."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """`of` is what was looked at. `works=False` stops a run, `None` leaves only some of its options out."""

    of: str
    name: str
    works: bool | None
    found: str
    remedy: str = ""
