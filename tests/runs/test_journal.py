"""The journal: torn ends, damage, and which attempt is accepted."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import RunError
from pipeline.protocols import Completion, Outcome, RequestRecord, Status, Usage
from pipeline.runs import journal
from pipeline.runs.journal import Attempt, AttemptRecorder, Segment


def completion(text: str) -> Completion:
    request = RequestRecord("r1", "m", 200, "stop", Usage(10, 4, 2), 0.5)
    return Completion(text, "because", "stop", Usage(10, 4, 2), "m", "r1", 0.5, (request,))


def episode(
    segment: Segment, name: str, attempt: int = 1, turns: int = 2, status: Status | None = "answered"
) -> None:
    recorder = AttemptRecorder(segment, name, attempt)
    for turn in range(1, turns + 1):
        recorder.turn(turn, completion(f"reply {turn} – “é”"), f"hash {turn}")
    if status:
        recorder.end(Outcome(status, "42", ("e1",)), 1.5)


def written(folder: Path, **kwargs: object) -> Path:
    segment = Segment(folder, "a")
    episode(segment, "one")
    episode(segment, "two")
    segment.close()
    return segment.path


def test_what_was_recorded_is_read_back(tmp_path: Path) -> None:
    written(tmp_path)
    attempts = journal.scan(tmp_path)
    assert [(a.episode, a.turns, a.status) for a in attempts] == [
        ("one", 2, "answered"),
        ("two", 2, "answered"),
    ]
    record = journal.load(tmp_path, attempts[1])
    assert [turn.response for turn in record.turns] == ["reply 1 – “é”", "reply 2 – “é”"]
    assert record.turns[0].requests == completion("").requests
    assert (record.outcome, record.seconds) == (Outcome("answered", "42", ("e1",)), 1.5)


def test_episodes_side_by_side_are_told_apart(tmp_path: Path) -> None:
    segment = Segment(tmp_path, "a")
    one, two = AttemptRecorder(segment, "one", 1), AttemptRecorder(segment, "two", 3)
    one.turn(1, completion("a"), "h")
    two.turn(1, completion("b"), "h")
    one.failed_request(2, completion("").requests)
    reported = one.end(Outcome("model_request_failed", error="overlong"), 1.0)
    two.turn(2, completion("c"), "h")
    reported_two = two.end(Outcome("answered", "x"), 1.0)
    segment.close()
    assert journal.scan(tmp_path) == [reported, reported_two]
    first, second = (journal.load(tmp_path, attempt) for attempt in (reported, reported_two))
    assert [turn.response for turn in first.turns] == ["a"] and first.failed == (
        (2, completion("").requests),
    )
    assert [turn.response for turn in second.turns] == ["b", "c"]


def test_each_incarnation_has_its_own_segment(tmp_path: Path) -> None:
    segments = [Segment(tmp_path, "actor") for _ in range(3)]
    assert [segment.path.name for segment in segments] == ["actor-0.jsonl", "actor-1.jsonl", "actor-2.jsonl"]
    for segment in segments:
        segment.close()


def test_a_line_is_with_the_operating_system_at_once(tmp_path: Path) -> None:
    segment = Segment(tmp_path, "a")
    episode(segment, "one", turns=1, status=None)
    assert segment.path.read_bytes().count(b"\n") == 1
    segment.close()


@given(cut=st.integers(min_value=1, max_value=10_000))
def test_wherever_a_segment_is_torn_only_its_last_episode_is_owed(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    folder = tmp_path_factory.mktemp("journal")
    path = written(folder)
    whole = path.read_bytes()
    kept = max(0, len(whole) - cut)
    path.write_bytes(whole[:kept])
    accepted, owed = journal.settle(journal.scan(folder), ["one", "two"])
    ends = {"one": whole.index(b'"end":true'), "two": whole.rindex(b'"end":true')}
    line_ends = {name: whole.index(b"\n", at) for name, at in ends.items()}
    assert owed == [name for name in ("one", "two") if kept < line_ends[name]]
    for attempt in accepted.values():
        assert len(journal.load(folder, attempt).turns) == 2


def test_a_torn_line_in_the_middle_is_an_error_that_names_file_and_line(tmp_path: Path) -> None:
    path = written(tmp_path)
    lines = path.read_bytes().splitlines(keepends=True)
    lines[1] = lines[1][: len(lines[1]) // 2] + b"\n"
    path.write_bytes(b"".join(lines))
    with pytest.raises(RunError, match=r"a-0\.jsonl, line 2 is damaged"):
        journal.scan(tmp_path)


def test_a_missing_line_is_an_error_when_its_episode_is_read(tmp_path: Path) -> None:
    path = written(tmp_path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[1:]))
    (first, _) = journal.scan(tmp_path)
    with pytest.raises(RunError, match="episode one, attempt 1 is damaged"):
        journal.load(tmp_path, first)


def test_a_journal_of_a_later_version_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a-0.jsonl").write_text('{"v":2,"episode":"x","attempt":1,"turn":1}\n')
    with pytest.raises(RunError, match="version 2"):
        journal.scan(tmp_path)


def test_the_lowest_finished_attempt_is_accepted() -> None:
    attempts = [
        Attempt("x", 3, "b-0.jsonl", 0, 9, 2, "answered"),
        Attempt("x", 1, "a-0.jsonl", 0, 9, 2, None),
        Attempt("x", 2, "a-1.jsonl", 0, 9, 2, "turns_exhausted"),
        Attempt("y", 1, "a-0.jsonl", 9, 12, 0, "interrupted"),
    ]
    accepted, owed = journal.settle(attempts, ["x", "y", "z"])
    assert (accepted["x"].attempt, owed) == (2, ["y", "z"])


def test_a_closed_segment_takes_no_more(tmp_path: Path) -> None:
    segment = Segment(tmp_path, "a")
    segment.close()
    with pytest.raises(OSError, match="is closed"):
        segment.append({"v": 1})


def test_a_segment_that_cannot_be_synced_takes_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "SYNC_SECONDS", 0.01)
    segment = Segment(tmp_path, "a")
    reading, writing = os.pipe()  # takes writes, and can't be synced
    os.dup2(writing, segment._file)
    segment.append({"v": 1})
    segment._syncer.join(20)
    with pytest.raises(OSError, match="could not be synced"):
        segment.append({"v": 1})
    for descriptor in (reading, writing, segment._file):
        os.close(descriptor)


def test_a_close_just_after_the_syncer_looked_for_it_is_not_missed(tmp_path: Path) -> None:
    segment = Segment(tmp_path, "a")

    class Late(threading.Event):
        """`close` comes right after the first wait has timed out."""

        def wait(self, timeout: float | None = None) -> bool:
            closed = self.is_set()
            self.set()
            segment._dirty.set()
            return closed

    segment._closed = Late()
    segment.append({"v": 1})
    segment._syncer.join(timeout=30)
    assert not segment._syncer.is_alive()
    segment.close()
