"""The EvidenceBank: contract 1 and 3.10 to 3.17."""

from __future__ import annotations

import pytest

from tests.harness.conftest import Episode, Opener, compute, final, op, read, revise, search, upsert


def test_3_10_each_item_of_a_batch_is_validated_on_its_own(admitted: Episode) -> None:
    turn = admitted.send(
        op(
            "evidence",
            upsert=[
                {"statement": "ok", "sources": ["s1", "s2"]},
                {"statement": "bad", "sources": ["s9"]},
                {"statement": " ", "sources": ["s1"]},
                {"statement": "none", "sources": []},
                {"statement": 7, "sources": ["s1"]},
                {"statement": "extra", "sources": ["s1"], "page": 3},
                "a bare string",
                {"statement": "also ok", "sources": ["s1"]},
            ],
        )
    )
    assert turn.valid and turn.result
    items = turn.result["items"]
    assert [item["id"] for item in items] == ["e3", None, None, None, None, None, None, "e4"]
    assert [item["error"] and item["error"]["code"] for item in items] == [
        None,
        "unregistered_source",
        "invalid_arguments",
        "missing_evidence",
        "invalid_arguments",
        "invalid_arguments",
        "invalid_arguments",
        None,
    ]
    lines = turn.observation.splitlines()
    assert lines[0] == "[turn 3] evidence: 2 of 8 admitted"
    assert lines[2:4] == [
        "item 0: e3",
        f"item 1: refused: unregistered_source: {items[1]['error']['message']}",
    ]
    assert [event["event"] for event in turn.log] == [
        "evidence_admitted",
        *["evidence_refused"] * 6,
        "evidence_admitted",
    ]


def test_3_11_a_reference_must_have_been_registered_by_an_earlier_read(episode: Opener) -> None:
    opened = episode()
    opened.send(search("May"))
    turn = opened.send(upsert("May was 4,100"))
    assert turn.valid and turn.result and turn.result["items"][0]["error"]["code"] == "unregistered_source"
    assert "read first, a snippet can't be cited" in turn.observation


@pytest.mark.parametrize("source", ["s0", "s01", "s3", "S1", "e1", "s", "", "s١", "s" + "9" * 400])
def test_3_11_an_id_is_registered_or_not(admitted: Episode, source: str) -> None:
    turn = admitted.send(upsert("x", sources=("s1", source)))
    assert turn.result and turn.result["items"][0]["error"]["code"] == "unregistered_source"


def test_3_11_duplicates_are_admitted_under_new_ids(admitted: Episode) -> None:
    admitted.send(upsert("May was 4,100"))
    assert [entry.statement for entry in admitted.state.evidence.active].count("May was 4,100") == 2


def test_3_12_an_upsert_of_which_nothing_is_admitted_opens_with_that_and_mutates_nothing(
    admitted: Episode,
) -> None:
    before = admitted.state.evidence
    turn = admitted.send(upsert("a", "b", sources=("s9",)))
    assert turn.valid and turn.observation.startswith(
        "[turn 3] evidence: nothing was admitted, 0 of 2 admitted"
    )
    assert turn.state.evidence == before


def test_3_13_a_revision_names_an_active_id(admitted: Episode) -> None:
    assert admitted.refused(revise("e9", "x")) == "unknown_evidence"
    admitted.send(revise("e1"))
    assert admitted.refused(revise("e1", "x")) == "inactive_evidence"
    assert admitted.refused(revise("e9", "x", sources=("s9",))) == "unknown_evidence"  # the id comes first


def test_3_14_a_replacement_becomes_a_new_entry_that_the_old_one_points_to(admitted: Episode) -> None:
    turn = admitted.send(revise("e1", "May was 4,400", sources=("s2",)))
    assert turn.result == {"id": "e1", "new_id": "e3", "status": "superseded"}
    assert turn.observation == "[turn 3] evidence: e1 superseded by e3"
    old, new = turn.state.evidence.entries[0], turn.state.evidence.entries[2]
    assert (old.status, old.superseded_by, old.retired_turn, old.admitted_turn) == ("superseded", "e3", 3, 2)
    assert (new.status, new.statement, new.sources, new.admitted_turn) == (
        "active",
        "May was 4,400",
        ("s2",),
        3,
    )
    assert [event["event"] for event in turn.log] == ["evidence_admitted", "evidence_superseded"]


