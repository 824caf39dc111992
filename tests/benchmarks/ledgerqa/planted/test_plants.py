"""A plant is what it claims: judged by the scorer, the documents and the calculator, not by its maker."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from pipeline.benchmarks.ledgerqa.planted import Fault, Skipped, trajectory
from pipeline.benchmarks.ledgerqa.planted.figures import overlap
from pipeline.benchmarks.ledgerqa.planted.questions import formula
from pipeline.benchmarks.ledgerqa.planted.steps import (
    Answer,
    Compute,
    Note,
    Range,
    Read,
    Revise,
    Search,
    Statement,
)
from pipeline.benchmarks.ledgerqa.streams import Stream
from pipeline.benchmarks.scorers.officeqa import score_answer
from pipeline.calculator import evaluate
from tests.benchmarks.ledgerqa.planted.conftest import Bed, Planted

TOLERANCES = (0.0, 0.001, 0.01, 0.05)
TELLTALE = re.compile(
    r"\b(wrong|plant|planted|fault|faulty|stale|outdated|distractor|mistake|error|incorrect|gold|unread|judge|"
    r"should have been|instead of)\b",
    re.IGNORECASE,
)


def statements(each: Planted) -> list[Statement]:
    found: list[Statement] = []
    for step in each.trajectory.steps:
        if isinstance(step.act, Note):
            found += step.act.statements
        elif isinstance(step.act, Revise):
            found.append(step.act.new)
    return found


def said(each: Planted) -> list[str]:
    """All that an agent says of its own; queries are the documents' titles."""
    beliefs = [step.belief for step in each.trajectory.steps if step.belief]
    return [
        *(step.thought for step in each.trajectory.steps),
        *(statement.text for statement in statements(each)),
        *(claim for belief in beliefs for claim, _ in belief.established),
        *(gap for belief in beliefs for gap in belief.unresolved),
    ]


def test_every_fault_is_planted_in_every_kind_of_question_that_can_have_it(bed: Bed) -> None:
    kinds = {task.view.id: task.fields["kind"] for task in bed.benchmark.tasks}
    found = Counter((each.plant.fault, kinds[each.plant.question.id]) for each in bed.planted)
    every = set(kinds.values())
    assert {kind for fault, kind in found if fault is Fault.right} == every
    assert {kind for fault, kind in found if fault is Fault.unread} == every
    assert {kind for fault, kind in found if fault is Fault.form} == every
    assert {"arithmetic", "series", "calendar", "list", "unit"} <= {
        kind for fault, kind in found if fault is Fault.arithmetic
    }
    assert found[Fault.stale, "revision"] > 0


def test_what_is_not_planted_is_skipped_with_a_reason(bed: Bed) -> None:
    asked = len(bed.questions) * len(Fault)
    assert len(bed.planted) + len(bed.skipped) == asked
    assert all(skipped.reason for skipped in bed.skipped)
    assert not [skipped for skipped in bed.skipped if skipped.fault is Fault.right]


def test_a_right_answer_scores_and_any_other_scores_nothing_at_every_tolerance(bed: Bed) -> None:
    for each in bed.planted:
        gold, answer = each.plant.question.answer, each.trajectory.answer.text
        expected = 1.0 if each.plant.fault is Fault.right else 0.0
        assert {score_answer(gold, answer, tolerance) for tolerance in TOLERANCES} == {expected}, each.plant


def test_the_evidence_was_read_unless_the_fault_is_that_it_was_not(bed: Bed) -> None:
    for each in bed.planted:
        read = each.trajectory.read
        shown = [
            any(overlap(where, span) for where in read for span in (operand.span, *operand.alternates))
            for operand in each.plant.question.facts.operands
        ]
        assert (all(shown), any(shown)) == ((False, False) if not each.plant.truth.e1 else (True, True))


def test_no_search_shows_the_evidence_that_was_never_read(bed: Bed) -> None:
    for each in bed.of(Fault.unread):
        spans = list(each.plant.question.gold_spans())
        for step in each.trajectory.steps:
            if not isinstance(step.act, Search):
                continue
            search = step.act
            result = bed.tables.corpus.search(search.query, documents=search.documents, top_k=search.top_k)
            for hit in result.hits:
                place = Range(hit.document, hit.start, hit.end)
                assert not any(overlap(place, span) and span.quote in hit.snippet for span in spans)


def test_the_figures_used_are_printed_where_they_are_said_to_be(bed: Bed) -> None:
    for each in bed.planted:
        for figure in (*each.plant.figures, *each.plant.besides):
            span = figure.span
            assert bed.tables.text(Range(span.document, span.start, span.end)) == figure.quote
            assert overlap(figure.where, span)
        for statement in statements(each):
            assert set(statement.ranges) <= each.trajectory.read
        used = "".join(statement.text for statement in statements(each))
        assert all(figure.quote in used for figure in each.plant.figures)


