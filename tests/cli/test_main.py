"""The command line's frame: verbs, help, exit statuses, what goes to which stream."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from pipeline.benchmarks.tasks import Benchmark
from pipeline.cli import VERBS, main
from tests.corpus.conversion.pdfs import pdf

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "may.txt").write_text(
        "Outlays in May\n\nTotal outlays were 2,963 million dollars.\n", encoding="utf-8"
    )
    (folder / "june.txt").write_text("Receipts in June\n\nTotal receipts were 15.\n", encoding="utf-8")
    return folder


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGHARNESS_CACHE", str(tmp_path / "cache"))


def test_help_lists_every_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    assert all(verb in out for verb in VERBS)


def test_without_a_verb_the_help_is_shown_and_nothing_was_done(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "usage: longharness VERB" in capsys.readouterr().out


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_examples(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([verb, "--help"]) == 0
    out = capsys.readouterr().out
    assert f"longharness {verb} " in out.partition("examples:")[2]


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_refuses_an_option_that_it_lacks(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([verb, "--no-such-option"]) == 2
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["evaluate", "--dryrun"], "unrecognized arguments: --dryrun; did you mean --dry-run?"),
        (["score", "a", "--scorers=x"], "unrecognized arguments: --scorers=x; did you mean --scorer?"),
        (["status", "a", "--qqqq"], "unrecognized arguments: --qqqq"),
        (["search", "--documents", "a"], "the following arguments are required: query"),
        (["ledgerqa"], "the following arguments are required: folder"),
    ],
)
def test_what_cannot_be_parsed_names_what_was_meant_or_is_missing(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert capsys.readouterr().err.endswith(f"error: {said}\n")


@dataclass
class WaitingConfig:
    """A benchmark whose user loses patience while it is read."""

    _target_: str = "tests.cli.test_main.interrupted"


def interrupted(config: WaitingConfig) -> Benchmark:
    raise KeyboardInterrupt


def test_ctrl_c_says_how_to_go_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "benchmark").mkdir()
    (tmp_path / "benchmark" / "waiting.yaml").write_text("_target_: tests.cli.test_main.interrupted\n")
    words = ["--config-dir", str(tmp_path), "benchmark=waiting", f"root={tmp_path}"]
    assert main(["evaluate", *words]) == 1
    assert capsys.readouterr().err.endswith(
        "longharness evaluate: interrupted; what was recorded is kept: the same command again goes on there\n"
    )


def test_an_unknown_verb_is_named_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evalute"]) == 2
    captured = capsys.readouterr()
    assert captured.err == "longharness: there is no verb 'evalute'; did you mean 'evaluate'?\n"
    assert captured.out == ""


def test_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("longharness 0.")


def test_unusable_input_is_one_line_and_verbose_says_where(
    documents: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["search", "--documents", str(documents), "outlays", "corpus.passage_token=5"]
    assert main(words) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "there is no key 'corpus.passage_token'; nearest: corpus.passage_tokens" in error
    assert main([*words, "-v"]) == 2
    assert "Traceback" in capsys.readouterr().err


def test_a_closed_pipe_ends_quietly(documents: Path) -> None:
    command = [sys.executable, "-m", "pipeline", "search", "--documents", str(documents), "outlays", "--json"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    _, error = process.communicate(timeout=60)
    assert b"Traceback" not in error
    assert process.returncode == 1


def test_a_full_disk_and_a_closed_output_are_no_tracebacks(documents: Path) -> None:
    command = [sys.executable, "-m", "pipeline", "index", "--documents", str(documents)]
    with Path("/dev/full").open("w") as full:
        failed = subprocess.run(command, cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True)
    assert failed.returncode == 1 and "Traceback" not in failed.stderr
    assert "longharness index: No space left on device" in failed.stderr
    closed = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", *command], cwd=ROOT, capture_output=True)
    assert closed.returncode == 0 and not closed.stderr


def test_help_needs_none_of_the_heavy_libraries() -> None:
    code = (
        "import sys; from pipeline.cli import main; main(['--help']); "
        "heavy = {'ray', 'hydra', 'omegaconf', 'numpy', 'pyarrow', 'rich', 'aiohttp'} & sys.modules.keys(); "
        "sys.exit(f'loaded {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_trace_does_not_load_ray(documents: Path, tmp_path: Path) -> None:
    """A trace is started once for each case of a suite."""
    replies = tmp_path / "replies.jsonl"
    replies.write_text('"nonsense"\n', encoding="utf-8")
    words = ["trace", "--documents", str(documents), "--responses", str(replies), "--json"]
    code = f"import sys; from pipeline.cli import main; main({words!r}); sys.exit('ray' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["error"]["code"] == "malformed_response"


# --- index, search ---------------------------------------------------------------------------------------


def test_index_says_what_a_corpus_holds_and_where(
    documents: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["index", "--documents", str(documents), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["documents"] == 2
    assert facts["characters"] == sum(len(p.read_text()) for p in documents.iterdir())
    assert Path(facts["folder"]).name == facts["fingerprint"]
    assert Path(facts["folder"]).is_dir()
    assert main(["index", "--documents", str(documents)]) == 0
    assert facts["fingerprint"] in capsys.readouterr().out


def test_search_prints_hits_whose_ranges_hold_the_words(
    documents: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["search", "--documents", str(documents), "outlays 2963", "--json"]) == 0
    hit = json.loads(capsys.readouterr().out)["hits"][0]
    text = (documents / hit["document"]).read_text()[hit["start"] : hit["end"]]
    assert "2,963" in text


def test_search_can_be_kept_to_documents(documents: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "--documents", str(documents), "total", "--in", "june*"]) == 0
    out = capsys.readouterr().out
    assert "june.txt#0" in out and "may.txt" not in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--in", "july*"], "no document's id matches"),
        (["--top-k", "0"], "give a number from 1 to 50"),
        (["--top-k", "51"], "give a number from 1 to 50"),
    ],
)
def test_search_refuses_what_cannot_be_found(
    documents: Path, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["search", "--documents", str(documents), "total", *words]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["index", "search"])
def test_a_folder_without_documents_is_refused(
    verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    query = ["total"] if verb == "search" else []
    assert main([verb, "--documents", str(empty), *query]) == 2
    assert str(empty) in capsys.readouterr().err


# --- ledgerqa, score -------------------------------------------------------------------------------------


def test_ledgerqa_writes_what_it_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "made"
    size = ["benchmark.tokens=20000", "benchmark.questions_per_kind=1"]
    assert main(["ledgerqa", str(folder), *size, "--json"]) == 0
    manifest = json.loads(capsys.readouterr().out)
    assert manifest["documents"] == len(list((folder / "documents").iterdir()))
    assert main(["ledgerqa", str(folder), *size]) == 2
    assert "not empty" in capsys.readouterr().err


def test_ledgerqa_shows_its_configuration_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ledgerqa", str(tmp_path / "made"), "benchmark.tokens=20000", "--cfg", "job"]) == 0
    assert "tokens: 20000\n" in capsys.readouterr().out
    assert not (tmp_path / "made").exists()


def test_score_scores_bare_answers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [
        {"gold": "100", "answer": "<FINAL_ANSWER>104</FINAL_ANSWER>", "tolerance": 0.05},
        {"gold": "100", "answer": "<FINAL_ANSWER>104</FINAL_ANSWER>", "tolerance": 0.01},
    ]
    file = tmp_path / "answers.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert main(["score", "--answers", str(file)]) == 0
    assert [json.loads(line)["score"] for line in capsys.readouterr().out.splitlines()] == [1.0, 0.0]


@pytest.mark.parametrize(
    "words", [[], ["outputs/a", "--answers", "b"], ["/no/such/run"], ["--answers", "/no/such"]]
)
def test_score_refuses_what_it_cannot_score(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", *words]) == 2
    assert capsys.readouterr().out == ""


def test_python_m_pipeline_is_the_same_command() -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "pipeline", "--version"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout[:14]) == (0, "longharness 0.")


def test_index_and_search_read_pdf_and_html_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "mixed"
    folder.mkdir()
    (folder / "report.pdf").write_bytes(pdf(["Outlays rose."]))
    (folder / "page.html").write_text("<p>Receipts fell.</p>")
    assert main(["index", "--documents", str(folder), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["documents"] == 2
    assert main(["search", "--documents", str(folder), "receipts", "--json"]) == 0
    assert [hit["document"] for hit in json.loads(capsys.readouterr().out)["hits"]] == ["page.html"]
