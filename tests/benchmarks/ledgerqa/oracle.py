"""Reads figures off rendered bulletins by the documented conventions alone, without the generator."""

from __future__ import annotations

import re
import statistics
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

DOLLARS = {"thousand": 1_000, "million": 1_000_000}
TITLE = re.compile(r"^TABLE ([A-Z]+-\d+)\.—(.+?)(, Restated)?$")
NOTE = re.compile(r'Table ([A-Z]+-\d+), "([^"]+)"')
FIGURE = r"(?:-?\d[\d,]*(?:\.\d+)?|\(\d[\d,]*(?:\.\d+)?\))"
CORRECTIONS = (
    re.compile(
        r'the figure for "(?P<label>[^"]+)" in (?P<month>\w+ \d+) was misprinted .*? should read '
        rf"(?P<new>{FIGURE}) (?P<unit>\w+) dollars instead of (?P<old>{FIGURE}); .* should accordingly read "
        rf"(?P<total>{FIGURE}) instead of (?P<old_total>{FIGURE})\."
    ),
    re.compile(
        rf'for (?P<month>\w+ \d+), the amount shown under "(?P<label>[^"]+)" as (?P<old>{FIGURE}) is '
        rf"corrected to (?P<new>{FIGURE}) (?P<unit>\w+) dollars, and the total for the month from "
        rf"(?P<old_total>{FIGURE}) to (?P<total>{FIGURE})\."
    ),
    re.compile(
        rf'under "(?P<label>[^"]+)", (?P<month>\w+ \d+), for (?P<old>{FIGURE}) read (?P<new>{FIGURE}) '
        rf"\((?P<unit>\w+) dollars\); the total for the month, given as (?P<old_total>{FIGURE}), becomes "
        rf"(?P<total>{FIGURE})\."
    ),
    re.compile(
        rf"(?P<new>{FIGURE}) (?P<unit>\w+) dollars takes the place of (?P<old>{FIGURE}) as the amount of "
        rf'"(?P<label>[^"]+)" for (?P<month>\w+ \d+), and (?P<total>{FIGURE}) that of '
        rf"(?P<old_total>{FIGURE}) as the total\."
    ),
)


@dataclass(frozen=True)
class Key:
    """What a figure is of."""

    title: str
    row: str
    column: str


@dataclass(frozen=True)
class Record:
    """One print of a figure. `dollars` is its exact amount."""

    key: Key
    document: str
    start: int
    literal: str
    unit: str
    revised: bool
    note: bool
    old: Fraction | None = None

    @property
    def dollars(self) -> Fraction:
        return amount(self.literal, self.unit)


@dataclass(frozen=True)
class Table:
    title: str
    restated: bool
    rows: dict[str, dict[str, Record]]


def amount(literal: str, unit: str) -> Fraction:
    negative = literal.startswith("(")
    return Fraction(literal.strip("()").replace(",", "")) * DOLLARS[unit] * (-1 if negative else 1)


def read_tables(document: str, text: str) -> list[Table]:
    """Every table of a document; months carry their year, cross rows their period."""
    tables = []
    lines, offset = text.split("\n"), 0
    starts = []
    for line in lines:
        starts.append(offset)
        offset += len(line) + 1
    for at, line in enumerate(lines):
        found = TITLE.match(line)
        if not found:
            continue
        unit_line = lines[at + 2]
        unit = re.search(r"\b(thousand|million)s of dollars", unit_line)[1]
        period = re.match(r"\(((?:Quarter ended|Month of) \w+ \d+);", unit_line)
        header = [
            cell.split(" > ")[-1].removesuffix(" 1/") for cell in lines[at + 4].strip("| ").split(" | ")
        ]
        rows: dict[str, dict[str, Record]] = {}
        year, row_at = "", at + 6
        while lines[row_at].startswith("|"):
            cells = lines[row_at].split(" | ")
            label = cells[0].removeprefix("| ")
            if period:
                row = f"{label}, {period[1]}"
            elif label.isdigit():
                row = f"fiscal {label}"
            else:
                year, _, month = label.rpartition("-") if "-" in label else (year, "", label)
                row = f"{month} {year}"
                year = str(int(year) + 1) if month == "December" else year
            place = starts[row_at] + len(cells[0]) + 3
            rows[row] = {}
            for name, cell in zip(header[1:], cells[1:], strict=True):
                literal = cell.removesuffix(" |")
                revised = literal.endswith(" r")
                key = Key(found[2], row, name)
                rows[row][name] = Record(
                    key, document, place, literal.removesuffix(" r"), unit, revised, note=False
                )
                place += len(cell) + 3
            row_at += 1
        tables.append(Table(found[2], bool(found[3]), rows))
    return tables


def read_notes(document: str, text: str) -> list[Record]:
    """The corrected figures and totals of a document's errata notes, or of a circular."""
    if not (text.startswith("LEDGER CIRCULAR\n") or "\nErrata and Corrections\n" in text):
        return []
    records = []
    start = text.find("\nErrata and Corrections\n") + 1
    for block in re.finditer(r"[^\n]+", text[start:]):
        about = NOTE.search(block[0])
        if not about:
            continue
        found = next(match for pattern in CORRECTIONS if (match := pattern.search(block[0])))
        for group, old, label in (("new", "old", found["label"]), ("total", "old_total", "Total")):
            place = start + block.start() + found.start(group)
            key = Key(about[2], found["month"], label)
            was = amount(found[old], found["unit"])
            records.append(Record(key, document, place, found[group], found["unit"], False, True, was))
    return records


class Oracle:
    """All prints of all figures of a folder, in the order of their dates."""

    def __init__(self, folder: Path) -> None:
        paths = sorted(folder.iterdir(), key=lambda path: (path.stem[-7:], path.name))
        self.texts = {path.name: path.read_text("utf-8") for path in paths}
        self.tables = {name: read_tables(name, text) for name, text in self.texts.items()}
        self.at: dict[tuple[str, int], Record] = {}
        self.prints: dict[Key, list[Record]] = {}
        for name, text in self.texts.items():
            cells = [r for t in self.tables[name] for row in t.rows.values() for r in row.values()]
            for record in [*cells, *read_notes(name, text)]:
                self.at[name, record.start] = record
                self.prints.setdefault(record.key, []).append(record)

    def latest(self, key: Key) -> Record:
        return self.prints[key][-1]

    def printed(self, key: Key, document: str) -> Record:
        return next(record for record in self.prints[key] if record.document == document)


def evaluate(expression: str) -> list[float]:
    """The expression, or each of a list, by Python's own statistics."""
    names = {
        "sum": sum,
        "mean": statistics.fmean,
        "geomean": statistics.geometric_mean,
        "stdev": statistics.stdev,
        "pstdev": statistics.pstdev,
        "abs": abs,
        "slope": lambda xs, ys: statistics.linear_regression(xs, ys).slope,
        "percent_change": lambda old, new: (new - old) / old * 100,
    }
    found = eval(expression, {"__builtins__": {}}, names)
    return [float(value) for value in (found if isinstance(found, list) else [found])]
