"""Puts a question into words, with a set of phrasings."""

from __future__ import annotations

from pipeline.benchmarks.ledgerqa.answers import Operation
from pipeline.benchmarks.ledgerqa.config import Kind
from pipeline.benchmarks.ledgerqa.dates import month_name
from pipeline.benchmarks.ledgerqa.drafts import Draft
from pipeline.benchmarks.ledgerqa.families import Family
from pipeline.benchmarks.ledgerqa.ledger import Ledger
from pipeline.benchmarks.ledgerqa.phrasing import Phrasings
from pipeline.benchmarks.ledgerqa.reading import Cell, CrossCell, FiscalCell, MonthCell, Vintage
from pipeline.benchmarks.ledgerqa.streams import Stream

TOTAL = "Total"


def compose(ledger: Ledger, family: Family, draft: Draft, phrasings: Phrasings, stream: Stream) -> str:
    """The question's text."""
    cells = draft.cells
    each = draft.kind is Kind.arithmetic and len({_issue(cell) for cell in cells}) > 1
    slots = {
        "table": stream.pick(phrasings.table).format(
            code=family.code,
            title=family.title,
            concept=family.concept.name.lower(),
            topic=family.topic,
            by=family.concept.by.lower(),
            basis=family.basis.said,
        ),
        "form": _form(draft, phrasings, stream),
    }
    if draft.kind is Kind.series:
        months = [cell.month for cell in cells if isinstance(cell, MonthCell)]
        slots["column"] = _column(family, cells[0])
        slots["first"], slots["last"] = month_name(months[0]), month_name(months[-1])
        slots["count"] = str(len(months))
        figures = stream.pick(phrasings.operations["figures"]).format(**slots)
        slots["what"] = stream.pick(phrasings.operations[draft.operation]).format(list=figures)
    else:
        slots["what"] = _what(ledger, family, draft, phrasings, stream, each)
        slots["where"] = phrasings.where_each
        issue = _issue(cells[0])
        if issue is not None and not each:
            slots["where"] = stream.pick(phrasings.where).format(issue=ledger.calendar.name(issue))
    text = stream.pick(phrasings.frames[draft.kind]).format(**slots)
    return text[0].upper() + text[1:]


def _issue(cell: Cell) -> int | None:
    """The issue whose report is meant, if one is."""
    match cell:
        case CrossCell():
            return cell.period
        case _:
            return cell.when if isinstance(cell.when, int) else None


def _column(family: Family, cell: Cell) -> str:
    return TOTAL if cell.column == -1 else family.columns[cell.column].label


def _what(
    ledger: Ledger, family: Family, draft: Draft, phrasings: Phrasings, stream: Stream, each: bool
) -> str:
    """The operation over the cells' names; `each` with the issue that prints it."""
    cells = draft.cells
    names = [_cell(ledger, family, cell, phrasings, stream) for cell in cells]
    if draft.kind is Kind.revision:
        reports = {Vintage.first: phrasings.first_report, Vintage.last: phrasings.last_report}
        names = [
            reports[cell.when].format(cell=name) if isinstance(cell.when, Vintage) else name
            for name, cell in zip(names, cells, strict=True)
        ]
    if each:
        names = [
            phrasings.printed_in.format(cell=name, issue=ledger.calendar.name(_issue(cell) or 0))
            for name, cell in zip(names, cells, strict=True)
        ]
    listed = f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
    template = stream.pick(phrasings.operations[draft.operation])
    return template.format(a=names[0], b=names[-1], list=listed)


def _cell(ledger: Ledger, family: Family, cell: Cell, phrasings: Phrasings, stream: Stream) -> str:
    column = _column(family, cell)
    match cell:
        case MonthCell():
            return stream.pick(phrasings.month_cell).format(column=column, period=month_name(cell.month))
        case FiscalCell():
            return stream.pick(phrasings.fiscal_cell).format(column=column, period=cell.year)
        case CrossCell():
            return stream.pick(phrasings.cross_cell).format(
                column=column, row=family.entities[cell.row], period=ledger.calendar.period(cell.period)
            )


def _form(draft: Draft, phrasings: Phrasings, stream: Stream) -> str:
    asked = draft.asked
    if asked.unit is not None:
        word = asked.unit.word
    else:
        word = "ratio" if draft.operation is Operation.ratio else "percent"
    unit = phrasings.units[word]
    if asked.decimals == 0:
        return stream.pick(phrasings.whole).format(unit=unit)
    return stream.pick(phrasings.rounded).format(unit=unit, decimals=phrasings.numerals[asked.decimals])
