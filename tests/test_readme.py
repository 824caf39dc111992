"""The README is true: its commands are run in order, its queries on the run that they made.

A block of commands that isn't run here says so in a comment above it: which step of CI runs the same, or
which test checks it; its own `longharness` commands are composed all the same.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest

from pipeline.cli import VERBS, main
from pipeline.config.compose import GROUPS, config_folder
from pipeline.harness.config import SwitchesConfig
from pipeline.harness.operations import ConclusionUpdate, operation_forms
from pipeline.harness.schema import signature
from pipeline.runs.schemas import TABLES

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"(?:<!-- (?P<mark>[^\n]+) -->\n)?```(?P<language>\w*)\n(?P<text>.*?)```", re.DOTALL)
STEPS = (
    ".ci/run",
    "tests/backbone/vllm_cpu",
    "tests/backbone/ray_serve_cpu",
    "tests/test_packaging.py",
    "tests/test_gpu_commands.py",
)
SCRIPTS = {
    "jobs/submit.sh": ["cluster=existing"],
    "jobs/slurm.sh": ["cluster=existing", "serving.api_key_env=VLLM_API_KEY"],
}
"""What scripts add to the overrides that they are given."""


@dataclass(frozen=True)
class Block:
    """A fenced block, with the comment above it."""

    mark: str
    language: str
    text: str


BLOCKS = [Block(m["mark"] or "", m["language"], m["text"]) for m in BLOCK.finditer(README)]
COMMANDS = [block for block in BLOCKS if block.language == "bash"]
QUERIES = [block.text for block in BLOCKS if block.language == "sql"]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty folder in which all unmarked blocks were run, in order, as one reader would."""
    folder = tmp_path_factory.mktemp("readme")
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "LONGHARNESS_CACHE": str(tmp_path_factory.mktemp("cache")),
        "RAY_USAGE_STATS_ENABLED": "0",
    }
    for block in BLOCKS:
        if block.mark.startswith("file: "):
            (folder / block.mark.removeprefix("file: ")).write_text(block.text, encoding="utf-8")
        elif block.language == "bash" and not block.mark:
            script = f"set -euo pipefail\n{block.text}"
            done = subprocess.run(
                ["bash", "-c", script],
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, f"{block.text}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return folder


@pytest.mark.heavy
def test_every_command_of_the_readme_works(workspace: Path) -> None:
    assert (workspace / "outputs" / "first" / "results" / "table.md").is_file()
    assert (workspace / "outputs" / "mine" / "results" / "table.json").is_file()
    assert (workspace / "outputs" / "bulletins" / "results" / "table.json").is_file()
    assert (workspace / "mine" / "ledger" / "manifest.json").is_file()


@pytest.mark.heavy
@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.splitlines()[0])
def test_every_query_gives_rows_of_a_real_run(
    query: str, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(workspace)
    rows = duckdb.sql(query).fetchall()
    if "NOT valid" not in query:  # a run may have no refused operation
        assert rows


def test_every_block_that_is_not_run_here_says_where_it_is() -> None:
    marked = [block.mark for block in COMMANDS if block.mark]
    assert all(re.match(r"(run|checked) by: ", mark) for mark in marked)
    for mark in marked:
        step = mark.partition(": ")[2].partition(",")[0]
        assert step in STEPS and (ROOT / step).exists(), mark


def commands_of_marked_blocks() -> list[list[str]]:
    found = []
    for block in (block for block in COMMANDS if block.mark):
        for line in block.text.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            if "longharness" in words and {"evaluate", "serve", "doctor"} & {*words}:
                found.append(words[words.index("longharness") + 2 :])
            for script in SCRIPTS.keys() & {*words}:
                found.append([*words[words.index(script) + 1 :], *SCRIPTS[script]])
    return found


@pytest.mark.parametrize("overrides", commands_of_marked_blocks(), ids=" ".join)
def test_a_command_that_needs_another_machine_composes(
    overrides: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", *overrides, "--cfg", "job"]) == 0, capsys.readouterr().err


def test_the_table_of_columns_is_that_of_the_schemas() -> None:
    rows = ["| table | columns |", "|---|---|"]
    for name, schema in TABLES.items():
        columns = ", ".join(column for column in schema.names if column != "episode_id")
        rows.append(f"| `{name}` | {columns} |")
    shown = README.partition("<!-- columns -->\n")[2].partition("\n<!-- /columns -->")[0]
    assert shown.splitlines() == rows


@pytest.mark.parametrize("group", GROUPS)
def test_every_option_is_in_the_table_of_groups(group: str) -> None:
    row = next(line for line in README.splitlines() if line.startswith(f"| `{group}`"))
    options = {path.stem for path in (config_folder() / group).glob("*.yaml")}
    assert options == set(re.findall(r"`([a-z0-9_]+)`", row)) - {group}


def test_every_verb_is_shown() -> None:
    assert [verb for verb in VERBS if f"longharness {verb}" not in README] == []


def test_links_within_the_page_lead_somewhere() -> None:
    headings = {
        re.sub(r"[^\w\- ]", "", h).strip().lower().replace(" ", "-")
        for h in re.findall(r"^#+ (.+)$", README, re.M)
    }
    assert set(re.findall(r"\]\(#([^)]+)\)", README)) <= headings


def test_the_reference_policy_is_labelled_wherever_its_figures_are() -> None:
    first = README.index("`reference`")
    assert "not a language model" in README[first : first + 120]
    quickstart = (config_folder() / "experiment" / "quickstart.yaml").read_text(encoding="utf-8")
    assert "no\n# language model" in quickstart or "no language model" in quickstart.replace("\n# ", " ")


def test_the_operations_are_those_that_there_are() -> None:
    shown = README.partition("<!-- operations -->\n")[2].partition("\n<!-- /operations -->")[0]
    forms = (*operation_forms(SwitchesConfig()), ConclusionUpdate)
    assert [line for line in shown.splitlines() if line.startswith('{"')][1:] == list(map(signature, forms))