def test_3_14_null_retracts(admitted: Episode) -> None:
    turn = admitted.send(revise("e1"))
    assert turn.result == {"id": "e1", "new_id": None, "status": "retracted"}
    assert turn.observation == "[turn 3] evidence: e1 retracted"
    assert turn.state.evidence.entries[0].superseded_by is None


@pytest.mark.parametrize(
    ("statement", "sources", "code"),
    [
        ("x", ("s9",), "unregistered_source"),
        ("x", (), "missing_evidence"),
        (" ", ("s1",), "invalid_arguments"),
    ],
)
def test_3_15_a_refused_replacement_leaves_the_old_entry_active(
    admitted: Episode, statement: str, sources: tuple[str, ...], code: str
) -> None:
    assert admitted.refused(revise("e1", statement, sources)) == code
    assert admitted.state.evidence.entries[0].status == "active"


def test_3_16_inactive_entries_stay_in_the_record_and_cannot_be_cited(admitted: Episode) -> None:
    admitted.play(revise("e1", "v2"), revise("e3", "v3"), revise("e2"))
    assert len(admitted.state.evidence.entries) == 4
    for reply in (compute("1+1", ("e4", "e1")), final("x", ("e2",)), final("x", ("e3",))):
        assert admitted.refused(reply) == "inactive_evidence"
    said = [exchange.observation for exchange in admitted.state.history.exchanges[-3:]]
    assert "e1 was superseded by e3, in the end by e4; active: e4" in said[0]
    assert "e2 was retracted and has no successor; active: e4" in said[1]
    admitted.send(revise("e4"))
    assert admitted.refused(final("x", ("e3",))) == "inactive_evidence"
    assert "e3 was superseded by e4, since retracted; no evidence is active" in (
        admitted.state.history.exchanges[-1].observation
    )


def test_3_17_claims_that_cite_a_retired_entry_are_flagged_and_not_rewritten(admitted: Episode) -> None:
    claims = {
        "established": [{"claim": "c", "evidence": ["e2", "e1"]}],
        "hypotheses": [{"claim": "h", "evidence": ["e1"]}, "free"],
    }
    admitted.send(search("x May", conclusion=claims))
    before = admitted.state.conclusion
    turn = admitted.send(revise("e1", "v2"))
    assert turn.state.conclusion == before
    affected = [event for event in turn.log if event["event"] == "claim_affected"]
    assert affected == [
        {"event": "claim_affected", "list": "established", "index": 0, "evidence": "e1"},
        {"event": "claim_affected", "list": "hypotheses", "index": 0, "evidence": "e1"},
    ]
    assert (
        "claims that cite e1, to be reassessed:\nestablished[0] c [e2, e1]\nhypotheses[0] h [e1]"
        in turn.observation
    )
    assert admitted.send(search("June")).valid and admitted.send(read()).valid


def test_1_ids_are_never_reused(admitted: Episode) -> None:
    admitted.play(revise("e2"), upsert("b"), revise("e3", "c"), upsert("d"))
    assert [entry.id for entry in admitted.state.evidence.entries] == ["e1", "e2", "e3", "e4", "e5"]


def test_1_history_keeps_every_response_and_observation_in_full(admitted: Episode) -> None:
    admitted.play("gibberish " * 50, read({"document": "big.txt"}))
    exchanges = admitted.state.history.exchanges
    assert len(exchanges) == 4
    assert exchanges[2].reply.text == "gibberish " * 50
    assert "Line 000000 of a long ledger" in exchanges[3].observation


def test_3_12_of_very_many_refused_items_the_last_are_counted(episode: Opener) -> None:
    turn = episode().send(upsert(*[{"statement": 0, "sources": []}] * 8_000))
    assert turn.valid and turn.result and len(turn.result["items"]) == 8_000
    assert len(turn.observation) < 20_000
    assert "… and 7950 more are refused, from item 50 on" in turn.observation
