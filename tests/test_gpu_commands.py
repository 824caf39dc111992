"""What a GPU user is told to type starts what it says, as far as a machine without a GPU can tell.

Each command of the README that has a run start its servers is rendered to the very `vllm serve` (or, where
Ray Serve does it, to the engine's arguments) and compared with `gpu_commands.txt`, to be read by eye. The
Slurm script runs here with programs in place of Slurm's own: they write down how they were called, and `srun`
runs the command on this machine.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import pytest

from pipeline.backbone.serving.auto import chosen
from pipeline.backbone.serving.config import AutoConfig, OnGPUs, RayServeConfig
from pipeline.backbone.serving.fit import Fit, History
from pipeline.backbone.serving.ray_serve_plan import llm_config
from pipeline.backbone.serving.vllm_command import command, environment, flags, settings, sized
from pipeline.config import resolve
from pipeline.runs import tables
from pipeline.runs.replay import replay_run
from pipeline.runs.spec import ArmSpec
from tests.conftest import ROOT
from tests.test_readme import BLOCKS, README, commands_of_marked_blocks

GOLDEN = ROOT / "tests" / "gpu_commands.txt"
SLURM = ROOT / "jobs" / "slurm.sh"


def served_here() -> dict[str, ArmSpec]:
    """The README's commands whose run starts servers on GPUs, with their first arms."""
    found = {}
    for overrides in commands_of_marked_blocks():
        arm = resolve([word for word in overrides if not word.startswith("-")]).arms[0]
        if isinstance(arm.serving, OnGPUs):
            found[shlex.join(overrides)] = arm
    return found


def vllm_serve(serving: OnGPUs, arm: ArmSpec) -> tuple[str, ...]:
    named = flags(serving, arm.backbone, sized(serving, arm.backbone).gpus_each)
    return command(("vllm",), arm.backbone.server.weights or arm.backbone.model, "127.0.0.1", 8000, named)


def rendered(arm: ArmSpec) -> str:
    """What the run starts on a cluster with GPUs: how many, its variables, its command or engine."""
    serving: Any = arm.serving
    if isinstance(serving, AutoConfig):
        serving = chosen(serving, arm.backbone, joined=serving.cluster != "local", gpus=8)
    size = sized(serving, arm.backbone)
    head = f"{size.replicas} × {size.gpus_each} GPUs"
    if isinstance(serving, RayServeConfig):
        config = llm_config(serving, arm.backbone, size.gpus_each, settings(serving))
        return f"{head}, by Ray Serve\n{json.dumps(config['engine_kwargs'], indent=1)}"
    keys = {serving.api_key_env: "KEY"} if serving.api_key_env else {}
    variables = environment(serving, {"OPENAI_API_KEY": "not for it"} | keys)
    said = " ".join(f"{name}={shlex.quote(value)}" for name, value in variables.items())
    return f"{head}\n{said}\n{shlex.join(vllm_serve(serving, arm)).replace(' --', chr(10) + '    --')}"


def test_every_gpu_command_of_the_readme_starts_what_was_read_and_found_right() -> None:
    commands: dict[str, str] = {}
    for words, arm in served_here().items():
        started = rendered(arm)
        commands[started] = commands.get(started, "") + f"$ {words}\n"
    blocks = [f"{words}{started}\n" for started, words in commands.items()]
    assert "\n".join(blocks) == GOLDEN.read_text(encoding="utf-8")


def test_the_readme_shows_one_gpu_eight_gpus_a_cluster_and_slurm() -> None:
    shown = " ".join(served_here())
    for words in (
        "serving=vllm_1gpu",
        "serving=vllm_8gpu",
        "serving.gpus=16",
        "serving=auto",
        "cluster=existing",
    ):
        assert words in shown
    assert "sbatch jobs/slurm.sh" in README and "pip install 'vllm>=" in README


def test_the_server_that_the_readme_shows_is_the_one_that_its_command_starts() -> None:
    (shown,) = [block.text for block in BLOCKS if block.mark == "rendered: tests/test_gpu_commands.py"]
    (arm,) = resolve(["backbone=qwen_1gpu", "serving=vllm_1gpu"]).arms
    assert tuple(shlex.split(shown.replace("\\\n", " "))) == vllm_serve(arm.serving, arm)


def rows(heading: str) -> list[list[str]]:
    """The cells of the README's table below the row `heading`."""
    lines = README.partition(heading)[2].partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines]


