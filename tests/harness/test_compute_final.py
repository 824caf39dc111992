"""compute and final: contract 3.18 to 3.22."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.harness.answers import describe
from pipeline.protocols import AnswerFormat
from tests.harness.conftest import Episode, Opener, compute, final, op, read, revise, search, upsert


def test_3_18_a_compute_rests_on_active_evidence(admitted: Episode) -> None:
    admitted.send(revise("e2"))
    assert admitted.refused(compute("1+1", ())) == "missing_evidence"
    assert admitted.refused(compute("1+1", ("e1", "e9", "e2"))) == "unknown_evidence"
    assert admitted.refused(compute("1+1", ("e2", "e9"))) == "inactive_evidence"
    assert admitted.refused(compute("1/0", ("e9",))) == "unknown_evidence"  # before the expression
    turn = admitted.send(compute("(4400-4100)/4100*100"))
    assert turn.result == {"id": "c1", "value": 7.31707317073171, "operands": 4}
    assert turn.observation.splitlines()[0] == "[turn 8] compute: c1 = 7.31707317073171"
    assert turn.log == (
        {
            "event": "computed",
            "id": "c1",
            "expression": "(4400-4100)/4100*100",
            "value": 7.31707317073171,
            "evidence": ["e1"],
            "constants": [],
        },
    )


def test_3_18_literals_are_not_checked_against_the_evidence(admitted: Episode) -> None:
    assert admitted.send(compute("12345678 + 1")).valid


def test_3_19_a_faulty_expression_is_refused_and_spends_no_id(admitted: Episode) -> None:
    admitted.send(compute("1+1"))
    for expression in ("", "2+", "1/0", "__import__('os')", "[1, 2]", "sqrt(-1)"):
        assert admitted.refused(compute(expression)) == "expression_error"
    turn = admitted.send(compute("2+2"))
    assert turn.result and turn.result["id"] == "c2"


def test_3_19_notes_of_the_calculator_are_told_and_constants_recorded(admitted: Episode) -> None:
    turn = admitted.send(compute("sum(1,234, 5) * 1.5", constants=[{"value": 1.5, "why": "stated rate"}]))
    assert "\n\n" in turn.observation and "3" in turn.observation.split("\n\n")[1]
    assert turn.state.computes[0].constants == ((1.5, "stated rate"),)


@pytest.mark.parametrize(
    ("expression", "value"), [("3 > 2", True), ("10**20", 1e20), ("2**62", 2**62), ("7", 7)]
)
def test_3_19_a_result_is_a_number_that_json_and_tables_can_hold(
    admitted: Episode, expression: str, value: Any
) -> None:
    turn = admitted.send(compute(expression))
    assert turn.result and turn.result["value"] == pytest.approx(value)
    assert isinstance(turn.result["value"], bool) == isinstance(value, bool)
    assert isinstance(turn.result["value"], float) or abs(turn.result["value"]) < 2**63


def test_3_20_a_final_cites_active_evidence_that_resolves_to_its_sources(admitted: Episode) -> None:
    admitted.send(upsert("both", sources=("s2", "s1")))
    admitted.send(compute("1+1"))
    assert admitted.refused(final("x", ())) == "missing_evidence"
    assert admitted.refused(final("x", ("e9",))) == "unknown_evidence"
    assert admitted.refused(final("x", computes=["c2"])) == "unknown_evidence"
    turn = admitted.send(final("4,400", ("e3", "e1"), computes=["c1"]))
    assert turn.result == {"answer": "4,400", "evidence": ["e3", "e1"], "sources": ["s2", "s1"]}
    assert turn.observation == "[turn 8] final: accepted"
    assert turn.log[0]["event"] == "answered"
    accepted = turn.state.accepted
    assert accepted and accepted.cited == ("e3", "e1") and accepted.computes == ("c1",)


@pytest.mark.parametrize(
    ("form", "good", "bad"),
    [
        (AnswerFormat("line"), ["42", " x ", "1,234.5 million\n"], ["", " ", "one\ntwo"]),
        (AnswerFormat("letter"), ["A", "D"], ["E", "a", "The answer is B", "B.", " B", "", "AB"]),
        (AnswerFormat("text"), ["one\n\ntwo"], ["", "\n"]),
        (
            AnswerFormat("number"),
            ["42", "-1,234.50", "(1,234)", "$4.5", "-$3", "12.5%", "12.5 %", "4,962.46 million dollars"],
            ["", "about 4", "1,23", "4 and 5 6", "n/a", "[1]", "(5", "1\n2"],
        ),
        (AnswerFormat("number", decimals=2), ["4,962.46", "0.10"], ["4962", "4962.4", "4962.460"]),
        (AnswerFormat("number", unit="million dollars"), ["5", "5 Million dollars"], ["5 thousand dollars"]),
        (AnswerFormat("list"), ["[a]", "[1,234, 5]"], ["a, b", "[]", "[a, ]", "[a"]),
        (AnswerFormat("list", length=2), ["[1,234, 5]", "[x, y]"], ["[x]", "[x, y, z]"]),
    ],
)
def test_3_21_the_form_of_an_answer_is_checked(
    episode: Opener, form: AnswerFormat, good: list[str], bad: list[str]
) -> None:
    for answer in bad:
        opened = episode(form=form)
        opened.play(read(), upsert("a"))
        assert opened.refused(final(answer)) == "answer_format"
        assert describe(form) in opened.state.history.exchanges[-1].observation
    for answer in good:
        opened = episode(form=form)
        assert opened.play(read(), upsert("a"), final(answer)).state.status == "answered", answer


def test_3_21_a_number_given_as_json_number_is_taken_as_text(episode: Opener) -> None:
    opened = episode(form=AnswerFormat("number", decimals=2))
    opened.play(read(), upsert("a"))
    turn = opened.send('{"operation": {"name": "final", "answer": 10.50, "evidence": ["e1"]}}')
    assert turn.result and turn.result["answer"] == "10.50"


def test_3_22_a_rejected_final_is_an_invalid_turn_and_the_episode_goes_on(admitted: Episode) -> None:
    assert admitted.refused(final("one\ntwo")) == "answer_format"
    assert admitted.state.status == "running"
    assert admitted.send(final("one")).state.status == "answered"


def test_2_2_the_answers_form_is_checked_last(admitted: Episode) -> None:
    assert admitted.refused(final("", ("e9",))) == "unknown_evidence"


def test_6_without_a_bank_final_and_compute_cite_sources(episode: Opener) -> None:
    opened = episode("no_state")
    opened.play(search("May"), read())
    assert opened.refused(op("compute", expression="1+1", sources=[])) == "missing_evidence"
    assert opened.refused(op("final", answer="x", sources=["s9"])) == "unregistered_source"
    assert opened.refused(final("x")) == "invalid_arguments"
    computed = opened.send(op("compute", expression="1+1", sources=["s1"]))
    assert computed.valid and computed.state.computes[0].cited == ("s1",)
    turn = opened.send(op("final", answer="x", sources=["s1", "s1"], computes=["c1"]))
    assert turn.result == {"answer": "x", "evidence": [], "sources": ["s1"]}
    assert turn.state.accepted and turn.state.accepted.cited == ("s1", "s1")
