"""Every gold is right, by the documents alone, and no other answer is."""

from __future__ import annotations

import calendar
import json
import re
import statistics
from collections import Counter, defaultdict
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from pipeline.benchmarks.ledgerqa import answer_format, facts
from pipeline.benchmarks.ledgerqa.answers import Operation
from pipeline.benchmarks.ledgerqa.phrasings_apart import APART
from pipeline.benchmarks.ledgerqa.phrasings_built import BUILT
from pipeline.benchmarks.scorers import officeqa
from pipeline.benchmarks.tasks import Gold
from pipeline.harness.answers import check
from tests.benchmarks.ledgerqa.conftest import Dataset
from tests.benchmarks.ledgerqa.oracle import DOLLARS, Key, Record, amount, evaluate

LATEST = ("series", "revision", "calendar")
KINDS = ("single", "arithmetic", "series", "revision", "unit", "calendar", "list")


def gold_records(dataset: Dataset, gold: dict[str, Any]) -> list[Record]:
    return [dataset.oracle.at[span["document"], span["start"]] for span in gold["spans"]]


def cases(dataset: Dataset) -> list[tuple[dict[str, Any], dict[str, Any], list[Record]]]:
    return [
        (q, dataset.golds[q["id"]], gold_records(dataset, dataset.golds[q["id"]])) for q in dataset.questions
    ]


def agrees(value: float, answer: str) -> bool:
    """Whether an answer is the value at its own rounding."""
    decimals = len(answer.partition(".")[2])
    return abs(value - float(answer)) <= 0.5 * 10**-decimals + 1e-9 * abs(value)


def test_spans_quote_what_stands_there(dataset: Dataset) -> None:
    for gold in dataset.golds.values():
        others = [span for spans in gold["alternates"] for span in spans]
        for span in [*gold["spans"], *others, *gold["stale_spans"]]:
            text = dataset.oracle.texts[span["document"]]
            assert text[span["start"] : span["end"]] == span["quote"]
            number = r"\d{1,3}(,\d{3})*(\.\d+)?|\d+(\.\d+)?"
            assert re.fullmatch(rf"-?({number})|\(({number})\)", span["quote"])


def test_operands_are_the_spans_in_the_units_of_their_tables(dataset: Dataset) -> None:
    for _, gold, records in cases(dataset):
        assert len(records) == len(gold["operands"])
        for operand, record in zip(gold["operands"], records, strict=True):
            assert amount(operand["literal"], operand["unit"]) == record.dollars
            assert operand["unit"] == record.unit


def test_expressions_recompute_to_the_gold_with_pythons_statistics(dataset: Dataset) -> None:
    for question, gold, _ in cases(dataset):
        values = evaluate(gold["expression"])
        if question["operation"] == "ranking":
            assert values == sorted(values, reverse=True)
            assert len(values) == len(items(gold["answer"]))
            continue
        assert len(values) == len(items(gold["answer"]))
        assert all(map(agrees, values, items(gold["answer"]))), question["id"]


def test_stale_expressions_recompute_to_the_stale_answer(dataset: Dataset) -> None:
    checked = 0
    for gold in dataset.golds.values():
        assert (gold["stale_expression"] is None) == (gold["stale_answer"] is None)
        if gold["stale_expression"] is not None:
            assert agrees(evaluate(gold["stale_expression"])[0], gold["stale_answer"])
            checked += 1
    assert checked > 40


def items(answer: str) -> list[str]:
    """A list's items, or the answer."""
    return answer[1:-1].split(", ") if answer.startswith("[") else [answer]


def recompute(operation: str, dollars: list[Fraction]) -> float:
    """The answer in dollars (a percentage or ratio as it is) from exact amounts."""
    values = [float(value) for value in dollars]
    match operation:
        case "value":
            return values[0]
        case "absolute":
            return abs(values[0])
        case "excess":
            return float(sum(dollars[:12]) - dollars[12])
        case "trend":
            slope, _ = np.polyfit(np.arange(len(values)), np.array(values), 1)
            return float(slope)
        case "difference":
            return float(dollars[0] - dollars[1])
        case "percent_change":
            return float((dollars[1] / dollars[0] - 1) * 100)
        case "share":
            return float(dollars[0] / dollars[1] * 100)
        case "ratio":
            return float(dollars[0] / dollars[1])
        case "sum":
            return float(sum(dollars))
        case "mean":
            return float(sum(dollars) / len(dollars))
        case "geometric_mean":
            return statistics.geometric_mean(values)
        case "sample_deviation":
            return statistics.stdev(values)
        case "population_deviation":
            return statistics.pstdev(values)
    raise AssertionError(operation)