def test_a_stale_episode_uses_what_a_revision_replaced_though_the_new_figure_was_read(bed: Bed) -> None:
    for each in bed.of(Fault.stale):
        question = each.plant.question
        stale = {(span.document, span.start) for span in question.task.gold.stale_spans}
        used = [(figure.span.document, figure.span.start) in stale for figure in each.plant.figures]
        assert any(used)
        assert each.plant.answer == question.facts.stale_answer
        rests = each.trajectory.answer.statements
        kept = [statements(each)[number].text for number in rests]
        for figure, old in zip(each.plant.figures, used, strict=True):
            assert any(figure.quote in text for text in kept)
            assert old == (
                figure.literal != question.facts.operands[each.plant.figures.index(figure)].literal
            )


def test_in_arithmetic_the_operands_are_right_and_the_computation_is_not(bed: Bed) -> None:
    for each in bed.of(Fault.arithmetic):
        question = each.plant.question
        literals = [figure.literal for figure in each.plant.figures]
        assert literals == [operand.literal for operand in question.facts.operands]
        if each.plant.expression is not None:
            value = float(evaluate(each.plant.expression).value)
            assert float(each.plant.answer) == pytest.approx(
                value, abs=0.51 if "." not in question.answer else 1
            )
            assert value != pytest.approx(float(evaluate(question.facts.expression).value), rel=0.04)


def test_in_form_the_value_is_right_but_for_unit_sign_or_decimals(bed: Bed) -> None:
    for each in bed.of(Fault.form):
        gold, answer = each.plant.question.answer, each.plant.answer
        if each.plant.question.listed:
            continue
        ratio = abs(float(answer) / float(gold))
        scaled = any(ratio == pytest.approx(scale, rel=0.05) for scale in (1000, 100, 1, 0.01, 0.001))
        assert scaled or each.plant.kind in ("wrong_decimals", "wrong_unit"), each.plant
        assert each.plant.kind in ("wrong_unit", "wrong_sign", "wrong_decimals")


def test_an_answer_follows_from_what_is_computed(bed: Bed) -> None:
    for each in bed.of(Fault.right, Fault.unread, Fault.stale):
        computes = [step.act for step in each.trajectory.steps if isinstance(step.act, Compute)]
        if computes:
            (compute,) = computes
            value = float(evaluate(compute.expression).value)
            decimals = len(each.plant.answer.partition(".")[2])
            assert float(each.plant.answer) == pytest.approx(value, abs=0.51 * 10**-decimals)


def test_nothing_that_an_agent_says_tells_of_the_fault(bed: Bed) -> None:
    telling = [text for each in bed.planted for text in said(each) if TELLTALE.search(text)]
    assert telling == []


def test_episodes_are_told_in_many_ways_and_faulty_ones_in_those_of_right_ones(bed: Bed) -> None:
    def ways(*faults: Fault) -> set[str]:
        steps = [step for each in bed.of(*faults) for step in each.trajectory.steps]
        return {step.thought for step in steps if isinstance(step.act, Read | Note)}

    assert len(ways(Fault.right)) > 8
    assert ways(Fault.unread, Fault.stale, Fault.arithmetic, Fault.form) <= ways(Fault.right)


def test_the_same_choice_gives_the_same_episode_and_another_one_other_words(bed: Bed) -> None:
    each = bed.of(Fault.right)[0]
    again, other = (
        [trajectory(each.plant, bed.tables, Stream(key, number)) for number in range(8)] for key in (1, 2)
    )
    assert again == [trajectory(each.plant, bed.tables, Stream(1, number)) for number in range(8)]
    assert again != other


def test_an_episode_ends_with_its_answer_which_rests_on_what_was_kept(bed: Bed) -> None:
    for each in bed.planted:
        *before, last = each.trajectory.steps
        assert isinstance(last.act, Answer)
        assert not any(isinstance(step.act, Answer) for step in before)
        assert {type(step.act) for step in before} >= {Search, Read, Note}
        count = len(statements(each))
        assert last.act.statements
        assert all(0 <= number < count for number in last.act.statements)


def test_a_formula_over_its_own_operands_is_the_gold_expression(bed: Bed) -> None:
    for question in bed.questions:
        worked = formula(question)
        assert worked is not None
        figures = [(operand.literal, operand.unit) for operand in question.facts.operands]
        filled = worked.fill(figures).replace("(-", "-").replace(")", "").replace("(", "")
        assert filled == question.facts.expression.replace("(-", "-").replace(")", "").replace("(", "")


def test_an_answer_that_no_arm_may_end_with_is_not_planted(bed: Bed) -> None:
    from pipeline.benchmarks.ledgerqa.planted import Figures, Planter

    strict = Planter(Figures(bed.tables), bed.benchmark.scorers, lambda form, answer: False)
    plants = [strict.plant(question, fault, Stream(1)) for question in bed.questions[:3] for fault in Fault]
    assert all(isinstance(plant, Skipped) for plant in plants)
