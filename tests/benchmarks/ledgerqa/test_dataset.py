"""A dataset is the same everywhere, of the size asked, written whole, and read back as a benchmark."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.benchmarks.ledgerqa import Kind, LedgerQAConfig, Manifest, generate, load
from pipeline.benchmarks.ledgerqa.dataset import BYTES_PER_TOKEN
from pipeline.benchmarks.tasks import Benchmark, Span
from pipeline.config import resolve
from pipeline.corpus import build
from pipeline.errors import BenchmarkError
from pipeline.plugins import locate
from pipeline.runs.plan import make_plan

SMALL = LedgerQAConfig(seed=3, tokens=20_000, questions_per_kind=4)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    cache = tmp_path / "cache"
    monkeypatch.setenv("LONGHARNESS_CACHE", str(cache))
    return cache


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def in_another_process(folder: Path, hash_seed: str, processes: int) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from pipeline.benchmarks.ledgerqa import LedgerQAConfig, generate\n"
        "if __name__ == '__main__':\n"
        f"    config = LedgerQAConfig(seed=3, tokens=20_000, questions_per_kind=4, processes={processes})\n"
        "    generate(config, Path(sys.argv[1]))\n"
    )
    script = folder.parent / f"{folder.name}.py"
    script.write_text(code)
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, str(script), str(folder)], check=True, env=environment, timeout=120)


def test_bytes_do_not_depend_on_process_hash_seed_or_process_count(tmp_path: Path) -> None:
    generate(SMALL, tmp_path / "here")
    in_another_process(tmp_path / "one", hash_seed="1", processes=1)
    in_another_process(tmp_path / "two", hash_seed="2", processes=2)
    here = contents(tmp_path / "here")
    assert len(here) > 8
    assert contents(tmp_path / "one") == here
    assert contents(tmp_path / "two") == here


def test_bytes_of_this_version_are_known(tmp_path: Path) -> None:
    """A change of format or arithmetic must raise `VERSION`; other platforms must give these bytes too."""
    for name, config in (("plain", SMALL), ("noisy", replace(SMALL, seed=5, noise_percent=10))):
        manifest = generate(config, tmp_path / name)
        assert manifest.version == 2
        assert manifest.sha256 == KNOWN[name]


def test_another_seed_gives_other_documents_and_questions(tmp_path: Path) -> None:
    one = generate(SMALL, tmp_path / "one")
    two = generate(replace(SMALL, seed=4), tmp_path / "two")
    assert all(one.sha256[part] != two.sha256[part] for part in one.sha256)


@pytest.mark.parametrize(
    ("tokens", "seed"), [(10_000, 0), (10_000, 1), (50_000, 2), (50_000, 3), (1_000_000, 4)]
)
def test_sizes_are_near_the_tokens_asked(tmp_path: Path, tokens: int, seed: int) -> None:
    config = LedgerQAConfig(seed=seed, tokens=tokens, questions_per_kind=2)
    manifest = generate(config, tmp_path / "dataset")
    documents = list((tmp_path / "dataset" / "documents").iterdir())
    size = sum(path.stat().st_size for path in documents)
    assert abs(size / BYTES_PER_TOKEN / tokens - 1) < 0.1
    assert manifest.bytes == size
    assert manifest.documents == len(documents)


def test_distractors_are_further_tables_of_the_same_name(tmp_path: Path) -> None:
    bases = {}
    for distractors in (0, 3):
        folder = tmp_path / str(distractors)
        generate(replace(SMALL, tokens=60_000, distractors=distractors), folder)
        text = next((folder / "documents").iterdir()).read_text("utf-8")
        titles = {line.partition("—")[2] for line in text.split("\n") if line.startswith("TABLE ")}
        bases[distractors] = {title.rpartition(", ")[2] for title in titles if not title.endswith("Restated")}
    assert [len(found) for found in bases.values()] == [1, 4]


@pytest.mark.parametrize(
    ("change", "names"),
    [
        ({"tokens": 9_999}, "tokens=9999"),
        ({"tokens": 2_000_000_000}, "tokens=2000000000"),
        ({"distractors": 4}, "distractors=4"),
        ({"questions_per_kind": 0}, "questions_per_kind=0"),
        ({"errata_percent": -1}, "errata_percent=-1"),
        ({"late_percent": 26}, "late_percent=26"),
        ({"series_months": 12}, "series_months=12"),
        ({"operands": 9}, "operands=9"),
        ({"seed": 1 << 63}, "seed=9223372036854775808"),
        ({"noise_percent": 51}, "noise_percent=51"),
        ({"kinds": []}, "kinds"),
        ({"tokens": 10_000, "distractors": 3}, "raise tokens"),
        ({"tokens": 10_000, "kinds": [Kind.revision], "questions_per_kind": 900}, "lower questions_per_kind"),
        (
            {
                "kinds": [Kind.revision],
                "revision_percent": 0,
                "errata_percent": 0,
                "late_percent": 0,
                "restated_percent": 0,
            },
            "revision",
        ),
    ],
)
def test_what_can_not_be_made_is_a_clear_error(tmp_path: Path, change: dict[str, object], names: str) -> None:
    with pytest.raises(BenchmarkError, match=names):
        generate(replace(SMALL, **change), tmp_path / "dataset")
    assert not list(tmp_path.glob("*dataset*"))


def test_a_folder_in_use_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "dataset").mkdir()
    (tmp_path / "dataset" / "mine.txt").write_text("mine")
    with pytest.raises(BenchmarkError, match="not empty"):
        generate(SMALL, tmp_path / "dataset")
    assert contents(tmp_path / "dataset") == {"mine.txt": b"mine"}


def test_the_manifest_and_the_datasheet_tell_how_to_make_it_again(tmp_path: Path) -> None:
    manifest = generate(SMALL, tmp_path / "dataset")
    written = json.loads((tmp_path / "dataset" / "manifest.json").read_bytes())
    assert Manifest(**written) == manifest
    sheet = (tmp_path / "dataset" / "README.md").read_text("utf-8")
    for name, value in written["parameters"].items():
        listed = f"'[{','.join(value)}]'" if isinstance(value, list) else value
        assert f"- `{name}`: {listed}\n" in sheet
        assert f" benchmark.{name}={listed}" in sheet
    for kind, count in written["questions"].items():
        (forms,) = re.findall(rf"\| `{kind}` \| {count} \| (.*) \|", sheet)
        assert sum(map(int, re.findall(r"` (\d+)", forms))) == count
    for part in ("Motivation", "Composition", "How it was made", "Uses", "Limits", "Distribution", "verify"):
        assert re.search(rf"^## .*{part}", sheet, re.MULTILINE)


# ---- loading


def spans_hold(benchmark: Benchmark) -> int:
    (folder,) = benchmark.corpora["ledgerqa"].folders
    spans: list[Span] = [s for task in benchmark.tasks for s in (*task.gold.spans, *task.gold.stale_spans)]
    for span in spans:
        assert (folder / span.document).read_text("utf-8")[span.start : span.end] == span.quote
    return len(spans)


def test_a_benchmark_is_loaded_by_its_target() -> None:
    benchmark = locate(SMALL._target_)(SMALL)
    assert benchmark.name == "ledgerqa"
    assert len(benchmark.tasks) == 28
    assert spans_hold(benchmark) > 40
    assert callable(locate(f"{benchmark.scorers[0]}.score"))
    for task in benchmark.tasks:
        assert task.corpus in benchmark.corpora
        assert task.fields["phrasing"] in ("built", "apart")
        assert task.fields["kind"] in task.view.id
        assert task.gold.documents == tuple(sorted({span.document for span in task.gold.spans}))


def test_a_cached_dataset_is_used_as_it_is(own_cache: Path) -> None:
    first = load(SMALL)
    times = {path: path.stat().st_mtime_ns for path in own_cache.rglob("*")}
    assert load(replace(SMALL, processes=2, name="renamed")).tasks == first.tasks
    assert {path: path.stat().st_mtime_ns for path in own_cache.rglob("*")} == times


def test_the_scorers_may_be_others_over_the_same_dataset(own_cache: Path, tmp_path: Path) -> None:
    assert load(SMALL).scorers == ("pipeline.benchmarks.scorers.officeqa",)
    names = ["pipeline.benchmarks.scorers.officeqa_strict", "pipeline.benchmarks.scorers.officeqa"]
    other = load(replace(SMALL, scorers=names))
    assert other.scorers == tuple(names)
    assert "scorers" not in other.parameters
    assert len(list((own_cache / "ledgerqa").iterdir())) == 1
    generate(SMALL, tmp_path / "dataset")
    assert load(LedgerQAConfig(folder=str(tmp_path / "dataset"), scorers=names)).scorers == tuple(names)


def test_two_that_load_at_once_share_one_dataset(own_cache: Path) -> None:
    with ThreadPoolExecutor(2) as pool:
        one, two = pool.map(load, [SMALL, SMALL])
    assert one.tasks == two.tasks
    assert spans_hold(two) > 40
    assert len(list((own_cache / "ledgerqa").iterdir())) == 1


def test_other_parameters_are_another_dataset(own_cache: Path) -> None:
    load(SMALL)
    load(replace(SMALL, seed=4))
    assert len(list((own_cache / "ledgerqa").iterdir())) == 2


@pytest.mark.parametrize(
    "damage", ["document lost", "document shortened", "questions changed", "no manifest"]
)
def test_a_damaged_dataset_is_made_anew(own_cache: Path, damage: str) -> None:
    load(SMALL)
    (folder,) = (own_cache / "ledgerqa").iterdir()
    whole = contents(folder)
    document = next((folder / "documents").iterdir())
    match damage:
        case "document lost":
            document.unlink()
        case "document shortened":
            document.write_bytes(document.read_bytes()[:-10])
        case "questions changed":
            (folder / "questions.jsonl").write_bytes(b"")
        case "no manifest":
            (folder / "manifest.json").unlink()
    assert len(load(SMALL).tasks) == 28
    assert contents(folder) == whole


def test_golds_decide_scores_and_nothing_else(own_cache: Path) -> None:
    before = load(SMALL)
    (path,) = (own_cache / "ledgerqa").glob("*/gold.jsonl")
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    answers = [row["answer"] for row in rows]
    for row, answer in zip(rows, reversed(answers), strict=True):
        row["answer"] = answer
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    after = load(SMALL)
    assert [task.view for task in after.tasks] == [task.view for task in before.tasks]
    assert [task.fields for task in after.tasks] == [task.fields for task in before.tasks]
    assert after.corpora == before.corpora
    assert [task.gold.answer for task in after.tasks] == answers[::-1]


def test_a_folders_own_parameters_are_the_benchmarks(tmp_path: Path) -> None:
    folder = tmp_path / "dataset"
    manifest = generate(SMALL, folder)
    for config in (LedgerQAConfig(), LedgerQAConfig(tokens=SMALL.tokens, seed=SMALL.seed)):
        benchmark = load(replace(config, folder=str(folder)))
        assert len(benchmark.tasks) == 28
        assert benchmark.corpora["ledgerqa"].folders == (folder / "documents",)
        assert benchmark.parameters == manifest.parameters
        assert benchmark.parameters["tokens"] == SMALL.tokens != LedgerQAConfig().tokens
    assert load(SMALL).parameters == manifest.parameters


def test_a_run_records_what_the_folder_was_made_with(tmp_path: Path) -> None:
    folder = tmp_path / "dataset"
    generate(SMALL, folder)
    spec = resolve(["benchmark=ledgerqa", "backbone=reference", f"benchmark.folder={folder}"])
    planned = make_plan(spec, lambda source, corpus: build(source.folders, corpus, None))
    (arm,) = planned.arms.values()
    assert arm.record["parameters"]["seed"] == 3
    assert arm.record["parameters"]["tokens"] == 20_000


def test_a_value_that_the_folder_was_not_made_with_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "dataset"
    generate(SMALL, folder)
    with pytest.raises(
        BenchmarkError, match=r"made with tokens=20000, not 30000: leave out benchmark.tokens"
    ):
        load(LedgerQAConfig(tokens=30_000, folder=str(folder)))


@pytest.mark.parametrize(
    ("damage", "names"),
    [
        ("lost", r"documents/ledger_bulletin_\S+ is missing"),
        ("added", r"documents/more\.txt is no part of it"),
        ("shortened", r"documents/ledger_bulletin_\S+ has [\d,]+ bytes, not"),
        ("edited", r"documents/ledger_bulletin_\S+ has other contents"),
        ("golds", r"gold\.jsonl has other contents"),
        ("questions", r"questions\.jsonl has other contents"),
        ("manifest", r"manifest\.json"),
        ("no manifest", r"manifest\.json"),
        ("version", r"version 1, not 2"),
        ("digests", r"other digests"),
    ],
)
def test_a_damaged_folder_is_refused_by_file(tmp_path: Path, damage: str, names: str) -> None:
    folder = tmp_path / "dataset"
    generate(SMALL, folder)
    document = min((folder / "documents").iterdir())
    golds, questions, manifest = (folder / f for f in ("gold.jsonl", "questions.jsonl", "manifest.json"))
    match damage:
        case "lost":
            document.unlink()
        case "added":
            (folder / "documents" / "more.txt").write_text("more", "utf-8")
        case "shortened":
            document.write_bytes(document.read_bytes()[:-10])
        case "edited":
            document.write_bytes(document.read_bytes().replace(b"Total", b"Tota1", 1))
        case "golds":
            golds.write_bytes(b"".join(reversed(golds.read_bytes().splitlines(keepends=True))))
        case "questions":
            questions.write_bytes(b"".join(reversed(questions.read_bytes().splitlines(keepends=True))))
        case "manifest":
            manifest.write_bytes(b"{}")
        case "no manifest":
            manifest.unlink()
        case "version":
            manifest.write_bytes(manifest.read_bytes().replace(b'"version": 2', b'"version": 1'))
        case "digests":
            digest = json.loads(manifest.read_bytes())["sha256"]["documents"].encode()
            manifest.write_bytes(manifest.read_bytes().replace(digest, digest[::-1]))
    with pytest.raises(BenchmarkError, match=names):
        load(LedgerQAConfig(folder=str(folder)))


GOLD_OF_ANOTHER = (
    '{"id": "x", "answer": "1", "documents": [], "spans": [], "alternates": [], "stale_spans": [], '
    '"expression": "1"}\n'
)


@pytest.mark.parametrize(
    ("file", "text", "names"),
    [
        ("gold.jsonl", "not json\n", "gold.jsonl, row 1"),
        ("gold.jsonl", '{"id": "single-0000"}\n', r"gold.jsonl, row 1 \(line 1\), column answer: empty"),
        ("gold.jsonl", GOLD_OF_ANOTHER, "row 1 .*, column id: .*gold.jsonl has no row of 'single-0000'"),
        (
            "questions.jsonl",
            '{"id": "x", "kind": "single", "phrasing": "built"}\n',
            r"row 1 \(line 1\), column question: empty",
        ),
        ("questions.jsonl", None, "questions.jsonl"),
    ],
)
def test_malformed_files_are_named_with_row_and_column(
    tmp_path: Path, file: str, text: str | None, names: str
) -> None:
    folder = tmp_path / "dataset"
    generate(SMALL, folder)
    if text is None:
        (folder / file).unlink()
    else:
        (folder / file).write_text(text)
    with pytest.raises(BenchmarkError, match=names):
        load(LedgerQAConfig(folder=str(folder)))


KNOWN = {
    "plain": {
        "documents": "de571297290db3452233c3a542c734315c157ca3bc209568b1ac9d771bf339df",
        "questions.jsonl": "25b74d86870f715a5ac11e0a0650690aa5ff0dfda46138fca770c5303b1576c6",
        "gold.jsonl": "e38d0477ee6d0cbfbcad96b7335af2f1bc1a38edeaae639aa7e32e4fd6cdb702",
    },
    "noisy": {
        "documents": "a3d94e16c16f52dd4328fed14a59f98827d12451aec1dd17745337ba60f77c9e",
        "questions.jsonl": "17b5402789e62b9a5692db4f27cab9726fd577be5caeb3fa131f7e3e7d5faa36",
        "gold.jsonl": "59cbb395ad389d5675b0af71d8055ef39be8070d2968a71723491d188ae75179",
    },
}


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("gold.jsonl", '"answer":"', '"answer":5,"was":"', "gold.jsonl, row 1 .*column answer: 5 is no text"),
        ("gold.jsonl", '"start":', '"start":"a","was":', "gold.jsonl, the row of .* is not as it was made"),
        (
            "gold.jsonl",
            '"start":',
            '"start":-',
            "gold.jsonl, the row of .* is not as it was made: .*no place",
        ),
        ("questions.jsonl", '"question":"', '"question":5,"was":"', "row 1 .*column question: 5 is no text"),
        ("manifest.json", '"parameters": {', '"parameters": [1], "was": {', "manifest.json: generate"),
    ],
)
def test_a_folder_whose_values_are_of_another_kind_is_refused_by_row(
    tmp_path: Path, name: str, old: str, new: str, said: str
) -> None:
    generate(SMALL, tmp_path / "data")
    path = tmp_path / "data" / name
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(BenchmarkError, match=said):
        load(LedgerQAConfig(folder=str(tmp_path / "data")))