def test_answers_follow_from_the_amounts_in_the_documents_alone(dataset: Dataset) -> None:
    """Without the expression or the operands: from what the spans' tables print, in the unit asked for."""
    for question, gold, records in cases(dataset):
        unit = (answer_format(question["question"]).unit or "").removesuffix("s of dollars")
        dollars = [record.dollars for record in records]
        if question["kind"] != "list":
            value = recompute(question["operation"], dollars)
            assert agrees(value / DOLLARS.get(unit, 1), gold["answer"]), question
            continue
        if question["operation"] != "list":
            assert len(set(dollars)) == len(dollars)
            records = sorted(records, key=lambda record: -record.dollars)
        if question["operation"] == "ranking":
            assert items(gold["answer"]) == [record.key.row.split(", ")[0] for record in records]
            continue
        for record, item in zip(records, items(gold["answer"]), strict=True):
            assert agrees(float(record.dollars / DOLLARS[unit]), item)


def test_a_revision_changes_a_figure_by_less_than_a_tenth(dataset: Dataset) -> None:
    for question, gold, _ in cases(dataset):
        if question["kind"] == "revision" and question["operation"] == "percent_change":
            assert 0 < abs(float(gold["answer"])) < 10


def test_the_question_names_the_table_column_and_period_of_its_evidence(dataset: Dataset) -> None:
    for question, _, records in cases(dataset):
        text = question["question"]
        for record in (records[0], records[-1]):
            title = record.key.title
            names, basis = title.rpartition(", ")[::2]
            concept, rest = names.split(" of the ", 1)
            topic, by = rest.split(" by ")
            if question["phrasing"] == "built":
                assert f'"{title}"' in text
                assert f'"{record.key.column}"' in text
            else:
                spoken = (
                    basis.lower().replace("daily statement", "daily-statement").replace(" basis", "-basis")
                )
                assert {True} == {part in text for part in (spoken, concept.lower(), topic, by.lower())}
                assert '"' not in text
                assert record.key.column in text
            said = text.lower().replace("fiscal year", "fiscal")
            parts = record.key.row.split(", ")
            if question["kind"] == "calendar":
                year = parts[0].split()[1]
                ended = f"fiscal ended september {year}"
                parts = [f"fiscal {year}" if ended not in said else ended]
                if not record.key.row.startswith("fiscal"):
                    parts = [f"calendar year {year}"] if "calendar" in said else [year, "january", "december"]
            for part in parts:
                assert part.lower() in said, (question, record)


def test_pinned_questions_name_the_issue_they_are_asked_of(dataset: Dataset) -> None:
    for question, _, records in cases(dataset):
        if question["kind"] in LATEST:
            continue
        for record in records:
            date = dataset.oracle.texts[record.document].split("\n")[2]
            assert date in question["question"]
            assert dataset.oracle.printed(record.key, record.document).dollars == record.dollars


def test_unpinned_questions_are_answered_by_the_latest_report(dataset: Dataset) -> None:
    for question, gold, records in cases(dataset):
        if question["kind"] not in LATEST:
            continue
        keys = {record.key for record in records}
        for key in keys:
            assert dataset.oracle.latest(key).dollars in {r.dollars for r in records if r.key == key}
        if question["kind"] == "revision" and question["operation"] in ("difference", "percent_change"):
            assert len(keys) == 1
            firsts = dataset.oracle.prints[next(iter(keys))][0]
            assert firsts.dollars in {record.dollars for record in records}
        for span in gold["stale_spans"]:
            stale = dataset.oracle.at[span["document"], span["start"]]
            assert stale.key in keys
            assert stale.dollars != dataset.oracle.latest(stale.key).dollars


def test_stale_spans_are_all_the_outdated_prints(dataset: Dataset) -> None:
    for question, gold, records in cases(dataset):
        if question["kind"] not in LATEST:
            continue
        used = {(record.document, record.start) for record in records}
        used |= {(span["document"], span["start"]) for spans in gold["alternates"] for span in spans}
        outdated = {
            (old.document, old.start)
            for key in {record.key for record in records}
            for old in dataset.oracle.prints[key]
            if old.dollars != dataset.oracle.latest(key).dollars
        }
        assert {(span["document"], span["start"]) for span in gold["stale_spans"]} == outdated - used


def test_alternates_print_the_same_figure(dataset: Dataset) -> None:
    for _, gold, records in cases(dataset):
        for record, spans in zip(records, gold["alternates"], strict=True):
            for span in spans:
                other = dataset.oracle.at[span["document"], span["start"]]
                assert (other.key, other.dollars) == (record.key, record.dollars)
                assert (other.document, other.start) != (record.document, record.start)