def test_the_table_of_models_is_what_the_presets_are() -> None:
    found = rows("| | model | replicas × GPUs |")
    assert len(found) == 4
    for words, model, size, window, holds in found:
        (arm,) = resolve(words.split()).arms
        of = sized(arm.serving, arm.backbone)
        length = arm.serving.max_model_len or arm.backbone.server.max_model_len
        fit = Fit(length, arm.backbone.max_tokens, History())
        assert (model, size, window) == (
            arm.backbone.model,
            f"{of.replicas} × {of.gpus_each}",
            f"{length:,}",
        )
        assert holds == f"{fit.share:.0%}".replace("%", f" %, {fit.turns} turns")
    assert f"about {History().tokens:,} tokens" in README


def test_the_table_of_commercial_models_names_their_keys_variables() -> None:
    found = rows("| `backbone=` | model | key, from the environment |")
    assert len(found) == 4
    for option, model, variable in found:
        (arm,) = resolve([f"backbone={option}"]).arms
        assert (model, variable) == (arm.backbone.model, arm.serving.api_key_env)


def test_thinking_is_switched_by_the_backbones_that_the_readme_names() -> None:
    for option in ("qwen", "qwen_1gpu", "glm_1gpu"):
        (arm,) = resolve([f"backbone={option}", "serving.urls=[http://h/v1]", "backbone.thinking=false"]).arms
        assert arm.backbone.sampling.extra["chat_template_kwargs"] == {"enable_thinking": False}


# --- Slurm -----------------------------------------------------------------------------------------------

SCONTROL = """#!/usr/bin/env bash
printf 'scontrol %s\\n' "$*" >>"$RECORD"
[[ $1 != show ]] || tr , '\\n' <<<"${@: -1}"
"""
SRUN = """#!/usr/bin/env bash
printf 'srun ' >>"$RECORD"
while [[ $1 == --* ]]; do printf '%s ' "$1" >>"$RECORD"; shift; done
printf '\\n' >>"$RECORD"
SLURM_CPUS_ON_NODE=2 exec "$@"
"""
PYTHON = """#!/usr/bin/env bash
if [[ $1 != -m ]]; then exit $(($(grep -c 'start --' "$RECORD") < $2)); fi # have so many nodes joined?
printf '%s %s %s\\n' "$RAY_AUTH_MODE" "$RAY_ADDRESS" "$LONGHARNESS_VLLM_VENV" >>"$RECORD.environment"
printf '%s\\n' "$RAY_AUTH_TOKEN" "${VLLM_API_KEY:-}" >>"$RECORD.keys"
printf 'python %s\\n' "$*" >>"$RECORD"
exec -a "$*" sleep 600
"""
PYTHON_FAILS = "#!/usr/bin/env bash\nexit 1\n"
LONGHARNESS = """#!/usr/bin/env bash
printf 'longharness %s\\n' "$*" >>"$RECORD"
"""
LONGHARNESS_WAITS = """#!/usr/bin/env bash
trap 'printf "stopped\\n" >>"$RECORD"; kill $!; exit 1' TERM
sleep 600 &
printf 'longharness %s\\n' "$*" >>"$RECORD"
wait
"""


@dataclass
class Allocation:
    """A Slurm job's surroundings: programs on the PATH, and what they wrote down."""

    folder: Path
    environment: dict[str, str]
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Run the script as sbatch would: a copy of it, from elsewhere, in a session of its own."""
        copy = self.folder / "slurm_script"
        copy.write_bytes(SLURM.read_bytes())
        process = subprocess.Popen(
            ["bash", str(copy), *words],
            cwd="/",
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.started.append(process)
        return process

    def run(self, *words: str) -> tuple[int, str]:
        """Run it to its end; return its status and what it said."""
        process = self.start(*words)
        said, _ = process.communicate(timeout=240)
        return process.returncode, said

    @property
    def record(self) -> list[str]:
        """How the programs were called, in order."""
        file = self.folder / "record"
        return file.read_text(encoding="utf-8").splitlines() if file.exists() else []

    def alive(self) -> list[str]:
        """The commands that still run with this allocation's job id in them."""
        mark = f"longharness-{self.environment['SLURM_JOB_ID']}".encode()
        found = []
        for file in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = file.read_bytes()
            except OSError:
                continue
            if mark in words:
                found.append(words.replace(b"\0", b" ").decode())
        return found


