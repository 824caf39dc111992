"""Scores a second of the scorers that ask nobody, and of a bare comparison of numbers beside them.

    python jobs/bench/scores.py [--pairs 20000]

Golds are figures, years, texts and lists as questions over tables have them; answers are right, off by
little or much, dressed with words and units, between tags after a line of reasoning, or of another kind. One
core, by the process's own clock. A score is one verdict at one tolerance; `four tolerances` reads each answer
once.
"""

from __future__ import annotations

import argparse
import random
import re
import time
from collections.abc import Callable, Iterable

from pipeline.benchmarks.scorers import answer, longbench_v2, officeqa, officeqa_strict
from pipeline.benchmarks.tasks import Gold

Pair = tuple[str, str]
_NUMBER = re.compile(r"-?\d+(?:,\d{3})*(?:\.\d+)?")


def pairs(count: int, seed: int = 0) -> list[Pair]:
    """Return golds with answers to them, the same for a seed."""
    chance = random.Random(seed)
    return [_pair(chance) for _ in range(count)]


def _pair(chance: random.Random) -> Pair:
    value = round(chance.uniform(-(10**6), 10**7), chance.choice((0, 1, 2)))
    given = value * chance.choice((1, 1, 1, 1.0005, 1.03, 2))
    unit = chance.choice(("", "", " million", "%"))
    gold, said = f"{value:,}{unit}", f"{given:,.2f}{unit}"
    kind = chance.random()
    if kind < 0.2:
        more = [round(chance.uniform(0, 10**5), 1) for _ in range(chance.randint(1, 5))]
        gold, said = f"[{value}, {', '.join(map(str, more))}]", f"{given}, {', '.join(map(str, more))}"
    elif kind < 0.35:
        year = chance.randint(1940, 2020)
        gold, said = f"March {year}", f"in {chance.choice(('March', 'June'))} {year}"
    elif kind < 0.45:
        gold, said = (
            "Nebraska",
            chance.choice(("Nebraska", "nebraska.", "Iowa", "It can't be told from these")),
        )
    if chance.random() < 0.3:
        return (
            gold,
            f"The table gives 2 figures for 1953; the later one counts.\n<FINAL_ANSWER>{said}</FINAL_ANSWER>",
        )
    return gold, chance.choice((said, said, f"${said}", f"{said} (FY 1953)", f"{said}B"))


def bare(gold: str, said: str, tolerance: float) -> bool:
    """The peer: every number of the gold is among those of the answer; no units, years, texts or forms."""
    wanted, given = ([float(n.replace(",", "")) for n in _NUMBER.findall(text)] for text in (gold, said))
    return all(any(abs(w - g) <= tolerance * abs(w) for g in given) for w in wanted)


def rate(call: Callable[[Pair], object], every: Iterable[Pair], scores: int = 1) -> float:
    """Return scores a second over `every` pair; each call makes `scores` of them. Best of three rounds."""
    several = list(every)
    best = float("inf")
    for _ in range(3):
        started = time.process_time()
        for pair in several:
            call(pair)
        best = min(best, time.process_time() - started)
    return scores * len(several) / best


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=20_000)
    every = pairs(parser.parse_args().pairs)
    peer = rate(lambda pair: bare(*pair, 0.05), every)
    rows = {
        "bare numbers (peer)": peer,
        "officeqa, one tolerance": rate(lambda pair: officeqa.score_answer(*pair, 0.05), every),
        "officeqa, four tolerances": rate(lambda pair: officeqa.score(Gold(pair[0]), pair[1]), every, 4),
        "officeqa_strict, four": rate(lambda pair: officeqa_strict.score(Gold(pair[0]), pair[1]), every, 4),
        "answer": rate(lambda pair: answer.score_answer(*pair, 0.05), every),
        "longbench_v2": rate(lambda pair: longbench_v2.score_answer("B", pair[1], 0), every),
    }
    right = sum(officeqa.score_answer(*pair, 0.05) for pair in every)
    print(
        f"{len(every):,} pairs, {right / len(every):.0%} right within 5 %; scores a second, and to the peer"
    )
    for name, figure in rows.items():
        print(f"{name:27} {figure:12,.0f} {figure / peer:6.2f}")


if __name__ == "__main__":
    main()
