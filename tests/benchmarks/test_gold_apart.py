"""No gold reaches an arm (contract 3.21): other golds change no question, form, prompt or corpus.

Each benchmark is read from files that hold the same questions with three sets of golds: their own, the same
in another order, and others of every kind.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.benchmarks.aa_lcr.config import AALCRConfig
from pipeline.benchmarks.aa_lcr.loading import load as load_aa_lcr
from pipeline.benchmarks.custom import CustomConfig
from pipeline.benchmarks.custom import load as load_custom
from pipeline.benchmarks.ledgerqa import LedgerQAConfig
from pipeline.benchmarks.ledgerqa import load as load_ledgerqa
from pipeline.benchmarks.longbench_v2.config import LongBenchV2Config
from pipeline.benchmarks.longbench_v2.loading import load as load_longbench
from pipeline.benchmarks.officeqa import OfficeQAConfig
from pipeline.benchmarks.officeqa import load as load_officeqa
from pipeline.benchmarks.tasks import Benchmark
from pipeline.corpus import Corpus, build
from pipeline.corpus.config import CorpusConfig
from pipeline.errors import ModelRequestFailed
from pipeline.harness import LongHarness
from pipeline.paths import cache_dir
from pipeline.protocols import Completion, Limits, Request, RequestRecord, TaskView
from tests.benchmarks.aa_lcr import published as aa_lcr
from tests.benchmarks.longbench_v2 import published as longbench
from tests.variants import VARIANTS, variant

QUESTIONS = (
    "What were outlays in May, rounded to two decimal places?",
    "Which months had more, as a bracketed list?",
    "Who signed it?",
    "How much was it in all?",
)
GOLDS = {
    "their own": ("6241.50", "[May, June]", "The Secretary", "12"),
    "in another order": ("12", "6241.50", "[May, June]", "The Secretary"),
    "others": ("[1.5, 2.75, 3]", "B", "$7.1 million", "unable to\ndetermine"),
}
DOCUMENTS = {"a.txt": "Outlays in May: 6,241.50.\n", "b.txt": "Outlays in June: 7.\n"}

Load = Callable[[Path, Sequence[str]], Benchmark]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGHARNESS_CACHE", str(tmp_path / "cache"))


def documents(folder: Path) -> str:
    (folder / "documents").mkdir(exist_ok=True)
    for name, text in DOCUMENTS.items():
        (folder / "documents" / name).write_text(text)
    return str(folder / "documents")


def written(path: Path, rows: Sequence[Sequence[str]]) -> str:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return str(path)


def gold_document(gold: str) -> str:
    """Gold documents differ as golds do."""
    return sorted(DOCUMENTS)[len(gold) % 2]


def officeqa(folder: Path, golds: Sequence[str]) -> Benchmark:
    rows = [
        [f"UID{n}", question, gold, gold_document(gold)]
        for n, (question, gold) in enumerate(zip(QUESTIONS, golds, strict=True))
    ]
    path = written(folder / "q.csv", [["uid", "question", "answer", "source_files"], *rows])
    return load_officeqa(OfficeQAConfig(questions=path, documents=[documents(folder)]))


def custom(folder: Path, golds: Sequence[str]) -> Benchmark:
    formats = ("", "list:2", "text", "")
    rows = [
        [f"Q{n}", question, gold, gold_document(gold), form, f"0.{len(gold):02}"]
        for n, (question, gold, form) in enumerate(zip(QUESTIONS, golds, formats, strict=True))
    ]
    header = ["id", "question", "answer", "documents", "format", "tolerance"]
    path = written(folder / "q.csv", [header, *rows])
    return load_custom(CustomConfig(questions=path, documents=documents(folder)))


def ledgerqa(folder: Path, golds: Sequence[str]) -> Benchmark:
    """The dataset is made once; its golds lie in a file of their own."""
    config = LedgerQAConfig(tokens=30_000, questions_per_kind=1)
    load_ledgerqa(config)
    (path,) = (cache_dir() / "ledgerqa").glob("*/gold.jsonl")
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    if tuple(golds) != GOLDS["their own"]:
        moved = [*rows[1:], rows[0]]
        for at, (row, other) in enumerate(zip(rows, moved, strict=True)):
            gold = {**other, "id": row["id"]}
            rows[at] = gold | (
                {"answer": golds[at % len(golds)], "spans": []} if tuple(golds) == GOLDS["others"] else {}
            )
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return load_ledgerqa(config)


def aa_lcr_official(folder: Path, golds: Sequence[str]) -> Benchmark:
    rows = [
        aa_lcr.row(n, "a.txt;b.txt", question=question, answer=gold)
        for n, (question, gold) in enumerate(zip(QUESTIONS, golds, strict=True))
    ]
    path = aa_lcr.write_questions(folder / "q.csv", rows)
    texts = {f"lcr/Company/co_one/{name}": text.encode() for name, text in DOCUMENTS.items()}
    archive = aa_lcr.write_archive(folder / "texts.zip", texts)
    return load_aa_lcr(AALCRConfig(questions=str(path), documents=str(archive), allow_other_revision=True))


def aa_lcr_joined(folder: Path, golds: Sequence[str]) -> Benchmark:
    context = "\n\n".join(
        f"BEGIN DOCUMENT {n}:\n{text}\nEND DOCUMENT {n}" for n, text in enumerate(DOCUMENTS.values(), start=1)
    )
    cells = [list(QUESTIONS), list(golds), [context] * len(QUESTIONS)]
    pq.write_table(
        pa.table(dict(zip(("question", "answer", "context"), cells, strict=True))), folder / "q.parquet"
    )
    return load_aa_lcr(AALCRConfig(questions=str(folder / "q.parquet"), allow_other_revision=True))


def longbench_v2(folder: Path, golds: Sequence[str]) -> Benchmark:
    """A gold is a letter there."""
    letters = ["ABCD"[len(gold) % 4] for gold in golds]
    path = longbench.write(folder, [longbench.row(n, answer=letter) for n, letter in enumerate(letters)])
    return load_longbench(LongBenchV2Config(questions=str(path), allow_other_revision=True))


class Refuses:
    """A backbone that keeps each request and answers none."""

    def __init__(self) -> None:
        self.requests: list[Request] = []

    async def complete(self, request: Request) -> Completion:
        self.requests.append(request)
        raise ModelRequestFailed("refused", "no model here")


class Forgets:
    def turn(self, turn: int, completion: Completion, state_sha256: str) -> None: ...

    def failed_request(self, turn: int, requests: tuple[RequestRecord, ...]) -> None: ...


async def prompts(view: TaskView, corpus: Corpus) -> list[Request]:
    """What each variant asks a model first."""
    backbone = Refuses()
    for name in VARIANTS:
        await LongHarness(variant(name)).run(view, corpus, backbone, Forgets(), Limits(max_tokens=100))
    return backbone.requests


@pytest.mark.parametrize(
    "load",
    [officeqa, custom, ledgerqa, aa_lcr_official, aa_lcr_joined, longbench_v2],
    ids=lambda load: load.__name__,
)
async def test_other_golds_change_nothing_that_an_arm_sees(load: Load, tmp_path: Path) -> None:
    seen, golds = [], []
    for answers in GOLDS.values():
        benchmark = load(tmp_path, answers)
        corpora = {
            source.id: build(source.folders, CorpusConfig(), None) for source in benchmark.corpora.values()
        }
        asked = [await prompts(task.view, corpora[task.corpus]) for task in benchmark.tasks]
        seen.append(
            (
                [(task.view, task.corpus, dict(task.fields)) for task in benchmark.tasks],
                {name: corpus.fingerprint for name, corpus in corpora.items()},
                asked,
            )
        )
        golds.append([task.gold for task in benchmark.tasks])
    assert seen[0] == seen[1] == seen[2]
    assert all(len(asked) == len(VARIANTS) for asked in seen[0][2])
    assert golds[0] != golds[1] and golds[0] != golds[2] and golds[1] != golds[2]
