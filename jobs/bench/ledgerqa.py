"""Generating LedgerQA, and peers that only write: megabytes a second of CPU time, and peak memory by size.

    python jobs/bench/ledgerqa.py --tokens 1e6 1e7

Each has a process of its own. CPU seconds are user and system, imports left out. `csv` writes the same rows,
their figures at hand as integers, by the standard library; `copy` copies the documents file by file. Neither
has to come by the figures, so they are what writing alone takes.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

_WHOLE = re.compile(r"-?\d+")


def ours(work: Path, tokens: int, questions: int) -> float:
    """Generate a dataset. Returns the CPU seconds."""
    from pipeline.benchmarks.ledgerqa import LedgerQAConfig, generate

    config = LedgerQAConfig(tokens=tokens, questions_per_kind=questions)
    began = time.process_time()
    generate(config, work / "dataset")
    return time.process_time() - began


def by_csv(work: Path, *_: int) -> float:
    """Write every document's table rows with `csv`, the other lines as they are. Returns the CPU seconds."""
    folder, seconds = work / "csv", 0.0
    folder.mkdir()
    for document in sorted((work / "dataset" / "documents").iterdir()):
        rows = [_row(line) for line in document.read_text("utf-8").split("\n")]
        began = time.process_time()
        with (folder / document.name).open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, delimiter="|", lineterminator="\n").writerows(rows)
        seconds += time.process_time() - began
    return seconds


def _row(line: str) -> list[str | int]:
    cells = line.split(" | ") if line.startswith("| ") else [line]
    return [int(cell) if _WHOLE.fullmatch(cell) else cell for cell in cells]


def by_copy(work: Path, *_: int) -> float:
    """Copy the documents. Returns the CPU seconds."""
    began = time.process_time()
    shutil.copytree(work / "dataset" / "documents", work / "copy")
    return time.process_time() - began


WRITERS: dict[str, Callable[..., float]] = {"ledgerqa": ours, "csv": by_csv, "copy": by_copy}


def measure(writer: str, work: Path, tokens: int, questions: int) -> dict[str, Any]:
    """Run a writer in a process of its own."""
    command = [sys.executable, __file__, "--writer", writer, "--work", str(work)]
    command += ["--tokens", str(tokens), "--questions", str(questions)]
    result: dict[str, Any] = json.loads(
        subprocess.run(command, check=True, capture_output=True, text=True).stdout
    )
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--tokens", type=float, nargs="+", default=[1e6, 1e7], help="sizes (1e6 1e7)")
    parser.add_argument("--questions", type=int, default=10, help="questions of each kind (10)")
    parser.add_argument("--writer", choices=WRITERS, help=argparse.SUPPRESS)
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.writer is not None:
        seconds = WRITERS[options.writer](options.work, int(options.tokens[0]), options.questions)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        print(json.dumps({"cpu": seconds, "peak": peak}))
        return
    print(f"{'tokens':>12}{'MB':>8}  {'writer':<10}{'CPU s':>8}{'MB/s':>8}{'peak MB':>9}{'ratio':>7}")
    for tokens in map(int, options.tokens):
        with tempfile.TemporaryDirectory() as temporary:
            work = Path(temporary)
            results = {writer: measure(writer, work, tokens, options.questions) for writer in WRITERS}
            size = sum(file.stat().st_size for file in (work / "dataset" / "documents").iterdir()) / 1e6
        for writer, result in results.items():
            row = f"{tokens:>12,}{size:>8.1f}  {writer:<10}{result['cpu']:>8.2f}{size / result['cpu']:>8.1f}"
            print(f"{row}{result['peak'] / 1e6:>9.0f}{results['ledgerqa']['cpu'] / result['cpu']:>7.1f}")


if __name__ == "__main__":
    main()
