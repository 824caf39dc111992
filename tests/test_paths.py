"""What is kept in the cache is made once, and is whole or not there."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.paths import made_once

MAKE = """
import os, sys, time
from pathlib import Path
from pipeline.paths import made_once

def make(folder):
    folder.mkdir()
    (folder / "first").write_text("half")
    with open(sys.argv[2], "a") as log:
        log.write("made\\n")
    print("making", flush=True)
    sys.stdin.readline()
    (folder / "second").write_text("whole")

folder = made_once(Path(sys.argv[1]), make, lambda folder: (folder / "second").exists())
assert (folder / "first").exists() and (folder / "second").exists()
"""


def maker(folder: Path, log: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", MAKE, str(folder), str(log)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_of_processes_that_want_it_at_once_one_makes_it(tmp_path: Path) -> None:
    log = tmp_path / "log"
    makers = [maker(tmp_path / "cache/it", log) for _ in range(8)]
    for one in makers:
        assert one.stdin is not None
        one.stdin.write("go\n")
        one.stdin.flush()
    assert [one.wait(60) for one in makers] == [0] * 8
    assert log.read_text() == "made\n"
    assert names(tmp_path / "cache") == {"it"}


def test_what_a_killed_process_left_is_no_part_of_it_and_is_removed(tmp_path: Path) -> None:
    folder, log = tmp_path / "cache/it", tmp_path / "log"
    killed = maker(folder, log)
    assert killed.stdout is not None and killed.stdout.readline() == "making\n"
    killed.send_signal(signal.SIGKILL)
    killed.wait(60)
    assert not folder.exists() and len(names(tmp_path / "cache")) == 2  # its lock, too
    assert maker(folder, log).communicate("go\n", timeout=60) == ("making\n", None)
    assert names(tmp_path / "cache") == {"it"}


def test_what_is_not_whole_is_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "it"
    folder.mkdir()
    (folder / "stray").touch()

    def make(new: Path) -> None:
        new.mkdir()
        (new / "whole").touch()

    assert made_once(folder, make, lambda made: (made / "whole").exists()) == folder
    assert names(folder) == {"whole"}


def test_what_can_not_be_made_leaves_nothing(tmp_path: Path) -> None:
    def make(new: Path) -> None:
        new.mkdir()
        raise ValueError("no such thing")

    with pytest.raises(ValueError, match="no such thing"):
        made_once(tmp_path / "cache/it", make, Path.is_dir)
    assert names(tmp_path / "cache") == set()
