"""What an episode knows of turns that have left its prompt: their facts from evidence, and their searches."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from pipeline.backbone.reference.facts import Fact, Findings, named_label, same_series, series_key
from pipeline.backbone.reference.numerals import figure
from pipeline.backbone.reference.operands import same_period
from pipeline.backbone.reference.words import document_period, label_period, stems

_STATED = re.compile(
    r"^(?P<label>.*?)(?: for (?P<period>(?:[A-Z][a-z]+ |Q\d )?\d{4}))?: (?P<figure>.+?)"
    r"(?: \((?P<unit>[^()]*)\))?"
    r', (?:as printed in "(?P<title>.*)", (?P<document>.+?)(?:, marked as revised)?'
    r'|corrected by an errata note in (?P<noted>.+?) on "(?P<corrected>.*)")$'
)


def recalled(findings: Findings, statements: Iterable[str]) -> Iterator[Fact]:
    """The facts that active statements hold, of the figures asked for, where their texts are not shown."""
    shown = {fact.statement for fact in findings.facts}
    for statement in statements:
        fact = None if statement in shown else _stated(statement)
        if fact is None:
            continue
        title, known = fact
        if not same_series(series_key(findings.title), series_key(title)):
            continue
        label = set(stems(known.label))
        for number, operand in enumerate(findings.operands):
            period = operand.period
            at = period is None or same_period(period, known.period)
            if at and label == set(stems(named_label(findings.columns, operand))):
                yield known.of(number)


@lru_cache(maxsize=4096)
def _stated(statement: str) -> tuple[str, Fact] | None:
    """The table's title and the fact of one of our statements; `None` for another."""
    found = _STATED.match(statement)
    printed = figure(found["figure"]) if found else None
    if found is None or printed is None:
        return None
    document = found["document"] or found["noted"]
    period = label_period(found["period"])[0] if found["period"] else None
    return found["title"] or found["corrected"], Fact(
        number=0,
        document=document,
        published=document_period(document),
        figure=printed,
        unit=found["unit"] or "",
        label=found["label"],
        period=period,
        correction=found["noted"] is not None,
        ranges=(),
        statement=statement,
    )
