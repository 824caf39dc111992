"""A benchmark's published counts: data that have others are another revision, which nobody should miss."""

from __future__ import annotations

from collections.abc import Mapping

from pipeline.errors import BenchmarkError


def check_counts(
    name: str, found: Mapping[str, int], published: Mapping[str, int], allow_other: bool
) -> str | None:
    """Compare what was found (`questions`, `documents`, …) with what was published of benchmark `name`.

    Returns None if all published counts are met, else, with `allow_other`, a label for the results such as
    `other revision: questions 12 (published 133)`. Raises `BenchmarkError` without it.
    """
    if unknown := [what for what in published if what not in found]:
        raise BenchmarkError(
            f"published: nothing counts {unknown[0]!r} of {name}; there is {', '.join(found)}"
        )
    others = {what: count for what, count in published.items() if found[what] != count}
    if not others:
        return None
    told = ", ".join(f"{what} {found[what]:,} (published {count:,})" for what, count in others.items())
    if allow_other:
        return f"other revision: {told}"
    raise BenchmarkError(
        f"{name} has other counts than the published data: {told}. Get the published files, or run these and "
        "have the results labelled so: benchmark.allow_other_revision=true"
    )
