"""The question reader, on phrasings of its own: what any wording must name is found in it."""

from __future__ import annotations

import pytest

from pipeline.backbone.reference.periods import mentions
from pipeline.backbone.reference.question import read_question
from pipeline.backbone.reference.words import Period
from pipeline.benchmarks.tasks import Task
from pipeline.harness.answers import describe


@pytest.mark.parametrize(
    ("text", "aim"),
    [
        ("What was the sum of imports for May and June 1987?", "sum"),
        ("By how much did imports in May 1987 exceed those in June 1987?", "difference"),
        ("What is the percentage change from May 1987 to June 1987?", "percent_change"),
        ("What share of total outlays was paid to farmers in 1987?", "share"),
        ("What is the ratio of imports in May 1987 to those in June 1987?", "ratio"),
        ("What is the geometric mean of imports from May 1987 through July 1987?", "geomean"),
        ("Give the population standard deviation for May, June and July 1987.", "pstdev"),
        ("Give the standard deviation, taken as a sample, for May, June and July 1987.", "stdev"),
        ("What does the summary most recently report for May 1987?", "value"),
        ("What is the least-squares slope a month from May 1987 through May 1989?", "slope"),
        ("What was the absolute value of net advances in May 1987?", "absolute"),
        ("What was the total for May and June 1987? Repayments have a minus sign.", "sum"),
        ('What was "Difference in conditions" in May 1987?', "value"),
    ],
)
def test_the_operation_is_read(text: str, aim: str) -> None:
    assert read_question(text).aim == aim


def test_the_periods_of_a_range_a_list_and_a_fiscal_year_are_read() -> None:
    months = read_question("The mean from November 2008 through January 2009?").periods
    assert months == (Period(2008, 11), Period(2008, 12), Period(2009, 1))
    assert read_question("The sum for January, February and March 2022?").periods[0] == Period(2022, 1)
    assert read_question("What was paid in fiscal year 1996?").periods == (Period(1996),)


@pytest.mark.parametrize(
    "text",
    [
        "As printed in the March 2009 Treasury Bulletin, what were imports in May 2008?",
        "What were imports in May 2008, according to the issue of March 2009?",
        "What were imports in May 2008, in the bulletin dated March 2009?",
        "In the March 2009 summary, what were imports at the end of May 2008?",
    ],
)
def test_an_issue_is_told_from_a_period(text: str) -> None:
    question = read_question(text)
    assert (question.issues, question.periods) == ((Period(2009, 3),), (Period(2008, 5),))


def test_a_modal_may_is_no_month() -> None:
    assert mentions("Later issues may print 1987 figures.")[0].periods == (Period(1987),)


def test_two_prints_of_a_figure_keep_the_order_of_the_text() -> None:
    text = "The first reported figure for May 1987 minus the most recently reported figure for May 1987?"
    assert [vintage for _, vintage in read_question(text).prints] == ["first", "latest"]


def test_the_order_of_a_comparison_is_read() -> None:
    assert not read_question("By how much was May 1987 higher than June 1987?").reversed
    assert read_question("By how much was May 1987 lower than June 1987?").reversed
    assert read_question("What share of all outlays did farmers make up in 1987? Farmers held it.").reversed
    assert not read_question("What were farmers' outlays as a share of all outlays in 1987?").reversed


def test_months_in_parentheses_say_what_a_year_is() -> None:
    fiscal, calendar = read_question(
        "The total for the fiscal year 1987 (October 1986 through September 1987) minus that for the "
        "calendar year 1987 (January to December)?"
    ).told
    assert (fiscal.period, fiscal.calendar) == (Period(1987), False)
    assert (calendar.period, calendar.calendar) == (Period(1987), True)
    assert read_question("Fiscal years begin in October. What was paid in 1987?").periods == (Period(1987),)


def test_a_list_says_its_items_and_their_order() -> None:
    asked = "A list in square brackets of 3 items, separated by comma and space: [a, b]."
    plain = read_question("List the imports for May, June and July 1987.", asked)
    assert (plain.aim, plain.order, plain.names_row) == ("list", "", False)
    sorted_down = read_question("List the imports, from the largest to the smallest.", asked)
    assert (sorted_down.aim, sorted_down.order) == ("list", "descending")
    ranked = read_question('The names "Iron" and "Coal", ranked from the smallest to the largest.', asked)
    assert (ranked.order, ranked.names_row) == ("ascending", True)


def test_the_form_of_the_answer_is_read() -> None:
    question = read_question("Answer in millions of dollars, rounded to two decimal places.")
    assert (question.decimals, question.scale) == (2, 1e6)
    assert read_question("To the nearest million of dollars.").decimals == 0


def test_what_built_questions_name_is_found_in_all_of_them(built: list[Task]) -> None:
    for task in built:
        question = read_question(task.view.question, describe(task.view.answer_format))
        assert question.periods, task.view.question
        if task.fields["operation"] != "value":  # of one figure, a sum (of `Total`) is the value
            assert question.aim != "value", task.view.question
        assert question.decimals is not None or question.names_row