def test_stale_answers_differ_from_gold(dataset: Dataset) -> None:
    stale = [gold for gold in dataset.golds.values() if gold["stale_answer"] is not None]
    assert len(stale) > 40
    for gold in stale:
        assert gold["stale_spans"]
        assert gold["stale_answer"] != gold["answer"]


def test_every_revision_of_one_figure_has_an_outdated_print(dataset: Dataset) -> None:
    for question, gold, _ in cases(dataset):
        if question["kind"] == "revision" and question["operation"] == "value":
            assert gold["stale_spans"]
            assert gold["stale_answer"] is not None


def test_distractors_give_another_answer(dataset: Dataset) -> None:
    checked = 0
    titles: dict[str, set[str]] = defaultdict(set)
    for key in dataset.oracle.prints:
        titles[key.title.rpartition(", ")[0]].add(key.title)
    for question, gold, records in cases(dataset):
        names = records[0].key.title.rpartition(", ")[0]
        for title in titles[names] - {records[0].key.title}:
            others = []
            for record in records:
                key = Key(title, record.key.row, record.key.column)
                latest = question["kind"] in LATEST
                other = dataset.oracle.latest(key) if latest else dataset.oracle.printed(key, record.document)
                others.append(other.literal.replace(",", ""))
            if question["operation"] == "value":
                assert others[0] != gold["operands"][0]["literal"]
            assert others != [operand["literal"] for operand in gold["operands"]]
            checked += 1
    assert checked > 100


def test_series_need_several_issues(dataset: Dataset) -> None:
    lengths = []
    for question, gold, records in cases(dataset):
        if question["kind"] == "series":
            assert len(gold["documents"]) > 1
            assert len({record.key.row for record in records}) == question["operands"]
            lengths.append(question["operands"])
    assert min(lengths) >= 24
    assert 80 < max(lengths) <= 120


def test_a_calendar_year_is_twelve_months_that_no_fiscal_year_has(dataset: Dataset) -> None:
    forms = Counter[str]()
    for question, _, records in cases(dataset):
        if question["kind"] != "calendar":
            continue
        forms[question["form"]] += 1
        fiscal = [record for record in records if record.key.row.startswith("fiscal")]
        months = [record.key.row for record in records if record not in fiscal]
        assert len(fiscal) == {"calendar_year": 0, "excess": 1}.get(question["form"], len(records))
        if months:
            year = months[0].split()[1]
            assert months == [f"{month} {year}" for month in calendar.month_name[1:]]
            trap = dataset.oracle.prints.get(
                Key(records[0].key.title, f"fiscal {year}", records[0].key.column)
            )
            total = sum((record.dollars for record in records[:12]), Fraction(0))
            assert not trap or total not in {record.dollars for record in trap}
    assert min(forms[form] for form in ("calendar_year", "fiscal_year", "excess")) >= 14


def test_units_and_signs_are_traps(dataset: Dataset) -> None:
    """What the table prints, taken as it stands there, is another answer."""
    forms = Counter[str]()
    for question, gold, records in cases(dataset):
        if question["kind"] != "unit":
            continue
        forms[question["form"]] += 1
        asked = answer_format(question["question"]).unit
        units = {f"{record.unit}s of dollars" for record in records}
        below = [record.dollars < 0 for record in records]
        match question["form"]:
            case "converted":
                assert asked not in units
            case "across_units":
                assert len(units) == 2
            case "absolute":
                assert below == [True]
                assert not gold["answer"].startswith("-")
            case "signed":
                assert below == [True]
                assert gold["answer"].startswith("-")
            case "net":
                assert True in below
                assert False in below
    assert min(forms[f] for f in ("converted", "across_units", "absolute", "signed", "net")) >= 8


def test_facts_say_operand_by_operand_what_stands_where(dataset: Dataset) -> None:
    known = facts(dataset.folder)
    assert list(known) == [question["id"] for question in dataset.questions]
    replaced = 0
    for question, gold, records in cases(dataset):
        fact = known[question["id"]]
        assert (fact.kind, fact.form, fact.operation, fact.answer, fact.expression) == (
            *(question[name] for name in ("kind", "form", "operation")),
            gold["answer"],
            gold["expression"],
        )
        form = answer_format(question["question"])
        assert (f"{fact.unit}s of dollars" if fact.unit else None) == (
            form.unit if form.unit != "percent" else None
        )
        assert form.decimals == (fact.decimals if question["operation"] != "ranking" else None)
        old = set()
        for operand, record in zip(fact.operands, records, strict=True):
            assert (operand.span.document, operand.span.start) == (record.document, record.start)
            assert amount(operand.literal, operand.unit) == record.dollars
            if operand.stale is not None:
                found = [dataset.oracle.at[span.document, span.start] for span in operand.stale.spans]
                assert {stale.key for stale in found} == {record.key}
                assert (
                    found[-1].dollars == amount(operand.stale.literal, operand.stale.unit) != record.dollars
                )
                old |= {(span.document, span.start) for span in operand.stale.spans}
                replaced += 1
        assert old == {(span["document"], span["start"]) for span in gold["stale_spans"]}
    assert replaced > 40


