"""What to search for and read next: the gaps of the question decide.

Stages, each a search whose hits are read while they can still fill a gap: *find* the table (in the issues
that are named, then in those of the asked years, then anywhere); *sweep* the other issues that print the same
table for the same periods, newest first, since the last print counts; look for *errata* notes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from pipeline.backbone.reference import replies
from pipeline.backbone.reference.conversation import Conversation
from pipeline.backbone.reference.errata import CORRECTS
from pipeline.backbone.reference.facts import Findings, same_issue, same_series, series_key
from pipeline.backbone.reference.observation import Hit
from pipeline.backbone.reference.operands import Operand
from pipeline.backbone.reference.question import Question
from pipeline.backbone.reference.subjects import CODE, search_words
from pipeline.backbone.reference.words import Period, document_period, stems

READ_AT_ONCE = 10  # locations in one read
FIND_DEPTH = 8  # hits of a finding search that are read at most
CONTEXT = (1_200, 400)  # code points around a passage outside a table: its header may stand before it
MONTHS_REPRINTED = 13  # how long after a month its figure may still be in the tables
MONTHS_YEAR_REPRINTED = 62  # the same of a year
YEARS_PER_SWEEP = 2  # so that 50 hits hold every issue's table
CORRECTION_WORDS = "corrected misprinted read"
LEAST_SAID = 4  # words of a note beside the table's title: a list of contents has none
YEARS_PER_ERRATA = 6  # and every issue's note on it
YEARS_OF_ERRATA = 4  # after a figure

Range = tuple[str, int, int]  # a stretch of a document
Location = Range | str  # or a passage


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
        """Whether finding goes on: nothing found yet, another table, or a figure of a named issue missing."""
        if self.question.title and not self._entitled(self.findings.title):
            return True
        missing = [number for number in range(len(self.findings.operands)) if not self.findings.of(number)]
        if not self.findings.operands or len(missing) == len(self.findings.operands):
            return True
        return any(self.findings.operands[number].issue for number in missing)

    def _find_stages(self) -> Iterable[Stage]:
        query = search_words(self.question.text)
        issues, periods = self.question.issues, self.question.periods
        if self.question.title and periods and not issues:
            for sweep in self._sweeps():
                yield replace(sweep, name="find", thought="Look for the table that is named.")
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

    def _wanted(self) -> list[Period]:
        """The periods whose last (or first) print is asked for: the question's, until a table was found."""
        found = self.findings.operands
        return [o.period for o in found if o.period and not o.issue] or list(
            () if found else self.question.periods
        )

    def _blocks(self) -> list[range]:
        """The years that may print what is wanted, a sweep's worth each."""
        wanted = self._wanted()
        later = 5 if any(not (p.month or p.quarter) for p in wanted) else 1
        return _in_blocks(wanted, later, YEARS_PER_SWEEP)

    def _globs(self, years: Iterable[int]) -> list[str]:
        """Patterns for the documents named for these years, as far as there are any."""
        names = self.conversation.documents
        globs = [f"*{year}*" for year in years]
        return [glob for glob in globs if not names or any(fnmatchcase(name, glob) for name in names)]

    def _sweeps(self) -> Iterable[Stage]:
        title = self.question.title or self.findings.title
        thought = "Other issues print this table too: see whether they give the figure, or another."
        for block in reversed(self._blocks()):
            if globs := self._globs(block):
                yield Stage("sweep", replies.search(title, globs, top_k=50), thought)

    def _errata(self) -> Iterable[Stage]:
        wanted = [o for o in self.findings.operands if o.period and not o.issue and o.vintage != "first"]
        code = CODE.search(self.findings.title)
        labels = dict.fromkeys(self._label(operand) for operand in wanted)
        said = " ".join((f"Table {code[0]}" if code else self.findings.title, *labels, CORRECTION_WORDS))
        periods = [o.period for o in wanted if o.period]
        for years in _in_blocks(periods, YEARS_OF_ERRATA, YEARS_PER_ERRATA):
            if globs := self._globs(years):
                operation = replies.search(said, globs, top_k=50)
                yield Stage("errata", operation, "Look for notes that correct the figure.")

    def _label(self, operand: Operand) -> str:
        column = (
            self.findings.columns[operand.column].rpartition(" > ")[2] if operand.column is not None else ""
        )
        return f"{column} {operand.row or ''}".strip()

    def _entitled(self, title: str) -> bool:
        """Whether a table has the title that the question quotes."""
        return set(stems(self.question.title)) <= set(stems(title))

    # ---- steps of a stage

    def _step(self, stage: Stage) -> tuple[str, replies.Operation] | None:
        turn = self.conversation.sent(stage.operation)
        if turn is None:
            return (stage.thought, stage.operation) if self.conversation.budget.searches > 0 else None
        worth = self._worth_reading(stage, turn.observation.hits)
        locations = [place for location in worth if (place := self._unread(location))][:READ_AT_ONCE]
        if not locations or not self._may_read():
            return None
        named = ", ".join(dict.fromkeys(place if isinstance(place, str) else place[0] for place in locations))
        return f"Read what the search found in {named}.", replies.read([_as_sent(each) for each in locations])

    def _may_read(self) -> bool:
        spent = any(turn.observation.error == "read_budget_exhausted" for turn in self.conversation.turns)
        return not spent and self.conversation.budget.read_tokens > 0

    def _worth_reading(self, stage: Stage, hits: Sequence[Hit]) -> Sequence[Location]:
        if stage.name == "find":
            return self._promising(hits)
        if stage.name == "errata":
            seen = [hit for turn in self.conversation.turns for hit in turn.observation.hits]
            notes = [(hit.document, hit.start, hit.end) for hit in seen if self._is_correction(hit)]
            like = [hit for hit in hits if hit.table is None and CORRECTS.search(hit.snippet)]
            return list(dict.fromkeys([*notes, *(passage for hit in like for passage in hit.also)]))
        key = series_key(self.findings.title)
        same = [hit for hit in hits if hit.table and same_series(key, series_key(hit.table.title))]
        ranges = dict.fromkeys(_range(hit) for hit in same if self._decides(hit.document))
        return sorted(ranges, key=lambda ranged: -_ordinal(ranged[0]))

    def _promising(self, hits: Sequence[Hit]) -> list[Range]:
        """What to read of a finding search: the named table where there is one, the newest first."""
        named = [hit for hit in hits if hit.table and self.question.title and self._entitled(hit.table.title)]
        if not named:
            return list(dict.fromkeys(_range(hit) for hit in hits))[:FIND_DEPTH]
        printing = [hit for hit in named if self.question.issues or self._prints(hit.document)] or named
        return sorted(dict.fromkeys(map(_range, printing)), key=lambda ranged: -_ordinal(ranged[0]))

    def _prints(self, document: str) -> bool:
        """Whether a document is of a time when it may print a figure that is wanted."""
        date = document_period(document)
        return date is None or any(_reprints(period, date) for period in self._wanted())

    def _is_correction(self, hit: Hit) -> bool:
        """Whether a hit shows a note, dated after a figure asked for, that names its table or its label."""
        date = document_period(hit.document)
        operands = [o for o in self.findings.operands if o.period]
        if date and not any(o.period and o.period.ordinal <= date.ordinal for o in operands):
            return False
        return hit.table is None and any(self._is_about(line) for line in hit.snippet.split("\n"))

    def _is_about(self, line: str) -> bool:
        """Whether a line names the table, or, without any table's number, a label that is asked for."""
        said, codes = set(stems(line)), set(CODE.findall(line))
        title = set(series_key(self.findings.title)) - {"table"}
        if len(said - title) < LEAST_SAID:
            return False
        if codes and (own := set(CODE.findall(self.findings.title))):
            return bool(codes & own)
        labels = [set(stems(self._label(operand))) for operand in self.findings.operands]
        return len(title & said) >= 0.8 * len(title) or any(label and label <= said for label in labels)

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
        if not _reprints(period, date):
            return False
        dates = [
            fact.published.ordinal
            for fact in self.findings.of(number)
            if fact.published and not fact.correction
        ]
        if not dates:
            return True
        return date.ordinal < min(dates) if operand.vintage == "first" else date.ordinal > max(dates)

    def _unread(self, location: Location) -> Location | None:
        """The part of a location that is still to be read; `None` if there is none, or it was refused."""
        if isinstance(location, str):
            reads = (turn.operation.get("locations", ()) for turn in self.conversation.turns)
            return None if any({"passage": location} in locations for locations in reads) else location
        document, start, end = location
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


