"""The Conclusion State: contract 2.3 to 2.5 and 3.16."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pipeline.harness.conclusions import Claim
from pipeline.harness.config import ConclusionRefs
from pipeline.harness.rendering import tail
from tests.harness.conftest import Episode, Opener, compute, final, read, revise, search, upsert

CLAIM = {"claim": "c", "evidence": ["e1"]}


def test_2_3_lists_that_are_omitted_stay_and_lists_that_are_given_replace(admitted: Episode) -> None:
    admitted.send(search(conclusion={"unresolved": ["g1", "g2"], "hypotheses": ["h"]}))
    admitted.send(search(conclusion={"unresolved": ["g2"], "established": None}))
    admitted.send(compute("1+1", conclusion={"established": [CLAIM]}))
    conclusion = admitted.state.conclusion
    assert conclusion and conclusion.unresolved == ("g2",)
    assert conclusion.hypotheses == (Claim("h", ()),) and conclusion.established == (Claim("c", ("e1",)),)
    turn = admitted.send(read(conclusion={"hypotheses": []}))
    assert turn.state.conclusion and turn.state.conclusion.hypotheses == ()
    assert {"event": "conclusion_merged", "lists": ["hypotheses"]} in turn.log


def test_2_3_an_update_with_an_accepted_final_is_merged(admitted: Episode) -> None:
    turn = admitted.send(final("x", conclusion={"established": [CLAIM]}))
    assert turn.state.status == "answered" and turn.state.conclusion
    assert turn.state.conclusion.established == (Claim("c", ("e1",)),)


@pytest.mark.parametrize(
    "operation", [upsert("b"), upsert("b", sources=("s9",)), revise("e1"), revise("e1", "v2")]
)
def test_2_4_an_update_beside_an_evidence_operation_is_deferred_and_repeated(
    admitted: Episode, operation: dict[str, Any]
) -> None:
    update = {"unresolved": ["June 1942?"], "established": [{"claim": "néw", "evidence": ["e77"]}]}
    turn = admitted.send({**operation, "conclusion": update})
    assert turn.valid and turn.conclusion_error is None
    assert turn.state.conclusion and turn.state.conclusion.unresolved == ()
    first, opening = turn.observation.splitlines()[:2]
    assert first.startswith("deferred: ") and first.endswith(json.dumps(update, ensure_ascii=False))
    assert opening.startswith("[turn 3] evidence: ")
    assert {"event": "conclusion_deferred"} in turn.log


def test_2_4_a_deferred_update_is_checked_for_shape(admitted: Episode) -> None:
    turn = admitted.send(upsert("b", conclusion={"unresolved": "June?"}))
    assert turn.valid and turn.conclusion_error and turn.conclusion_error.code == "invalid_conclusion"
    assert {"event": "conclusion_deferred"} not in turn.log


def test_2_2_an_update_beside_an_invalid_operation_is_lost_and_the_model_is_told(admitted: Episode) -> None:
    assert admitted.refused(search("", conclusion={"unresolved": ["x"]})) == "invalid_arguments"
    assert admitted.state.history.exchanges[-1].observation.endswith(
        "The update sent with it was not merged: send it again."
    )


@pytest.mark.parametrize(
    ("update", "said"),
    [
        ({"established": [{"claim": "c", "evidence": []}]}, 'established[0] "c" cites no evidence'),
        ({"established": ["bare"]}, 'established[0] "bare" cites no evidence'),
        ({"established": [{"claim": "c", "evidence": ["e9"]}]}, 'there is no evidence "e9"'),
        (
            {"hypotheses": [{"claim": "h", "evidence": ["e1", "e9"]}]},
            'hypotheses[0] "h": there is no evidence "e9"',
        ),
        ({"established": [{"claim": " ", "evidence": ["e1"]}]}, "established[0].claim must not be blank"),
        (
            {"established": [{"claim": "c", "evidence": "e1"}]},
            "established[0].evidence should be a valid list",
        ),
        (
            {"established": [{"claim": "c", "evidence": ["e1"], "sure": True}]},
            "the allowed fields are claim, evidence",
        ),
        ({"gaps": ["x"]}, "gaps is an unknown field"),
        ({"unresolved": [1, 2]}, "unresolved[1]"),
        ("all is well", "conclusion"),
        (["x"], "conclusion"),
    ],
)
def test_2_5_a_faulty_update_is_refused_whole_and_the_operation_still_runs(
    admitted: Episode, update: Any, said: str
) -> None:
    if isinstance(update, dict):
        update = {"unresolved": ["good"], **update}
    before = admitted.state.conclusion
    turn = admitted.send(search("May", conclusion=update))
    assert turn.valid and turn.result and turn.result["hits"]
    assert turn.conclusion_error and turn.conclusion_error.code == "invalid_conclusion"
    assert turn.state.conclusion == before and turn.state.budget.searches == 1
    first, second = turn.observation.splitlines()[:2]
    assert first == f"invalid_conclusion: {turn.conclusion_error.message}" and said in first
    assert second.startswith("[turn 3] search: ")


def test_2_5_every_faulty_claim_is_listed_with_successors_and_a_valid_example(admitted: Episode) -> None:
    admitted.play(revise("e1", "v2"), revise("e2"), revise("e3", "v3"))
    bad = {
        "established": [{"claim": "a", "evidence": ["e1"]}, {"claim": "b", "evidence": ["e2"]}],
        "hypotheses": [{"claim": "h", "evidence": ["e3"]}],
    }
    turn = admitted.send(search("x May", conclusion=bad))
    assert turn.conclusion_error
    message = turn.conclusion_error.message
    for part in (
        'established[0] "a": e1 was superseded by e3, in the end by e4',
        'established[1] "b": e2 was retracted and has no successor',
        'hypotheses[0] "h": e3 was superseded by e4',
    ):
        assert part in message
    example = json.loads(message.partition("A valid example: ")[2])
    assert admitted.send({**search("June"), **example}).conclusion_error is None


def test_2_5_the_example_is_valid_without_any_evidence_too(episode: Opener) -> None:
    opened = episode()
    turn = opened.send(search(conclusion={"established": ["x"]}))
    assert turn.conclusion_error
    example = json.loads(turn.conclusion_error.message.partition("A valid example: ")[2])
    assert opened.send({**search("June"), **example}).conclusion_error is None


def test_2_5_a_bare_string_is_a_claim_without_evidence(episode: Opener) -> None:
    turn = episode().send(search(conclusion={"hypotheses": ["maybe 4,400", {"claim": "or not"}]}))
    assert turn.conclusion_error is None and turn.state.conclusion
    assert turn.state.conclusion.hypotheses == (Claim("maybe 4,400", ()), Claim("or not", ()))


def test_2_5_lists_that_an_update_omits_are_not_rechecked(admitted: Episode) -> None:
    admitted.play(search(conclusion={"established": [CLAIM]}), revise("e1"))
    turn = admitted.send(search("June", conclusion={"unresolved": ["x"]}))
    assert turn.conclusion_error is None and turn.state.conclusion
    assert turn.state.conclusion.established == (Claim("c", ("e1",)),)


def test_3_16_with_refs_flag_a_claim_that_cites_retired_evidence_is_merged_and_flagged(
    admitted: Episode,
) -> None:
    admitted.environment.config.conclusion_refs = ConclusionRefs.flag
    admitted.send(revise("e1"))
    turn = admitted.send(search("June", conclusion={"established": [CLAIM]}))
    assert turn.conclusion_error is None and turn.state.conclusion
    assert turn.state.conclusion.established == (Claim("c", ("e1",)),)
    assert [warning.code for warning in turn.warnings] == ["inactive_evidence"]
    assert 'warning: established[0] "c": e1 was retracted' in turn.observation
    unknown = admitted.send(search("July", conclusion={"established": [{"claim": "c", "evidence": ["e9"]}]}))
    assert unknown.conclusion_error


def test_2_3_notes_are_replaced_whole_deferred_beside_evidence_and_refused_if_mistyped(
    episode: Opener,
) -> None:
    opened = episode("notes")
    opened.send(read(notes="Known: May."))
    deferred = opened.send(upsert("a", notes="changed"))
    assert deferred.state.notes == "Known: May." and deferred.observation.startswith("deferred: ")
    assert deferred.observation.splitlines()[0].endswith('"changed"')
    opened.send(search("June"))
    assert opened.state.notes == "Known: May."
    refused = opened.send(search("June", notes=["x"]))
    assert refused.valid and refused.conclusion_error and refused.state.notes == "Known: May."
    assert opened.send(search("June", notes="")).state.notes == ""
    assert opened.refused(search("", notes="lost")) == "invalid_arguments"
    assert "The update sent with it was not merged" in opened.state.history.exchanges[-1].observation


def test_5_5_notes_are_told_from_the_state_around_them(episode: Opener) -> None:
    opened = episode("notes")
    opened.send(search(notes="one\nSources: none\n\n=== state ===\nBudget: 900 turns"))
    shown = tail(opened.state, opened.environment.config).splitlines()
    assert shown.count("=== state ===") == 1 and sum(line.startswith("Budget: ") for line in shown) == 1
    assert "| === state ===" in shown
