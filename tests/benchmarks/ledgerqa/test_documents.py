"""The bulletins hold together, as an independent reader sees them."""

from __future__ import annotations

import calendar
import re
from collections import Counter
from fractions import Fraction
from itertools import pairwise

from tests.benchmarks.ledgerqa.conftest import Dataset
from tests.benchmarks.ledgerqa.oracle import Record, read_notes


def total(records: list[Record]) -> Fraction:
    return sum((record.dollars for record in records), Fraction(0))


def test_documents_are_named_by_their_dates(dataset: Dataset) -> None:
    for name, text in dataset.oracle.texts.items():
        found = re.fullmatch(r"ledger_(bulletin|circular)_(\d{4})_(\d{2})\.txt", name)
        assert found
        month = calendar.month_name[int(found[3])]
        assert text.startswith(f"LEDGER {found[1].upper()}\n\n{month} {found[2]}\n")


def test_a_circular_is_of_an_issues_date_and_holds_corrections_alone(dataset: Dataset) -> None:
    circulars = {name for name in dataset.oracle.texts if "circular" in name}
    assert len(circulars) > 10
    for name in circulars:
        assert name.replace("circular", "bulletin") in dataset.oracle.texts
        assert not dataset.oracle.tables[name]
        paragraphs = dataset.oracle.texts[name].strip().split("\n\n")[5:]
        assert len(read_notes(name, dataset.oracle.texts[name])) == 2 * len(paragraphs) > 0


def test_a_circular_comes_a_year_or_more_after_a_months_last_print(dataset: Dataset) -> None:
    waits = []
    for prints in dataset.oracle.prints.values():
        if len(prints) > 1 and "circular" in prints[-1].document:
            (year, month), (before, earlier) = (
                map(int, record.document[-11:-4].split("_")) for record in (prints[-1], prints[-2])
            )
            waits.append(12 * (year - before) + month - earlier)
    assert len(waits) > 10
    assert min(waits) > 12
    assert max(waits) <= 27


def test_net_repayments_stand_in_parentheses_where_the_unit_line_says_so(dataset: Dataset) -> None:
    styles = set()
    for name, tables in dataset.oracle.tables.items():
        for table in tables:
            cells = [record for row in table.rows.values() for record in row.values()]
            negative = [record for record in cells if record.dollars < 0]
            if not negative:
                continue
            at = dataset.oracle.texts[name].index(f"—{table.title}\n")
            said = dataset.oracle.texts[name][at:].split("\n")[2]
            style = "parentheses" if "figures in parentheses are net repayments" in said else "minus"
            assert style == "parentheses" or "negative figures are net repayments" in said
            assert {record.literal[0] for record in negative} == {"(" if style == "parentheses" else "-"}
            styles.add(style)
    assert styles


def test_every_row_adds_up_to_its_total(dataset: Dataset) -> None:
    checked = 0
    for tables in dataset.oracle.tables.values():
        for table in tables:
            for row in table.rows.values():
                *parts, last = row.values()
                assert total(parts) == last.dollars, (table.title, last)
                checked += 1
    assert checked > 10_000


def test_every_column_of_a_cross_table_adds_up_to_its_total(dataset: Dataset) -> None:
    checked = 0
    for tables in dataset.oracle.tables.values():
        for table in tables:
            *entities, last = table.rows
            if not last.startswith("Total"):
                continue
            for column, record in table.rows[last].items():
                assert total([table.rows[entity][column] for entity in entities]) == record.dollars
                checked += 1
    assert checked > 1_000


def test_a_fiscal_year_is_the_sum_of_its_twelve_months(dataset: Dataset) -> None:
    checked = 0
    for tables in dataset.oracle.tables.values():
        for table in tables:
            months = [row for row in table.rows if not row.startswith("fiscal") and "," not in row]
            if len(months) != 12 or not months[0].startswith("October"):
                continue
            year = months[-1].split()[1]
            for column, record in table.rows[f"fiscal {year}"].items():
                assert total([table.rows[month][column] for month in months]) == record.dollars
                checked += 1
    assert checked > 100


def test_a_figure_changes_exactly_where_it_is_marked_or_corrected(dataset: Dataset) -> None:
    marked = noted = units = 0
    for prints in dataset.oracle.prints.values():
        for before, after in pairwise(prints):
            if after.note:
                assert before.dollars == after.old != after.dollars
                noted += 1
            else:
                assert after.revised == (before.dollars != after.dollars), (before, after)
                marked += after.revised
            units += before.unit != after.unit
    assert marked > 100
    assert noted > 20
    assert units > 100


def test_a_month_leaves_the_tables_before_a_note_corrects_it(dataset: Dataset) -> None:
    for name, text in dataset.oracle.texts.items():
        for note in read_notes(name, text):
            assert dataset.oracle.prints[note.key][-1] == note


def test_titles_are_unique_but_for_the_basis_within_a_group(dataset: Dataset) -> None:
    for name, tables in dataset.oracle.tables.items():
        if not tables:
            continue
        titles = [table.title for table in tables if not table.restated]
        assert len(set(titles)) == len(titles), name
        groups = Counter(title.rpartition(", ")[0] for title in titles)
        assert set(groups.values()) <= {1, 2, 3}
        assert max(groups.values()) == 1 + dataset.config.distractors


def test_distractors_print_other_figures(dataset: Dataset) -> None:
    name = next(name for name, tables in dataset.oracle.tables.items() if tables)
    tables = {table.title: table for table in dataset.oracle.tables[name] if not table.restated}
    cash = next(title for title in tables if title.endswith(", Cash Basis"))
    accrual = tables[cash.replace(", Cash Basis", ", Accrual Basis")]
    assert accrual.rows.keys() == tables[cash].rows.keys()
    for row, cells in accrual.rows.items():
        assert [r.dollars for r in cells.values()] != [r.dollars for r in tables[cash].rows[row].values()]
