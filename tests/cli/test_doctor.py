"""`longharness doctor`: what is looked at, and what it says of a run that can't go."""

from __future__ import annotations

import json
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest

from pipeline.cli import main
from tests.backbone.faults import replied
from tests.judge_server import judge_server

ABSENT = ["backbone=custom", "backbone.model=NAME", "serving.urls=[http://127.0.0.1:9/v1]"]


def doctor(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[tuple[str, str], Any]]:
    status = main(["doctor", "--json", *words])
    found = json.loads(capsys.readouterr().out)
    return status, {(finding["of"], finding["name"]): finding for finding in found}


def test_the_machine_is_looked_at(capsys: pytest.CaptureFixture[str]) -> None:
    status, found = doctor(capsys)
    assert {of for of, _ in found} == {"this machine"}
    assert {"python", "ray", "memory", "disk", "shared memory"} <= {name for _, name in found}
    assert status == int(any(finding["works"] is False for finding in found.values()))
    assert found["this machine", "python"]["works"] is True


def test_what_reads_documents_and_the_hub_is_named_or_how_to_get_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, found = doctor(capsys)
    assert found["this machine", "PDF files"]["found"].startswith("pypdfium2 ")
    assert "lxml " in found["this machine", "HTML files"]["found"]
    assert found["this machine", "hub"]["works"] is True

    def absent(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("pipeline.cli.doctor.version", absent)
    _, found = doctor(capsys)
    for name, extra in (("PDF files", "documents"), ("HTML files", "documents"), ("hub", "hub")):
        finding = found["this machine", name]
        assert (finding["works"], finding["remedy"]) == (None, f"pip install 'longharness[{extra}]'")


def test_the_cache_must_be_a_folder_that_can_be_made(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LONGHARNESS_CACHE", str(tmp_path / "a" / "b"))
    _, found = doctor(capsys)
    assert found["this machine", "cache"]["found"].endswith(f"GB free in {tmp_path / 'a' / 'b'}")
    (tmp_path / "a").write_text("a file")
    status, found = doctor(capsys)
    assert status == 1
    assert found["this machine", "cache"]["works"] is False


def test_a_backbone_that_a_run_starts_is_started_and_probed(capsys: pytest.CaptureFixture[str]) -> None:
    _, found = doctor(capsys, "backbone=reference")
    assert found["reference", "completion"]["works"] is True
    assert found["reference", "seed"]["works"] is True
    assert not any(finding["works"] is False for (of, _), finding in found.items() if of == "reference")


def test_an_endpoint_that_is_not_there_fails_at_once_with_its_remedy(
    capsys: pytest.CaptureFixture[str],
) -> None:
    # serving.startup_timeout is 120 s: a run waits for a server, a look doesn't.
    assert main(["doctor", *ABSENT]) == 1
    shown = capsys.readouterr().out
    last = shown.splitlines()[-2:]
    assert last[0].startswith("  FAILS  reachable") and "127.0.0.1:9" in last[0]
    assert "check that the server runs" in last[1]


def test_a_key_that_is_not_set_is_a_finding(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    status, found = doctor(capsys, *ABSENT, "serving.api_key_env=NO_SUCH_KEY")
    assert status == 1
    assert "NO_SUCH_KEY" in found["custom", "configured"]["found"]


def test_a_benchmark_that_is_named_is_counted_and_no_backbone_is_asked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, found = doctor(capsys, "benchmark=ledgerqa", "benchmark.tokens=50000")
    assert found["ledgerqa", "questions"]["found"].endswith(" questions")
    assert found["ledgerqa", "documents"]["works"] is True
    assert "reference" not in {of for of, _ in found}


def test_files_of_a_benchmark_that_are_missing_are_a_finding(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = [f"benchmark.questions={tmp_path / 'none.csv'}", f"benchmark.documents=[{tmp_path}]"]
    status, found = doctor(capsys, "benchmark=officeqa", *words)
    assert status == 1
    assert found["officeqa", "questions"]["works"] is False
    assert "none.csv" in found["officeqa", "questions"]["found"]


def test_a_judge_that_is_named_is_asked_once(capsys: pytest.CaptureFixture[str]) -> None:
    with judge_server(replied(200, {"choices": [{"message": {"content": "CORRECT"}}]})) as server:
        status, found = doctor(capsys, "judge=endpoint", "judge.model=j", f"judge.urls=[{server.url}]")
        assert len(server.bodies) == 1
    assert found["judge endpoint", "completion"]["works"] is True
    assert "reference" not in {of for of, _ in found}
    assert status == int(any(finding["works"] is False for finding in found.values()))


def test_a_judge_that_refuses_fails(capsys: pytest.CaptureFixture[str]) -> None:
    with judge_server(replied(401, "who are you?")) as server:
        status, found = doctor(capsys, "judge=endpoint", "judge.model=j", f"judge.urls=[{server.url}]")
    assert (status, found["judge endpoint", "completion"]["works"]) == (1, False)


@pytest.mark.heavy
def test_the_embedded_model_is_found_to_do_what_it_can(capsys: pytest.CaptureFixture[str]) -> None:
    status, found = doctor(capsys, "backbone=embedded")
    works = {name: finding["works"] for (of, name), finding in found.items() if of == "embedded"}
    for name in ("reachable", "completion", "usage", "streaming", "JSON schema", "seed", "cached tokens"):
        assert works[name] is True, found["embedded", name]
    assert "8,192" in found["embedded", "window"]["found"]
    assert status == int(any(finding["works"] is False for finding in found.values()))
