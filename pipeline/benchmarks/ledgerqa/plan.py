"""How a size becomes issues, tables and paragraphs."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from math import isqrt

from pipeline.benchmarks.ledgerqa.config import LedgerQAConfig
from pipeline.benchmarks.ledgerqa.dates import Calendar
from pipeline.benchmarks.ledgerqa.families import Families
from pipeline.benchmarks.ledgerqa.ledger import Ledger, Rates
from pipeline.benchmarks.ledgerqa.noise import Noise
from pipeline.benchmarks.ledgerqa.reading import Place
from pipeline.benchmarks.ledgerqa.rendering import Printed, prose_bytes, render, table
from pipeline.benchmarks.ledgerqa.streams import Purpose, Stream, derive
from pipeline.errors import BenchmarkError

SMALLEST, LARGEST = 10_000, 1_000_000_000
BYTES_PER_TOKEN = 4
_PROSE_PERCENT = 15
_SAMPLE = 8  # issues that are printed to see how much room is left
_ABOUT_MASTHEAD, _ABOUT_CONTENTS_LINE = 100, 20  # bytes


@dataclass(frozen=True)
class Plan:
    """A ledger, and how many paragraphs its issues have in all."""

    ledger: Ledger
    paragraphs: int
    noise_percent: int

    def render(self, issue: int, kept: Collection[Place]) -> list[Printed]:
        """The documents of an issue's date, with its share of paragraphs; `kept` figures are read well."""
        before, after = (self.paragraphs * at // self.ledger.calendar.issues for at in (issue, issue + 1))
        noise = Noise(self.noise_percent, kept) if self.noise_percent else None
        return render(self.ledger, issue, after - before, noise)


def plan(config: LedgerQAConfig) -> Plan:
    """Choose issues, tables and paragraphs so that the documents have about `config.tokens`.

    Raises `BenchmarkError` where the values are out of bounds or the size has no room for the tables.
    """
    _check(config)
    key = derive(0, config.seed)
    calendar = _calendar(key, config.tokens)
    families = Families(key, calendar, config.distractors, min(36, 10 + config.tokens // 5_000))
    rates = Rates(
        config.revision_percent, config.errata_percent, config.late_percent, config.restated_percent
    )
    size = config.tokens * BYTES_PER_TOKEN // calendar.issues
    least = 2 + config.distractors  # a monthly group and a cross table
    count = _families(Ledger(config.seed, calendar, families, families.most, rates), size, least)
    ledger = Ledger(config.seed, calendar, families, count, rates)
    sample = range(0, calendar.issues, max(calendar.issues // _SAMPLE, 1))
    bare = sum(len(each.text.encode()) for issue in sample for each in render(ledger, issue, 0))
    room = (size * len(sample) - bare) * calendar.issues
    paragraphs = max(room // (prose_bytes(ledger) * len(sample)), 0)
    return Plan(ledger, paragraphs, config.noise_percent)


def _check(config: LedgerQAConfig) -> None:
    bounds = {
        "tokens": (config.tokens, SMALLEST, LARGEST),
        "distractors": (config.distractors, 0, 3),
        "questions_per_kind": (config.questions_per_kind, 1, 10_000),
        "revision_percent": (config.revision_percent, 0, 50),
        "errata_percent": (config.errata_percent, 0, 25),
        "late_percent": (config.late_percent, 0, 25),
        "restated_percent": (config.restated_percent, 0, 100),
        "series_months": (config.series_months, 24, 480),
        "operands": (config.operands, 3, 8),
        "noise_percent": (config.noise_percent, 0, 50),
        "processes": (config.processes, 1, 1_024),
    }
    for name, (value, low, high) in bounds.items():
        if not low <= value <= high:
            raise BenchmarkError(f"LedgerQA: {name}={value} is out of bounds: use {low} to {high}")
    if not config.kinds or len(set(config.kinds)) < len(config.kinds):
        raise BenchmarkError("LedgerQA: kinds must name at least one kind, and each once")


def _calendar(key: int, tokens: int) -> Calendar:
    """Issues grow with the root of the size; quarterly up to forty years, then monthly."""
    issues = min(max(isqrt(tokens) // 20, 6), 1_200)
    step = 3 if issues <= 160 else 1
    stream = Stream(key, Purpose.calendar)
    latest = 2024 - issues * step // 12
    earliest = min(1945, latest)
    return Calendar(12 * (earliest + stream.below(latest - earliest + 1)) + 3 * stream.below(4), step, issues)


def _families(ledger: Ledger, size: int, least: int) -> int:
    """How many tables fill an issue of `size` bytes, with some room left for prose."""
    issue = ledger.calendar.issues // 2
    room = size - _ABOUT_MASTHEAD
    prose = size * _PROSE_PERCENT // 100
    for number in range(ledger.families):
        family = ledger.family(number)
        printed = len(table(ledger, family, issue)[0].encode())
        again = printed * ledger.rates.restated // 100 if family.entities else 0
        room -= printed + again + len(family.title) + _ABOUT_CONTENTS_LINE
        if number < least and room < 0:
            raise BenchmarkError(
                f"LedgerQA: an issue of {size:,} bytes has no room for {least} tables: raise tokens (four "
                f"bytes each, over {ledger.calendar.issues} issues) or lower distractors"
            )
        if number >= least and room < prose:
            return number
    return ledger.families