def _as_sent(location: Location) -> dict[str, str | int]:
    if isinstance(location, str):
        return {"passage": location}
    return dict(zip(("document", "start", "end"), location, strict=True))


def _range(hit: Hit) -> Range:
    """What to read of a hit: its table, header and rows together; else the passage and what precedes it."""
    if hit.table:
        return hit.document, hit.table.start, hit.table.end
    return hit.document, max(0, hit.start - CONTEXT[0]), hit.end + CONTEXT[1]


def _reprints(period: Period, date: Period) -> bool:
    """Whether an issue of a date may print a period's figure."""
    whole_year = not (period.month or period.quarter)
    first = period.ordinal - (4 if whole_year else 0)
    return (
        first <= date.ordinal <= period.ordinal + (MONTHS_YEAR_REPRINTED if whole_year else MONTHS_REPRINTED)
    )


def _in_blocks(periods: Sequence[Period], later: int, size: int) -> list[range]:
    """The years of the periods and `later` more, `size` at a time."""
    if not periods:
        return []
    years = range(min(p.year for p in periods), max(p.year for p in periods) + later + 1)
    return [years[i : i + size] for i in range(0, len(years), size)]


def _ordinal(document: str) -> int:
    date = document_period(document)
    return date.ordinal if date else 0


def _years(periods: Sequence[Period], later: int) -> list[str]:
    """Patterns for documents named for a year from the first to the last period's, and `later` more."""
    years = range(min(p.year for p in periods), max(p.year for p in periods) + later + 1)
    return [f"*{year}*" for year in years]
