"""Puts a question into words, with a set of phrasings."""

from __future__ import annotations

from pipeline.benchmarks.ledgerqa.answers import LISTS, Operation
from pipeline.benchmarks.ledgerqa.config import Kind
from pipeline.benchmarks.ledgerqa.dates import fiscal_start, month_name
from pipeline.benchmarks.ledgerqa.drafts import Draft
from pipeline.benchmarks.ledgerqa.families import Family
from pipeline.benchmarks.ledgerqa.ledger import Ledger
from pipeline.benchmarks.ledgerqa.phrasing import Phrasings
from pipeline.benchmarks.ledgerqa.reading import Cell, CrossCell, FiscalCell, MonthCell, Vintage
from pipeline.benchmarks.ledgerqa.streams import Stream

TOTAL = "Total"


def compose(ledger: Ledger, family: Family, draft: Draft, phrasings: Phrasings, stream: Stream) -> str:
    """The question's text."""
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
        months = [cell.month for cell in draft.cells if isinstance(cell, MonthCell)]
        slots["column"] = _column(family, draft.cells[0])
        slots["first"], slots["last"] = month_name(months[0]), month_name(months[-1])
        slots["count"] = str(len(months))
        figures = stream.pick(phrasings.operations["figures"]).format(**slots)
        slots["what"] = stream.pick(phrasings.operations[draft.operation]).format(list=figures)
    else:
        issues = {_issue(cell) for cell in draft.cells}
        issue = issues.pop() if len(issues) == 1 else None
        slots["where"] = phrasings.where_each
        if issue is not None:
            slots["where"] = stream.pick(phrasings.where).format(issue=ledger.calendar.name(issue))
        slots["what"] = _what(ledger, family, draft, phrasings, stream)
    text = stream.pick(phrasings.frames[draft.kind]).format(**slots)
    return text[0].upper() + text[1:]


def _issue(cell: Cell) -> int | None:
    """The issue whose report is meant, if one is."""
    if isinstance(cell, CrossCell):
        return cell.period
    return cell.when if isinstance(cell.when, int) else None


def _column(family: Family, cell: Cell) -> str:
    return TOTAL if cell.column == -1 else family.columns[cell.column].label


def _what(ledger: Ledger, family: Family, draft: Draft, phrasings: Phrasings, stream: Stream) -> str:
    """The operation over the cells' names."""
    if draft.kind is Kind.calendar:
        names = _years(family, draft, phrasings, stream)
    else:
        names = [_cell(ledger, family, cell, phrasings, stream) for cell in draft.cells]
    if draft.kind is Kind.revision:
        reports = {Vintage.first: phrasings.first_report, Vintage.last: phrasings.last_report}
        names = [
            reports[cell.when].format(cell=name) if isinstance(cell.when, Vintage) else name
            for name, cell in zip(names, draft.cells, strict=True)
        ]
    if len({_issue(cell) for cell in draft.cells}) > 1:
        names = [
            phrasings.printed_in.format(cell=name, issue=ledger.calendar.name(_issue(cell) or 0))
            for name, cell in zip(names, draft.cells, strict=True)
        ]
    template = "{a}" if draft.form == "calendar_year" else stream.pick(phrasings.operations[draft.operation])
    if draft.operation is not Operation.ranking:
        return template.format(a=names[0], b=names[-1], list=_listed(names))
    cells = [cell for cell in draft.cells if isinstance(cell, CrossCell)]
    return template.format(
        rows=_listed([phrasings.quoted.format(name=family.entities[cell.row]) for cell in cells]),
        column=_column(family, cells[0]),
        period=ledger.calendar.period(cells[0].period),
    )


def _listed(names: list[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]


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


def _years(family: Family, draft: Draft, phrasings: Phrasings, stream: Stream) -> list[str]:
    """The calendar year that the months make, if there are any, and the fiscal years."""
    months = [cell.month for cell in draft.cells if isinstance(cell, MonthCell)]
    names = []
    if months:
        template = stream.pick(phrasings.calendar_cell)
        names.append(template.format(column=_column(family, draft.cells[0]), period=months[0] // 12))
    for cell in draft.cells:
        if isinstance(cell, FiscalCell):
            start = fiscal_start(cell.year)
            names.append(
                stream.pick(phrasings.fiscal_year_cell).format(
                    column=_column(family, cell),
                    period=cell.year,
                    first=month_name(start),
                    last=month_name(start + 11),
                )
            )
    return names


def _form(draft: Draft, phrasings: Phrasings, stream: Stream) -> str:
    asked, listed = draft.asked, draft.operation in LISTS
    count = phrasings.numerals[len(draft.cells)] if listed else ""
    if draft.operation is Operation.ranking:
        return stream.pick(phrasings.list_names).format(count=count)
    if asked.unit is not None:
        word = asked.unit.word
    else:
        word = "ratio" if draft.operation is Operation.ratio else "percent"
    whole = phrasings.list_whole if listed else phrasings.whole
    rounded = phrasings.list_rounded if listed else phrasings.rounded
    decimals = phrasings.numerals[asked.decimals] if asked.decimals else ""
    form = stream.pick(rounded if decimals else whole).format(
        unit=phrasings.units[word], decimals=decimals, count=count
    )
    return f"{stream.pick(phrasings.signs)} {form}" if draft.form in ("signed", "net") else form
