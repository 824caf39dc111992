"""The summary of a run, and its three renderings."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from pipeline.analysis import markdown, score, screen, summary, write
from pipeline.analysis.render import MARK, NOT_A_LANGUAGE_MODEL
from pipeline.benchmarks.scorers import equality
from pipeline.runs import tables
from pipeline.runs.folder import RunFolder, write_json
from tests.analysis import conftest
from tests.analysis.conftest import MakeRun, episode, owed

OFFICEQA = "officeqa 2026-06-13"


@pytest.fixture
def folder(make_run: MakeRun) -> Path:
    """Two arms; `qwen` has three seeds with exact rates of 1, 1/2 and 0, and one owed episode."""
    made = make_run(
        [
            episode("qwen", "t1", 0, "100", turns=5),
            episode("qwen", "t2", 0, "Nebraska", turns=7),
            episode("qwen", "t1", 1, "104", turns=8),
            episode("qwen", "t2", 1, "Nebraska", turns=9),
            episode("qwen", "t1", 2, None, turns=200),
            owed("qwen", "t2", 2),
            episode("reference", "t1", 0, "100"),
        ]
    )
    score(made)
    return made


def shown(folder: Path) -> str:
    console = Console(width=200, record=True, file=StringIO())
    console.print(screen(summary(folder)))
    return console.export_text()


def test_an_arm_has_its_counts_rates_and_tokens(folder: Path) -> None:
    qwen = summary(folder).arms[0]
    figures = qwen.figures
    assert (figures.planned, figures.done, figures.owed) == (6, 5, 1)
    assert figures.statuses == {"answered": 4, "turns_exhausted": 1}
    assert figures.median_turns == 8
    assert (figures.prompt_tokens, figures.cached_tokens, figures.completion_tokens) == (5_000, 4_500, 250)


def test_rates_are_means_over_seeds_with_the_sample_deviation(folder: Path) -> None:
    rates = summary(folder).arms[0].figures.rates
    assert rates[OFFICEQA]["exact"].by_seed == {0: 1.0, 1: 0.5, 2: 0.0}
    assert rates[OFFICEQA]["exact"].mean == 0.5
    assert rates[OFFICEQA]["exact"].sd == 0.5
    assert rates[OFFICEQA]["within_5%"].by_seed == {0: 1.0, 1: 1.0, 2: 0.0}


def test_one_seed_has_no_deviation(folder: Path) -> None:
    rate = summary(folder).arms[1].figures.rates[OFFICEQA]["exact"]
    assert (rate.mean, rate.sd) == (1.0, None)


def test_results_are_broken_down_by_the_fields_that_tasks_have(folder: Path) -> None:
    by = summary(folder).arms[0].by
    assert by.keys() == {"kind"}
    assert by["kind"]["single"].rates[OFFICEQA]["exact"].by_seed == {0: 1.0, 1: 0.0, 2: 0.0}
    assert (by["kind"]["arithmetic"].done, by["kind"]["arithmetic"].owed) == (2, 1)


def test_every_rendering_labels_an_arm_that_is_no_language_model(folder: Path) -> None:
    write(summary(folder), folder)
    table = (folder / "results/table.md").read_text("utf-8")
    data = json.loads((folder / "results/table.json").read_text("utf-8"))
    label = f"reference ({NOT_A_LANGUAGE_MODEL})"
    for text in (table, shown(folder)):
        # in the first table, among the endings, by kind and by scorer
        assert text.count(f"reference {MARK}") == 4
        assert f"{MARK} {NOT_A_LANGUAGE_MODEL}: " in text and "no evidence about any method" in text
        assert f"qwen {MARK}" not in text
    assert [arm["label"] for arm in data["arms"]] == ["qwen", label]
    assert [arm["language_model"] for arm in data["arms"]] == [True, False]


def test_the_markdown_table_shows_the_figures(folder: Path) -> None:
    lines = markdown(summary(folder)).splitlines()
    assert lines[0] == "## Run demo, scored by officeqa 2026-06-13"
    assert lines[2] == "| Arm | Done | Exact % | @5 % | Turns | Input | Cached | Output |"
    assert lines[4] == "| qwen | 5 of 6 | 50.0 ± 50.0 | 66.7 ± 57.7 | 8 | 5.0k | 4.5k | 250 |"
    endings = lines[lines.index("## How episodes ended") :]
    assert endings[2] == "| Arm | Benchmark | answered | turns\\_exhausted | owed |"
    assert endings[4] == "| qwen | ledgerqa | 4 | 1 | 1 |"


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_a_narrow_screen_shows_every_name_and_figure(folder: Path, width: int) -> None:
    made = summary(folder)
    console = Console(width=width, record=True, file=StringIO())
    console.print(screen(made))
    text = console.export_text()
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    table = markdown(made)
    cells = {cell.strip().replace("\\", "") for line in table.splitlines() for cell in line.split("|")}
    figures = {cell for cell in cells if cell[:1].isdigit() and len(cell) < width // 2}
    assert len(figures) > 8
    assert {figure for figure in figures if figure not in text} == set()
    headings = [line for line in text.splitlines() if "Exact %" in line or "Turns" in line or "exact" in line]
    assert all(line.strip().startswith("Arm") for line in headings)


def test_endings_count_what_is_owed(folder: Path) -> None:
    assert "qwen: 1 of 6 episodes are owed: figures may change." in markdown(summary(folder))


def test_the_json_holds_every_metric(folder: Path) -> None:
    write(summary(folder), folder)
    data = json.loads((folder / "results/table.json").read_text("utf-8"))
    exact = data["arms"][0]["figures"]["rates"][OFFICEQA]["exact"]
    assert exact == {"mean": 0.5, "sd": 0.5, "by_seed": {"0": 1.0, "1": 0.5, "2": 0.0}, "unscored": 0}
    assert data["arms"][0]["figures"]["rates"][OFFICEQA].keys() == {
        "exact",
        "within_0.1%",
        "within_1%",
        "within_5%",
    }


def test_unscored_episodes_are_said_and_in_no_mean(make_run: MakeRun) -> None:
    folder = make_run([episode("qwen", "t1", 0, "100")])
    made = summary(folder)
    assert made.arms[0].figures.rates == {}
    assert "1 finished episodes are unscored" in markdown(made)


def test_scorer_failures_are_counted(make_run: MakeRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(conftest.GOLDS, "t1", "")
    folder = make_run([episode("qwen", "t1", 0, "100")])
    assert score(folder).errors == 1
    made = summary(folder)
    assert made.arms[0].figures.scorer_errors == 1
    assert made.arms[0].figures.rates[OFFICEQA]["exact"].mean == 0
    assert "the scorer failed on 1 episodes" in markdown(made)


def test_a_run_without_results_is_shown_as_owed(make_run: MakeRun) -> None:
    folder = make_run([owed("qwen", "t1", 0)])
    score(folder)
    assert "| qwen | 0 of 1 | – | 0 | 0 | 0 |" in markdown(summary(folder))


def test_names_are_shown_as_they_are_and_never_as_markup(make_run: MakeRun) -> None:
    folder = make_run([episode("[red]a|b<script>", "t1", 0, "100")])
    score(folder)
    assert "| \\[red\\]a\\|b\\<script\\> |" in markdown(summary(folder))
    assert "[red]a|b<script>" in shown(folder)


def put_scores(folder: Path, *scores: tuple[str, str, str, str, float | None], params: str = "{}") -> None:
    """Write the table `scores`: rows of episode, scorer, version, metric and value."""
    names = ("episode_id", "scorer", "version", "metric", "value")
    rows = [{**dict(zip(names, each, strict=True)), "params": params, "reason": ""} for each in scores]
    tables.replace(folder, "scores", rows)


def test_the_official_scorer_leads_and_every_other_stands_beside_it(make_run: MakeRun) -> None:
    folder = make_run([episode("qwen", "t1", 0, "100")])
    put_scores(
        folder,
        ("qwen-t1-0", "officeqa", "2026-06-13", "exact", 1.0),
        ("qwen-t1-0", "officeqa", "2025-01-01", "exact", 0.0),
        ("qwen-t1-0", "officeqa_strict", "1", "exact", 0.0),
    )
    made = summary(folder)
    assert made.arms[0].official == (OFFICEQA,)
    lines = markdown(made).splitlines()
    assert lines[0] == "## Run demo, scored by officeqa 2026-06-13"
    assert lines[4].startswith("| qwen | 1 | 100.0 |")
    beside = lines[lines.index("## By every scorer and tolerance, %") :]
    assert beside[4:7] == [
        "| qwen | officeqa 2025-01-01 | 0.0 |",
        "| qwen | officeqa 2026-06-13 | 100.0 |",
        "| qwen | officeqa\\_strict 1 | 0.0 |",
    ]


def test_what_two_models_judged_is_told_apart(make_run: MakeRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conftest, "SCORER", "pipeline.benchmarks.scorers.equality")
    folder = make_run([episode("qwen", "t1", 0, "100")])
    rows = []
    for model, value in (("a", 1.0), ("b", 0.0)):
        put_scores(
            folder,
            ("qwen-t1-0", equality.NAME, equality.VERSION, "correct", value),
            params=json.dumps({"model": model}),
        )
        rows += tables.read(folder, "scores").to_pylist()
    tables.replace(folder, "scores", rows)
    header, _, figures = markdown(summary(folder)).splitlines()[2:5]
    assert header.startswith("| Arm | Done | Correct %, a | Correct %, b |")
    assert figures.startswith("| qwen | 1 | 100.0 | 0.0 |")


def test_notes_explain_the_metrics_that_are_shown(
    folder: Path, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "Exact: the answer is the gold's" in markdown(summary(folder))
    monkeypatch.setattr(conftest, "SCORER", "pipeline.benchmarks.scorers.equality")
    judged = make_run([episode("qwen", "t1", 0, "100")])
    put_scores(judged, ("qwen-t1-0", equality.NAME, equality.VERSION, "correct", 1.0))
    assert "Exact" not in markdown(summary(judged))


def test_recall_of_gold_evidence_has_a_table_of_its_own(make_run: MakeRun) -> None:
    folder = make_run([episode("qwen", "t1", 0, "100"), episode("qwen", "t2", 0, "x")])
    put_scores(
        folder,
        ("qwen-t1-0", "retrieval", "1", "documents_found", 1.0),
        ("qwen-t2-0", "retrieval", "1", "documents_found", 0.5),
    )
    lines = markdown(summary(folder)).splitlines()
    recall = lines[lines.index("## Gold evidence found, read and cited, %") :]
    assert recall[2:5] == [
        "| Arm | Gold | Found | Read | Cited |",
        "|---|---|---:|---:|---:|",
        "| qwen | documents | 75.0 | – | – |",
    ]


def test_data_other_than_the_published_are_labelled(make_run: MakeRun) -> None:
    folder = make_run([episode("qwen", "t1", 0, "100")])
    record = RunFolder(folder).read_record()
    record["arms"]["qwen"]["revision"] = "other revision: questions 1 (published 133)"
    write_json(RunFolder(folder).record, record)
    note = "qwen: ledgerqa is not the published data; other revision: questions 1 (published 133)."
    assert note in markdown(summary(folder))
    assert note in shown(folder)
