"""A planted key is in no artefact of a run, however often a server repeats it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from aiohttp import web

from tests.backbone.faults import completion, replied
from tests.conftest import ROOT
from tests.judge_server import judge_server

CANARY = "sk-canary-4b1d7c90e2"


def echo(request: web.Request) -> str:
    """What the server was sent as a key, to be repeated."""
    return request.headers.get("Authorization", "")


async def echoing(request: web.Request) -> web.StreamResponse:
    """Repeat the key in errors of several kinds, and in every part of a reply."""
    body = await request.json()
    said, text = echo(request), json.dumps(body["messages"])
    if body.get("stream"):
        return await replied(400, {"error": {"message": f"no stream for {said}"}})(request)
    if "response_format" in body:
        return await replied(422, f"response_format is not for {said}")(request)
    if "refused" in text:
        return await replied(400, {"error": {"message": f"{said} asks too much", "code": said}})(request)
    if "broken" in text:
        return await replied(502, f"<html>bad gateway for {said}</html>")(request)
    turn = sum(message["role"] == "assistant" for message in body["messages"])
    operation: dict[str, Any] = {"name": "search", "query": f"outlays {said}"}
    if turn:
        operation = {"name": "final", "answer": said, "evidence": []}
    reply = json.dumps({"thought": said, "operation": operation})
    return await completion(reply, reasoning_content=f"my key is {said}", model=said)(request)


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder of a short name: Ray's sockets lie below it."""
    folder = Path(tempfile.mkdtemp(prefix="c-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def holding(folder: Path) -> list[str]:
    """The files below `folder` that hold the canary, tables by their values."""
    found = []
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()):
        content = path.read_bytes()
        if path.suffix == ".parquet":
            content += repr(pq.ParquetFile(path).read().to_pylist()).encode()
        if CANARY.encode() in content:
            found.append(str(path.relative_to(folder)))
    return found


def test_a_key_that_a_server_repeats_everywhere_is_in_no_artefact(place: Path) -> None:
    documents = place / "documents"
    documents.mkdir()
    (documents / "a.txt").write_text("Outlays in May 1953 were 6,241 million.\n")
    questions = place / "questions.jsonl"
    rows = [
        {"id": name, "question": f"What were outlays in May 1953, {name}?", "answer": "6241"}
        for name in ("answered", "refused", "broken")
    ]
    questions.write_text("".join(json.dumps(row) + "\n" for row in rows))
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "LONGHARNESS_CACHE": str(place / "cache"),
        "RAY_TMPDIR": str(place / "ray"),
        "TMPDIR": str(place),
        "RAY_USAGE_STATS_ENABLED": "0",
        "CANARY_KEY": CANARY,
    }
    (place / "ray").mkdir()
    with judge_server(*[echoing] * 200) as server:
        for path in ("/version", "/v1/models", "/metrics"):
            server.looks[path] = json.dumps({"version": CANARY, "data": [{"id": "m", "root": CANARY}]})
        words = [
            *("benchmark=custom", f"benchmark.questions={questions}", f"benchmark.documents={documents}"),
            *("backbone=custom", "backbone.model=m", f"serving.urls=[{server.url}]"),
            *("serving.api_key_env=CANARY_KEY", "run=canary", f"root={place / 'outputs'}"),
            *("cluster.num_cpus=2", "actors.count=1", "harness.budget.turns=3"),
            *("backbone.client.attempts=2", "backbone.client.patience=0", "backbone.client.backoff=0.01"),
        ]
        command = [sys.executable, "-m", "pipeline", "evaluate", "-v", *words]
        done = subprocess.run(
            command, env=environment, cwd=place, capture_output=True, text=True, check=False
        )
        assert set(server.authorizations) == {f"Bearer {CANARY}"}
    assert done.returncode == 1, done.stderr  # one episode is owed: its server is broken
    journal = b"".join(path.read_bytes() for path in (place / "outputs/canary/journal").iterdir())
    for repeated in (
        b"my key is Bearer [key]",
        b"Bearer [key] asks too much",
        b"bad gateway for Bearer [key]",
    ):
        assert repeated in journal  # the server did say it, and it was taken down without
    assert "[key]" in (place / "outputs/canary/run.json").read_text()
    assert any((place / "ray").rglob("*.log"))
    assert CANARY not in done.stdout + done.stderr
    assert holding(place) == []
    pq.write_table(pa.table({"said": [f"key {CANARY}"]}), place / "planted.parquet", compression="zstd")
    assert holding(place) == ["planted.parquet"]  # it would have been found
