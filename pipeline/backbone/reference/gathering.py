"""What to search for and read next: the gaps of the question decide.

Stages, each a search whose hits are read while they can still fill a gap: *find* the table (in the issues
that are named, then in those of the asked years, then anywhere); *sweep* the other issues that print the same
table for the same periods, newest first, since the last print counts; look for *errata* notes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.backbone.reference import replies
from pipeline.backbone.reference.conversation import Conversation, Turn
from pipeline.backbone.reference.errata import CORRECTS
from pipeline.backbone.reference.facts import Findings, same_issue, same_series, series_key
from pipeline.backbone.reference.observation import Hit
from pipeline.backbone.reference.operands import Operand
from pipeline.backbone.reference.question import Question
from pipeline.backbone.reference.subjects import FILLER
from pipeline.backbone.reference.words import Period, content_words, document_period

READ_AT_ONCE = 6  # locations in one read
FIND_DEPTH = 8  # hits of a finding search that are read at most
ERRATA_DEPTH = 24  # hits with corrections that are read at most
CONTEXT = (1_200, 400)  # code points around a passage outside a table: its header may stand before it
MONTHS_REPRINTED = 13  # how long after a month its figure may still be in the tables
MONTHS_YEAR_REPRINTED = 62  # the same of a year
YEARS_PER_SWEEP = 2  # so that 50 hits hold every issue's table

Range = tuple[str, int, int]


@dataclass(frozen=True)
class Stage:
    """A search, and which of its hits to read, best first."""

    name: str
    operation: Mapping[str, Any]
    thought: str


@dataclass(frozen=True)
class Gathering:
    """What was done so far, as the policy's choices need it."""

    question: Question
    conversation: Conversation
    findings: Findings

    def find(self) -> tuple[str, replies.Operation] | None:
        """The next step towards the table with the figures; `None` once found, or all was tried."""
        for stage in self._find_stages():
            if not self._open():
                return None
            if step := self._step(stage):
                return step
        return None

    def verify(self) -> tuple[str, replies.Operation] | None:
        """The next step towards later (or earlier) prints and errata notes; `None` when none is left."""
        if not self.findings.operands:
            return None
        for stage in (*self._sweeps(), *self._errata()):
            if step := self._step(stage):
                return step
        return None

    # ---- stages

    def _open(self) -> bool:
        """Whether finding goes on: nothing found yet, or a figure of a named issue is missing."""
        missing = [number for number in range(len(self.findings.operands)) if not self.findings.of(number)]
        if not self.findings.operands or len(missing) == len(self.findings.operands):
            return True
        return any(self.findings.operands[number].issue for number in missing)

    def _find_stages(self) -> Iterable[Stage]:
        query = search_words(self.question.text)
        issues, periods = self.question.issues, self.question.periods
        if issues:
            globs = [
                f"*{issue.year}*{issue.month:02d}*" if issue.month else f"*{issue.year}*" for issue in issues
            ]
            yield Stage(
                "find", replies.search(query, globs), "Look for the table in the issue that is named."
            )
            yield Stage(
                "find", replies.search(query, _years(issues, 0)), "Look in the other issues of that year."
            )
        elif periods:
            yield Stage(
                "find",
                replies.search(query, _years(periods, 1)),
                "Look for the table in the years that are asked about.",
            )
        yield Stage("find", replies.search(query, top_k=20), "Look for the table anywhere.")
        plain = " ".join(dict.fromkeys((*self.question.words, *map(str, periods[:2]))))
        yield Stage(
            "find",
            replies.search(plain or self.question.text, top_k=20),
            "Look once more, by the subject alone.",
        )

    def _sweeps(self) -> Iterable[Stage]:
        wanted = [o.period for o in self.findings.operands if o.period and not o.issue]
        if not wanted:
            return
        later = 5 if any(not (p.month or p.quarter) for p in wanted) else 1
        years = range(min(p.year for p in wanted), max(p.year for p in wanted) + later + 1)
        blocks = [years[i : i + YEARS_PER_SWEEP] for i in range(0, len(years), YEARS_PER_SWEEP)]
        for block in reversed(blocks):
            globs = [f"*{year}*" for year in block]
            thought = "Other issues print this table too: see whether they give the figure, or another."
            yield Stage("sweep", replies.search(self.findings.title, globs, top_k=50), thought)

    def _errata(self) -> Iterable[Stage]:
        wanted = [o for o in self.findings.operands if o.period and not o.issue and o.vintage != "first"]
        if not wanted:
            return
        labels = " ".join(dict.fromkeys(self._label(operand) for operand in wanted))
        globs = _years([o.period for o in wanted if o.period], 2)
        query = f"errata correction should read instead of corrected {self.findings.title} {labels}"
        months = " ".join(dict.fromkeys(str(o.period) for o in wanted[:2])) if len(wanted) < 3 else ""
        yield Stage(
            "errata",
            replies.search(f"{query} {months}".strip(), globs, top_k=50 if len(wanted) > 2 else 20),
            "Look for notes that correct the figure.",
        )

    def _label(self, operand: Operand) -> str:
        column = (
            self.findings.columns[operand.column].rpartition(" > ")[2] if operand.column is not None else ""
        )
        return f"{column} {operand.row or ''}".strip()

    # ---- steps of a stage

    def _step(self, stage: Stage) -> tuple[str, replies.Operation] | None:
        turn = self._sent(stage.operation)
        if turn is None:
            return (stage.thought, stage.operation) if self.conversation.budget.searches > 0 else None
        locations = [
            place
            for ranged in self._worth_reading(stage, turn.observation.hits)
            if (place := self._unread(ranged))
        ]
        if not locations or not self._may_read():
            return None
        named = ", ".join(dict.fromkeys(document for document, _, _ in locations[:READ_AT_ONCE]))
        places = [{"document": d, "start": s, "end": e} for d, s, e in locations[:READ_AT_ONCE]]
        return f"Read what the search found in {named}.", replies.read(places)

    def _sent(self, operation: Mapping[str, Any]) -> Turn | None:
        wanted = json.dumps(operation, sort_keys=True)
        return next(
            (t for t in self.conversation.turns if json.dumps(t.operation, sort_keys=True) == wanted), None
        )

    def _may_read(self) -> bool:
        spent = any(turn.observation.error == "read_budget_exhausted" for turn in self.conversation.turns)
        return not spent and self.conversation.budget.read_tokens > 0

    def _worth_reading(self, stage: Stage, hits: Sequence[Hit]) -> list[Range]:
        if stage.name == "find":
            return list(dict.fromkeys(_range(hit) for hit in hits))[:FIND_DEPTH]
        if stage.name == "errata":
            notes = [hit for hit in hits if CORRECTS.search(hit.snippet) and self._timely(hit.document, 24)]
            return list(dict.fromkeys((hit.document, hit.start, hit.end) for hit in notes))[:ERRATA_DEPTH]
        key = series_key(self.findings.title)
        same = [hit for hit in hits if hit.table and same_series(key, series_key(hit.table.title))]
        ranges = dict.fromkeys(_range(hit) for hit in same if self._decides(hit.document))
        return sorted(ranges, key=lambda ranged: -_ordinal(ranged[0]))

    def _timely(self, document: str, months: int) -> bool:
        """Whether a document is dated within `months` after a period that is asked for, or undated."""
        date = document_period(document)
        periods = [o.period for o in self.findings.operands if o.period]
        return date is None or any(p.ordinal <= date.ordinal <= p.ordinal + months for p in periods)

    def _decides(self, document: str) -> bool:
        """Whether a document's print of the table can fill a gap or displace a figure that we have."""
        date = document_period(document)
        return date is None or any(
            self._changes(number, operand, date) for number, operand in enumerate(self.findings.operands)
        )

    def _changes(self, number: int, operand: Operand, date: Period) -> bool:
        period = operand.period
        if period is None or operand.issue:
            return bool(operand.issue and same_issue(operand.issue, date)) and not self.findings.of(number)
        whole_year = not (period.month or period.quarter)
        first = period.ordinal - (4 if whole_year else 0)
        if (
            not first
            <= date.ordinal
            <= period.ordinal + (MONTHS_YEAR_REPRINTED if whole_year else MONTHS_REPRINTED)
        ):
            return False
        dates = [
            fact.published.ordinal
            for fact in self.findings.of(number)
            if fact.published and not fact.correction
        ]
        if not dates:
            return True
        return date.ordinal < min(dates) if operand.vintage == "first" else date.ordinal > max(dates)

    def _unread(self, ranged: Range) -> Range | None:
        """The part of a range that is still to be read; `None` if there is none, or it was refused."""
        document, start, end = ranged
        refused = False
        for turn in self.conversation.turns:
            for served in turn.observation.served:
                if served.document == document and served.start <= start < served.end:
                    start = served.end if served.next is not None else max(served.end, end)
            if not turn.observation.valid and turn.operation.get("name") == "read":
                refused |= any(
                    place.get("document") == document and place.get("start") == start
                    for place in turn.operation.get("locations", ())
                )
        return (document, start, end) if start < end and not refused else None


def _range(hit: Hit) -> Range:
    """What to read of a hit: its table, header and rows together; else the passage and what precedes it."""
    if hit.table:
        return hit.document, hit.table.start, hit.table.end
    return hit.document, max(0, hit.start - CONTEXT[0]), hit.end + CONTEXT[1]


def _ordinal(document: str) -> int:
    date = document_period(document)
    return date.ordinal if date else 0


def _years(periods: Sequence[Period], later: int) -> list[str]:
    """Patterns for documents named for a year from the first to the last period's, and `later` more."""
    years = range(min(p.year for p in periods), max(p.year for p in periods) + later + 1)
    return [f"*{year}*" for year in years]


def search_words(text: str) -> str:
    """A query: the words of a question that may name its subject, as they are written, and table numbers."""
    words = [
        text[word.start : word.end]
        for word in content_words(text)
        if word.stem not in FILLER and (len(word.stem) == 4 or not word.stem.isdigit())
    ]
    codes = re.findall(r"\b[A-Z]{1,6}-\d+\b", text)
    return " ".join(dict.fromkeys((*codes, *words))) or text
