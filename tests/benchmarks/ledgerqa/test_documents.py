"""The bulletins hold together, as an independent reader sees them."""

from __future__ import annotations

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
        date = re.fullmatch(r"ledger_bulletin_(\d{4})_(\d{2})\.txt", name)
        assert date
        assert re.match(rf"LEDGER BULLETIN\n\n\w+ {date[1]}\n", text)


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
        titles = [table.title for table in tables if not table.restated]
        assert len(set(titles)) == len(titles), name
        groups = Counter(title.rpartition(", ")[0] for title in titles)
        assert set(groups.values()) <= {1, 2, 3}
        assert max(groups.values()) == 1 + dataset.config.distractors


def test_distractors_print_other_figures(dataset: Dataset) -> None:
    name = next(iter(dataset.oracle.tables))
    tables = {table.title: table for table in dataset.oracle.tables[name] if not table.restated}
    cash = next(title for title in tables if title.endswith(", Cash Basis"))
    accrual = tables[cash.replace(", Cash Basis", ", Accrual Basis")]
    assert accrual.rows.keys() == tables[cash].rows.keys()
    for row, cells in accrual.rows.items():
        assert [r.dollars for r in cells.values()] != [r.dollars for r in tables[cash].rows[row].values()]