def program(folder: Path, name: str, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    (folder / name).chmod(0o755)


def prepared(folder: Path, nodes: str, **programs: str) -> Allocation:
    """Slurm's programs, and an environment whose own write down their arguments."""
    for name, text in {"scontrol": SCONTROL, "srun": SRUN}.items():
        program(folder / "slurm", name, text)
    for name, text in {"python": PYTHON, "longharness": LONGHARNESS, **programs}.items():
        program(folder / "venv" / "bin", name, text)
    others = ("RAY_", "SLURM_", "VLLM_", "LONGHARNESS_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(others)}
    return Allocation(
        folder,
        kept
        | {
            "PATH": f"{folder / 'slurm'}:{kept['PATH']}",
            "RECORD": str(folder / "record"),
            "SLURM_JOB_ID": str(os.getpid()),
            "SLURM_JOB_NODELIST": nodes,
            "SLURM_CPUS_PER_TASK": "32",
            "SLURM_GPUS_ON_NODE": "8",
            "SLURM_SUBMIT_DIR": str(folder),
            "LONGHARNESS_VENV": str(folder / "venv"),
        },
    )


@pytest.fixture
def allocation(tmp_path: Path) -> Iterator[Callable[..., Allocation]]:
    """Make an allocation of these nodes; what a failed test leaves of its job is killed."""
    made = []

    def make(nodes: str, **programs: str) -> Allocation:
        made.append(prepared(tmp_path, nodes, **programs))
        return made[-1]

    yield make
    for process in (process for job in made for process in job.started):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.fixture
def two_nodes(allocation: Callable[..., Allocation]) -> Allocation:
    return allocation("gpu01,gpu02")


RUN = ("backbone=qwen", "serving=vllm", "serving.gpus=16", "run=main")


def test_ray_is_started_on_the_first_node_then_on_the_others_then_the_run(two_nodes: Allocation) -> None:
    status, said = two_nodes.run(*RUN)
    assert status == 0, said
    job = int(two_nodes.environment["SLURM_JOB_ID"])
    port = 20_000 + job % 10_000
    ray = "python -m ray.scripts.scripts start"
    node = f"--block --num-cpus=2 --num-gpus=8 --temp-dir=/tmp/longharness-{job}"
    head = f"--head --port={port} --ray-client-server-port={port + 10_000} --include-dashboard=false"
    step = "srun --overlap --nodes=1 --ntasks=1 --ntasks-per-node=1 --nodelist={} --cpus-per-task=32 "
    assert two_nodes.record == [
        "scontrol show hostnames gpu01,gpu02",
        step.format("gpu01"),
        f"{ray} {head} {node}",
        step.format("gpu02"),
        f"{ray} --address=gpu01:{port} {node}",
        f"longharness evaluate cluster=existing serving.api_key_env=VLLM_API_KEY {' '.join(RUN)}",
    ]
    assert two_nodes.alive() == []


def test_every_node_gets_the_token_the_servers_key_and_vllms_environment(two_nodes: Allocation) -> None:
    status, said = two_nodes.run(*RUN)
    assert status == 0, said
    keys = (two_nodes.folder / "record.keys").read_text().splitlines()
    assert keys[:2] == keys[2:] and keys[0] != keys[1]
    assert all(re.fullmatch("[0-9a-f]{64}", key) for key in keys)
    assert not any(key in said or key in "\n".join(two_nodes.record) for key in keys)
    first, second = (two_nodes.folder / "record.environment").read_text().splitlines()
    assert first == second
    assert re.fullmatch(rf"token gpu01:\d+ {re.escape(str(two_nodes.folder))}/\.venv-vllm", first)


def test_a_server_of_somebody_else_is_not_asked_with_the_jobs_key(two_nodes: Allocation) -> None:
    assert two_nodes.run("backbone=gpt", "benchmark=ledgerqa")[0] == 0
    assert two_nodes.record[-1] == "longharness evaluate cluster=existing backbone=gpt benchmark=ledgerqa"
    assert set((two_nodes.folder / "record.keys").read_text().splitlines()[1::2]) == {""}


def test_the_jobs_status_is_the_runs(allocation: Callable[..., Allocation]) -> None:
    job = allocation("gpu01", longharness="#!/usr/bin/env bash\nexit 1\n")
    assert job.run(*RUN)[0] == 1
    assert job.alive() == [] and not [line for line in job.record if "requeue" in line]


def test_a_ray_that_does_not_start_ends_the_job_at_once(allocation: Callable[..., Allocation]) -> None:
    job = allocation("gpu01", python=PYTHON_FAILS)
    status, said = job.run(*RUN)
    assert status == 2 and "Ray ended as it was started" in said
    assert not [line for line in job.record if line.startswith("longharness")]


@pytest.mark.parametrize(
    ("words", "environment", "message"),
    [
        (RUN, {"SLURM_JOB_ID": ""}, "submit it with sbatch"),
        ((), {}, "say what to run"),
        (RUN, {"LONGHARNESS_VENV": "/no/such"}, "run jobs/setup.sh here"),
    ],
)
def test_what_is_missing_is_said_before_anything_starts(
    two_nodes: Allocation, words: tuple[str, ...], environment: dict[str, str], message: str
) -> None:
    two_nodes.environment |= environment
    status, said = two_nodes.run(*words)
    assert status == 2 and message in said
    assert two_nodes.record == []


def until(found: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Wait for a condition that the script's own progress brings about."""
    deadline = time.monotonic() + 200
    while not found():
        assert process.poll() is None and time.monotonic() < deadline, "the job did not get so far"
        time.sleep(0.05)


@pytest.mark.parametrize(("number", "again"), [(signal.SIGUSR1, True), (signal.SIGTERM, False)])
def test_only_a_job_whose_time_is_up_is_queued_again(
    allocation: Callable[..., Allocation], number: int, again: bool
) -> None:
    job = allocation("gpu01", longharness=LONGHARNESS_WAITS)
    process = job.start(*RUN)
    until(lambda: any(line.startswith("longharness") for line in job.record), process)
    process.send_signal(number)
    said, _ = process.communicate(timeout=60)
    assert process.returncode != 0, said
    requeued = [f"scontrol requeue {job.environment['SLURM_JOB_ID']}"] if again else []
    assert [line for line in job.record if line == "stopped" or "requeue" in line] == ["stopped", *requeued]
    assert job.alive() == []


def test_the_options_for_sbatch_ask_for_what_the_script_needs() -> None:
    options = re.findall(r"^#SBATCH (\S+)$", SLURM.read_text(encoding="utf-8"), re.M)
    assert {"--requeue", "--open-mode=append", "--signal=B:USR1@300", "--ntasks-per-node=1"} <= set(options)
    lines = SLURM.read_text(encoding="utf-8").splitlines()
    last = max(n for n, line in enumerate(lines) if line.startswith("#SBATCH"))
    assert all(
        line.startswith("#") for line in lines[:last]
    )  # sbatch reads no further than the first command


@pytest.mark.heavy
@pytest.mark.timeout(600)
def test_a_job_on_a_real_ray_stops_when_its_time_is_up_and_goes_on_when_queued_again(
    allocation: Callable[..., Allocation], tmp_path: Path
) -> None:
    job = allocation("127.0.0.1")
    job.environment |= {
        "LONGHARNESS_VENV": str(Path(sys.executable).parent.parent),
        "LONGHARNESS_CACHE": str(tmp_path / "cache"),
        "PYTHONPATH": str(ROOT),
        "SLURM_GPUS_ON_NODE": "0",
    }
    words = ("experiment=smoke", "seeds=60", "run=job", f"root={tmp_path}")
    progress = tmp_path / "job" / "progress.json"
    process = job.start(*words)

    def some() -> bool:
        return progress.exists() and orjson.loads(progress.read_bytes())["done"] > 0

    until(some, process)
    process.send_signal(signal.SIGUSR1)
    said, _ = process.communicate(timeout=120)
    assert process.returncode == 1, said
    assert job.record[-1] == f"scontrol requeue {job.environment['SLURM_JOB_ID']}"
    assert job.alive() == []
    before = {row["episode_id"] for row in tables.read(tmp_path / "job", "episodes").to_pylist()}
    assert 0 < len(before) < 120
    status, said = job.run(*words)
    assert status == 0, said
    episodes = tables.read(tmp_path / "job", "episodes").to_pylist()
    assert len(episodes) == 120 and before <= {row["episode_id"] for row in episodes}
    assert not replay_run(tmp_path / "job").mismatches
    assert job.alive() == []
    shutil.rmtree(f"/tmp/longharness-{job.environment['SLURM_JOB_ID']}")
