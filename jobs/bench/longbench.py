"""LongBench v2 Long: reading `data.json`, first and again, and the memory that it takes.

    python jobs/bench/longbench.py                          a generated file of the published size
    python jobs/bench/longbench.py --rows 6 --long 3        a smaller one; its longest document is as long
    python jobs/bench/longbench.py --data data.json         one that is there

Peak memory is that of a process which does nothing else (VmHWM).
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import orjson

from pipeline.benchmarks.longbench_v2.config import LongBenchV2Config
from pipeline.benchmarks.longbench_v2.loading import load

SHORT_CHARACTERS = 600_000
"""A document that is not long has so many: the generated file is as large as the published one, 465 MB."""


def lengths(rows: int, long: int, longest: int) -> Iterator[tuple[str, int]]:
    """Yield each row's `length` and how many characters its document has: in the median long one, 1.2M."""
    for number in range(rows):
        if number >= long:
            yield ("short", "medium")[number % 2], SHORT_CHARACTERS
        else:
            yield "long", longest if number == 0 else 800_000 + 800_000 * number // long


def row(number: int, length: str, characters: int) -> dict[str, str]:
    """A row of the published schema."""
    chance = random.Random(number)
    words = [
        chance.choice(("treaty", "règle", "“signed”", "the", "of", "1953", "a\nnew")) for _ in range(5_000)
    ]
    page = " ".join(words) + "\n"
    context = (page * (characters // len(page) + 1))[:characters]
    choices = {f"choice_{letter}": f"It is {letter}." for letter in "ABCD"}
    return {
        "_id": f"{number:024x}",
        "domain": ("Single-Document QA", "Code Repository Understanding")[number % 2],
        "sub_domain": "Legal",
        "difficulty": ("easy", "hard")[number % 2],
        "length": length,
        "question": f"What does document {number} say?",
        **choices,
        "answer": "ABCD"[number % 4],
        "context": context,
    }


def generate(path: Path, rows: int, long: int, longest: int) -> None:
    """Write a file of the published schema, a row at a time."""
    with path.open("wb") as file:
        for number, (length, characters) in enumerate(lengths(rows, long, longest)):
            file.write(b",\n" if number else b"[")
            file.write(orjson.dumps(row(number, length, characters)))
        file.write(b"]\n")


def peak_bytes() -> int:
    """Return the most memory that this process has had."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.partition("VmHWM:")[2].split()[0])


def measure(data: Path) -> None:
    """Load twice, and print what it took."""
    before = peak_bytes()
    for what in ("first", "again"):
        began = time.perf_counter()
        benchmark = load(LongBenchV2Config(questions=str(data), allow_other_revision=True))
        seconds = time.perf_counter() - began
        print(
            f"{what}: {len(benchmark.tasks)} long questions of {data.stat().st_size / 1e6:,.0f} MB in "
            f"{seconds:.2f} s; peak {peak_bytes() / 1e6:,.0f} MB, of which {before / 1e6:,.0f} MB before"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=503)
    parser.add_argument("--long", type=int, default=108)
    parser.add_argument("--longest", type=float, default=16e6, help="characters of the longest document")
    parser.add_argument("--data", type=Path)
    options = parser.parse_args()
    if options.data:
        measure(options.data)
        return
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data.json"
        generate(data, options.rows, options.long, int(options.longest))
        environment = os.environ | {"LONGHARNESS_CACHE": f"{folder}/cache"}
        subprocess.run([sys.executable, __file__, "--data", str(data)], env=environment, check=True)


if __name__ == "__main__":
    main()
