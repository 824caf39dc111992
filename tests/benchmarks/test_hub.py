"""Files of a benchmark, local or on the hub: the hub's own library against a server that plays the hub."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.benchmarks.hub import Obtained, obtain
from pipeline.errors import BenchmarkError
from tests.benchmarks.aa_lcr import published as aa_lcr
from tests.benchmarks.hub_server import COMMIT, Hub, serving
from tests.benchmarks.longbench_v2 import published as longbench_v2

FILES = {
    "questions.csv": b"uid,question\n",
    "texts/a.txt": b"Text A\n",
    "texts/deep/b [1].txt": b"Text B\n",
    "texts-2/c.txt": b"Text C\n",
}
PLACE = "hf://datasets/acme/bulletins"
ASK = """
import sys
from pipeline.benchmarks.hub import obtain
from pipeline.errors import BenchmarkError
try:
    found = obtain("documents", sys.argv[1], "Accept the terms.")
except BenchmarkError as error:
    print(error)
    sys.exit(2)
print(found.path, found.origin, sep="\\n")
"""


LOAD = """
import sys
from pipeline.config import resolve
from pipeline.plugins import locate
(arm,) = resolve([*sys.argv[1:], "benchmark.allow_other_revision=true"]).arms
benchmark = locate(arm.benchmark._target_)(arm.benchmark)
print(len(benchmark.tasks), *benchmark.origins)
"""


@pytest.fixture(scope="module")
def hub() -> Iterator[Hub]:
    with serving(FILES) as server:
        yield server


def asked(place: str, cache: Path, endpoint: str, **more: str) -> tuple[int, str]:
    """Obtain `place`; return the exit status and what was printed."""
    return ran([ASK, place], cache, endpoint, **more)


def ran(script: list[str], cache: Path, endpoint: str, **more: str) -> tuple[int, str]:
    """Run a script in a process of its own: the hub's library reads the environment as it is imported."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    environment = (
        kept | {"HF_HOME": str(cache), "HF_ENDPOINT": endpoint, "HF_HUB_DISABLE_TELEMETRY": "1"} | more
    )
    done = subprocess.run(
        [sys.executable, "-c", *script], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 2), done.stderr
    return done.returncode, done.stdout.strip()


def fetched(place: str, cache: Path, endpoint: str, **more: str) -> Obtained:
    code, told = asked(place, cache, endpoint, **more)
    assert code == 0, told
    path, origin = told.splitlines()
    return Obtained(Path(path), origin)


def refused(place: str, cache: Path, endpoint: str, **more: str) -> str:
    code, told = asked(place, cache, endpoint, **more)
    assert code == 2
    return told


def test_a_local_path_is_itself(tmp_path: Path) -> None:
    assert obtain("documents", str(tmp_path)) == Obtained(tmp_path)


def test_a_missing_path_is_named_with_its_key_and_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(
        BenchmarkError, match=r"^benchmark\.questions: '.*/q\.csv' is not there\. Get it at X$"
    ):
        obtain("questions", str(tmp_path / "q.csv"), "Get it at X.")


@pytest.mark.parametrize(
    "place", ["hf://acme/bulletins/a.txt", "hf://datasets/acme/bulletins", "hf://datasets/bulletins/@x/a"]
)
def test_a_place_that_is_none_is_refused(place: str) -> None:
    with pytest.raises(BenchmarkError, match=r"write hf://datasets/OWNER/NAME/PATH"):
        obtain("questions", place)


def test_a_file_is_fetched_once_with_the_commit_that_it_is_of(tmp_path: Path, hub: Hub) -> None:
    found = fetched(f"{PLACE}/questions.csv", tmp_path, hub.url)
    assert found.path.read_bytes() == FILES["questions.csv"]
    assert found.origin == f"hf://datasets/acme/bulletins@{COMMIT}/questions.csv"
    hub.asked.clear()
    assert fetched(f"{PLACE}@{COMMIT}/questions.csv", tmp_path, hub.url) == found
    assert [path for path in hub.asked if "acme" in path] == []


