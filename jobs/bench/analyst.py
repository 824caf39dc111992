"""A scripted analyst: ordinary turns over LedgerQA, each following from what was observed. No model.

It works question by question, ten turns each, as a careful agent does that keeps evidence, with as many
searches, and as much read, as the design's own ordinary episode has (7 searches and 6 reads of 60,000
characters in 20 turns):

     1 search    the question itself
     2 read      8,000 characters around the first hit
     3 upsert    up to four figures of what was read, each a statement
     4 read      12,000 characters from the start of the first table that a hit names
     5 upsert    up to six figures of it
     6 search    for revisions, in the documents of the table's decade, in their order; updates the conclusion
     7 read      8,000 characters around the last hit
     8 revise    the latest entry, by a figure that was read last
     9 search    the table's title, for other issues of it; updates the conclusion
    10 compute   over the latest figures; updates the conclusion

What a variant lacks is left out: a read of the next hit takes the turn's place.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any, NamedTuple

from pipeline.harness.config import ConclusionForm, SwitchesConfig

Reply = dict[str, Any]
Work = Generator[Reply, str, None]

_HIT = re.compile(r'^\d+\. (\S+)#\d+ \[(\d+):\d+\].*(?:\ntable "(.*?)" \[(\d+):\d+\])?', re.MULTILINE)
_SOURCE = re.compile(r"^(s\d+) = (\S+) \[\d+:\d+\].*\n(`{3,})text\n(.*?)\n\3$", re.MULTILINE | re.DOTALL)
_ADMITTED = re.compile(r"^item \d+: (e\d+)", re.MULTILINE)
_REVISED = re.compile(r"superseded by (e\d+)")
_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_TABLE, _AROUND = 12_000, 8_000  # characters of a table, and around a hit, that are read at once
_CLAIMS = 8  # established claims that a conclusion holds, the latest ones


class Hit(NamedTuple):
    """A hit as observed: where it begins, and its table's title and beginning, if it has one."""

    document: str
    start: int
    title: str
    table: int


class Figure(NamedTuple):
    """A figure that was read: what is said of it, its value as printed, and where it stands."""

    statement: str
    value: str
    source: str