def test_late_corrections_stand_in_another_document_than_any_table(dataset: Dataset) -> None:
    checked = Counter[str]()
    for question, gold, records in cases(dataset):
        if question["form"] in ("errata", "late"):
            note = next(record for record in records if record.note)
            stale = {span["document"] for span in gold["stale_spans"]}
            printed = {record.document for record in dataset.oracle.prints[note.key] if not record.note}
            assert note.document not in stale | printed
            assert ("circular" in note.document) == (question["form"] == "late")
            checked[question["form"]] += 1
    assert min(checked["errata"], checked["late"]) >= 8


def test_kinds_forms_and_phrasings_are_balanced(dataset: Dataset) -> None:
    kinds = Counter(question["kind"] for question in dataset.questions)
    assert kinds == dict.fromkeys(KINDS, 50)
    phrasings = Counter((question["kind"], question["phrasing"]) for question in dataset.questions)
    assert set(phrasings.values()) == {25}
    forms = Counter(question["form"] for question in dataset.questions if question["kind"] == "revision")
    assert min(forms[form] for form in ("revised", "errata", "restated", "late")) >= 10
    operations = Counter(question["operation"] for question in dataset.questions)
    assert set(operations) == {operation.value for operation in Operation}
    assert operations["trend"] >= 8


def test_questions_are_unique(dataset: Dataset) -> None:
    assert len({question["question"] for question in dataset.questions}) == len(dataset.questions)
    assert len({question["id"] for question in dataset.questions}) == len(dataset.questions)


def test_the_question_file_holds_no_gold(dataset: Dataset) -> None:
    allowed = {"id", "question", "kind", "form", "operation", "operands", "phrasing"}
    for question in dataset.questions:
        assert set(question) == allowed
        answer = dataset.golds[question["id"]]["answer"]
        if len(answer) > 4:
            assert not re.search(rf"(?<![\d.,]){re.escape(answer)}(?![\d.,])", json.dumps(question))


def test_formats_in_the_question_fit_the_gold(dataset: Dataset) -> None:
    for question, gold, _ in cases(dataset):
        form = answer_format(question["question"])
        answers = items(gold["answer"])
        assert form.form == ("list" if question["kind"] == "list" else "number")
        assert form.length == (len(answers) if question["kind"] == "list" else None)
        money = question["operation"] not in ("percent_change", "share", "ratio", "ranking")
        assert (form.unit or "").endswith("of dollars") == money
        assert (form.unit is None) == (question["operation"] in ("ratio", "ranking"))
        if question["operation"] != "ranking":
            assert {form.decimals} == {len(answer.partition(".")[2]) for answer in answers}
        check(form, gold["answer"])


@pytest.mark.parametrize("phrasings", [BUILT, APART])
def test_each_kind_has_six_phrasings_a_set(phrasings: Any) -> None:
    for kind in KINDS:
        assert len(set(phrasings.frames[kind])) >= 6


def test_the_two_sets_of_phrasings_share_no_wording() -> None:
    def words(frames: Any) -> set[str]:
        slotless = [re.sub(r"\{\w+\}", "", frame) for kind in frames.values() for frame in kind]
        parts = [re.findall(r"[a-z]+", text.lower()) for text in slotless]
        return {" ".join(part[at : at + 4]) for part in parts for at in range(len(part) - 3)}

    assert not words(BUILT.frames) & words(APART.frames)


def test_the_official_scorer_takes_golds_and_refuses_stale_answers(dataset: Dataset) -> None:
    for gold in dataset.golds.values():
        exact = {m.metric: m.value for m in officeqa.score(Gold(gold["answer"]), gold["answer"])}
        assert set(exact.values()) == {1.0}, gold["id"]
        if gold["stale_answer"] is not None:
            metrics = officeqa.score(Gold(gold["answer"]), gold["stale_answer"])
            assert next(m.value for m in metrics if m.metric == "exact") == 0.0, gold["id"]