def test_a_folder_is_fetched_whole_and_nothing_beside_it(tmp_path: Path, hub: Hub) -> None:
    found = fetched(f"{PLACE}@v1.1/texts", tmp_path, hub.url)
    files = {str(path.relative_to(found.path)): path for path in found.path.rglob("*") if path.is_file()}
    assert {f"texts/{name}": path.read_bytes() for name, path in files.items()} == {
        name: content for name, content in FILES.items() if name.startswith("texts/")
    }
    assert not (found.path.parent / "texts-2").exists()
    assert fetched(f"{PLACE}/texts/deep/b [1].txt", tmp_path, hub.url).path.read_bytes() == b"Text B\n"


def test_what_was_fetched_is_found_without_a_network(tmp_path: Path, hub: Hub) -> None:
    found = fetched(f"{PLACE}/texts", tmp_path, hub.url)
    assert fetched(f"{PLACE}/texts", tmp_path, hub.url, HF_HUB_OFFLINE="1") == found


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("hf://datasets/acme/gated/texts", "it is gated; accept its terms on its page"),
        ("hf://datasets/acme/none/texts", "the hub has no such dataset, or not for all to see"),
        (f"{PLACE}@v9/texts", "the dataset has no such revision"),
        (f"{PLACE}/text", f"the dataset has no 'text' at commit {COMMIT}"),
    ],
)
def test_what_the_hub_refuses_is_told_with_the_way_around_it(
    tmp_path: Path, hub: Hub, place: str, reason: str
) -> None:
    told = refused(place, tmp_path, hub.url)
    dataset, _, wanted = place.removeprefix("hf://datasets/").rpartition("/")
    assert told.startswith(f"benchmark.documents: {place} can't be fetched: {reason}")
    assert f"get {wanted!r} of https://huggingface.co/datasets/{dataset.partition('@')[0]}" in told
    assert "name it: benchmark.documents=PATH. Accept the terms" in told


@pytest.mark.parametrize("offline", ["0", "1"])
def test_without_a_network_the_error_says_what_to_put_where(tmp_path: Path, offline: str) -> None:
    with serving({}) as gone:
        pass  # nobody listens at its port from here on
    told = refused(f"{PLACE}/texts", tmp_path, gone.url, HF_HUB_OFFLINE=offline)
    assert "can't be fetched: the hub can't be reached, and its cache has not all of it" in told
    assert "get 'texts' of https://huggingface.co/datasets/acme/bulletins" in told


def test_without_the_extra_the_error_names_it(tmp_path: Path) -> None:
    (tmp_path / "huggingface_hub.py").write_text("raise ModuleNotFoundError('no huggingface_hub')\n")
    path = os.pathsep.join([str(tmp_path), str(Path(__file__).parents[2])])
    told = refused(f"{PLACE}/texts", tmp_path, "http://127.0.0.1:9", PYTHONPATH=path)
    assert "it is the extra hub: pip install 'longharness[hub]'" in told


def test_a_benchmarks_folder_may_be_a_place_on_the_hub_and_its_commit_is_told(tmp_path: Path) -> None:
    questions = aa_lcr.write_questions(tmp_path / "questions.csv", [aa_lcr.row(1, "L’été.txt")])
    texts = aa_lcr.write_archive(tmp_path / "texts.zip", {"lcr/Company/co_one/L’été.txt": b"Text\n"})
    files = {
        "AA-LCR_Dataset.csv": questions.read_bytes(),
        "extracted_text/AA-LCR_extracted-text.zip": texts.read_bytes(),
        "data.json": longbench_v2.write(tmp_path, [longbench_v2.row(1), longbench_v2.row(2)]).read_bytes(),
    }
    cache = {"LONGHARNESS_CACHE": str(tmp_path / "cache")}
    with serving(files) as hub:
        for option, tasks, names in (("aa_lcr", 1, list(files)[:2]), ("longbench_v2_long", 2, ["data.json"])):
            words = [f"benchmark={option}", f"benchmark.folder={PLACE}@v1.1"]
            code, told = ran([LOAD, *words], tmp_path / "hub", hub.url, **cache)
            assert (code, told.split()) == (0, [str(tasks), *(f"{PLACE}@{COMMIT}/{name}" for name in names)])