@dataclass
class Analyst:
    """The script and what it remembers: which evidence is active with which value, and what it claims."""

    questions: Sequence[str]
    switches: SwitchesConfig
    values: dict[str, str] = field(default_factory=dict)
    claims: list[Reply] = field(default_factory=list)
    read: list[str] = field(default_factory=list)

    def work(self) -> Work:
        """Give replies, and take what each observed, for as long as one asks."""
        for question in cycle(self.questions):
            yield from self._question(question)

    def final(self) -> Reply:
        """Answer with what is there."""
        answer = next(reversed(self.values.values()), "unknown")
        return _reply("The gaps that are left would not change it.", "final", answer=answer, **self._cited())

    def _question(self, question: str) -> Work:
        hits = _hits((yield _reply(f"First where it is printed: {question}", "search", query=question)))
        figures = self._figures((yield self._around(hits[0])))
        yield from self._admit(figures[:4], hits[1:] or hits)
        tables = [hit for hit in hits if hit.title]
        table = tables[0] if tables else hits[0]
        figures = self._figures((yield self._table(table)))
        yield from self._admit(figures[:6], hits[3:] or hits)
        decade = re.sub(r"\d_\d\d\.txt$", "*", table.document)
        thought = f"Was any figure of it revised or corrected in later issues? So far: {question}"
        revised = _reply(
            thought,
            "search",
            query=f"{table.title or question} revised corrected",
            documents=[decade],
            order="document",
        )
        hits = _hits((yield revised | self._conclusion(question))) or hits
        figures = self._figures((yield self._around(hits[-1]))) or figures
        yield from self._revise(figures, hits)
        other = _reply("Other issues of the same table may differ.", "search", query=table.title or question)
        hits = _hits((yield other | self._conclusion(question))) or hits
        yield self._compute() | self._conclusion(question)

    def _around(self, hit: Hit) -> Reply:
        start = max(0, hit.start - _AROUND // 4)
        return self._range("The snippet is not enough: I read it where it stands.", hit, start, _AROUND)

    def _table(self, hit: Hit) -> Reply:
        return self._range("The table whole, with its unit line and its notes.", hit, hit.table, _TABLE)

    def _range(self, thought: str, hit: Hit, start: int, length: int) -> Reply:
        location = {"document": hit.document, "start": start, "end": start + length}
        return _reply(thought, "read", locations=[location])

    def _admit(self, figures: Sequence[Figure], others: Sequence[Hit]) -> Work:
        if not self.switches.evidence_bank or not figures:
            self._figures((yield self._around(others[0])))
            return
        items = [{"statement": figure.statement, "sources": [figure.source]} for figure in figures]
        observed = yield _reply("These are the figures that the question needs.", "evidence", upsert=items)
        self.values.update(zip(_ADMITTED.findall(observed), [f.value for f in figures], strict=True))

    def _revise(self, figures: Sequence[Figure], hits: Sequence[Hit]) -> Work:
        if not self.switches.revise or not figures or not self.values:
            yield from self._admit(figures[:1], hits)
            return
        old, new = next(reversed(self.values)), figures[0]
        replacement = {"statement": new.statement, "sources": [new.source]}
        revision = {"id": old, "replacement": replacement}
        observed = yield _reply("The later issue corrects it.", "evidence", revise=revision)
        del self.values[old]
        self.values[_REVISED.findall(observed)[0]] = new.value
        for claim in self.claims:
            claim["evidence"] = [e for e in claim["evidence"] if e != old]
        self.claims = [claim for claim in self.claims if claim["evidence"]]

    def _compute(self) -> Reply:
        values = list(self.values.values())[-6:] or ["1", "2"]
        numbers = ", ".join(value.replace(",", "") for value in values)
        return _reply("Now the mean of these.", "compute", expression=f"mean({numbers})", **self._cited())

    def _cited(self) -> Reply:
        if not self.switches.evidence_bank:
            return {"sources": self.read[-2:]}
        return {"evidence": list(self.values)[-6:]}

    def _conclusion(self, question: str) -> Reply:
        """Return the update that a variant takes: three lists, notes, or nothing."""
        gaps = [f"Is any figure revised in a later issue? {question}", "Do all figures have the same unit?"]
        if self.switches.conclusion is ConclusionForm.notes:
            return {"notes": "\n".join([*list(self.values.values())[-_CLAIMS:], *gaps])}
        if self.switches.conclusion is ConclusionForm.none:
            return {}
        latest = list(self.values)[-2:]
        if latest:
            figures = " and ".join(self.values[evidence] for evidence in latest)
            claim = f"What is asked for by {question[:80]!r} is {figures}"
            others = [other for other in self.claims if repr(question[:80]) not in other["claim"]]
            self.claims = [*others, {"claim": claim, "evidence": latest}][-_CLAIMS:]
        guess = {"claim": "The latest issue prints the figures that hold.", "evidence": latest}
        return {"conclusion": {"established": self.claims, "hypotheses": [guess], "unresolved": gaps}}

    def _figures(self, observed: str) -> list[Figure]:
        """Return the figures of what was read: the last one of each row."""
        found = []
        for source, document, _, text in _SOURCE.findall(observed):
            self.read.append(source)
            title, header = document, list[str]()
            for line in text.splitlines():
                cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
                if line.startswith("TABLE"):
                    title, header = line.partition("—")[2], []
                elif line.startswith("|") and not header:
                    header = cells
                elif line.startswith("|") and (number := _NUMBER.match(cells[-1])):
                    said = f"{title}: {header[-1]} of {cells[0]} is {number[0]}"
                    found.append(Figure(said, number[0], source))
        return found


def _reply(thought: str, name: str, /, **fields: Any) -> Reply:
    return {"thought": thought, "operation": {"name": name, **fields}}


def _hits(observed: str) -> list[Hit]:
    found = _HIT.findall(observed)
    return [Hit(document, int(start), title, int(table or start)) for document, start, title, table in found]
