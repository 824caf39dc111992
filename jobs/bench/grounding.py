"""Grounding on real documents: true operands found, seeded wrong ones caught, and at what cost.

    python jobs/bench/grounding.py --shared ../shared

True operands are those of the treasury questions' gold evidence: every printing of each (the span itself,
where else it stands, earlier and later issues), as a calculator's literal, and in a statement with its unit.
Each is looked up in a cited text that ends with its row: the row alone, its table, and windows of 4, 16 and
64 kB.

Wrong ones are drawn from the true with a fixed seed. One that by chance stands in the cited text, by a plain
search for its digits that shares no code with what is measured, isn't wrong: those are counted apart.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

from pipeline.figures import Grounds, figures, free

LENGTHS = {"row": 0, "table": 1, "4 kB": 4_096, "16 kB": 16_384, "64 kB": 65_536}
_UNITS = {"thousand": 3, "million": 6, "billion": 9}


@dataclass(frozen=True)
class Operand:
    """A number of the gold evidence as one document prints it at `start`, and the text around."""

    uid: str
    literal: str  # as an expression has it: "-1295591", "106.15"
    unit: str
    document: str
    start: int
    end: int
    table: int

    @property
    def row(self) -> tuple[int, int]:
        """Where its line starts and ends."""
        end = self.document.find("\n", self.end)
        return self.document.rfind("\n", 0, self.start) + 1, end if end >= 0 else len(self.document)

    def cited(self, length: str) -> str:
        """Return the text that is cited for it: up to the end of its row, from a line's start."""
        begin, end = self.row
        size = LENGTHS[length]
        low = begin if size == 0 else self.table if size == 1 else max(0, end - size)
        if size > 1 and low:
            low = self.document.find("\n", low) + 1
        return self.document[min(low, begin) : end]

    def after(self) -> str:
        """Return what follows the cited text."""
        return self.document[self.row[1] : self.row[1] + 3000]


def operands(shared: Path) -> list[Operand]:
    """Return every printing of every operand of the gold evidence, each once."""
    folder = shared / "data" / "treasury"
    documents: dict[str, str] = {}
    found: dict[tuple[str, str, int], Operand] = {}

    def add(uid: str, unit: str, place: dict[str, object], table: object) -> None:
        name, start, end = str(place["file"]), int(str(place["start"])), int(str(place["end"]))
        if name not in documents:
            documents[name] = (folder / "documents" / name).read_text(encoding="utf-8")
        digits = re.sub(r"[^0-9.-]", "", documents[name][start:end])
        literal = f"{Decimal(digits).normalize():f}"
        own = table if isinstance(table, int) else documents[name].rfind("\n\n", 0, start) + 1
        found.setdefault((uid, name, start), Operand(uid, literal, unit, documents[name], start, end, own))

    for line in (folder / "gold_evidence.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        for span in row["spans"] + row["stale_spans"]:
            add(row["uid"], span["unit"], span, span["table_start"])
            for other in span.get("alternates", ()):
                add(row["uid"], span["unit"], other, other.get("table_start"))
        for vintage in row["vintages"]:
            for issue in vintage["issues"]:
                add(row["uid"], row["spans"][vintage["span"]]["unit"], issue, None)
    return list(found.values())


# Wrong operands


def _changed(operand: Operand, text: str, chooser: random.Random) -> str:
    places = [place for place, sign in enumerate(operand.literal) if sign.isdigit()]
    place = chooser.choice(places)
    other = chooser.choice([d for d in "123456789" if d != operand.literal[place]])
    return operand.literal[:place] + other + operand.literal[place + 1 :]


def _transposed(operand: Operand, text: str, chooser: random.Random) -> str | None:
    signs = operand.literal
    pairs = [
        at for at in range(len(signs) - 1) if signs[at : at + 2].isdigit() and signs[at] != signs[at + 1]
    ]
    if not pairs:
        return None
    at = chooser.choice(pairs)
    return signs[:at] + signs[at + 1] + signs[at] + signs[at + 2 :]


def _dropped(operand: Operand, text: str, chooser: random.Random) -> str:
    place = chooser.choice([place for place, sign in enumerate(operand.literal) if sign.isdigit()])
    return operand.literal[:place] + operand.literal[place + 1 :]


def _neighbour(operand: Operand, text: str, chooser: random.Random) -> str | None:
    """A number of at least two digits from the rows after the cited text."""
    others = re.findall(r"(?<![\w.,/-])-?[0-9][0-9,]*(?:\.[0-9]+)?(?![\w/])", operand.after())
    others = [other.replace(",", "") for other in others if sum(map(str.isdigit, other)) > 1]
    return chooser.choice(others) if others else None


def _shifted(operand: Operand, text: str, chooser: random.Random) -> str | None:
    """Off by a power of ten for which the cited text has no unit word."""
    has = {power for word, power in _UNITS.items() if word in text.lower()}
    if "percent" in text.lower() or "%" in text:
        has.add(-2)
    power = chooser.choice([p for p in (-6, -3, -2, -1, 1, 2, 3, 6, 9) if p not in has])
    return f"{Decimal(operand.literal).scaleb(power).normalize():f}"


def _negated(operand: Operand, text: str, chooser: random.Random) -> str | None:
    """A minus before a number that the text prints without one (the other way round is arithmetic)."""
    return None if operand.literal.startswith("-") else f"-{operand.literal}"


KINDS: dict[str, Callable[[Operand, str, random.Random], str | None]] = {
    "a digit changed": _changed,
    "digits transposed": _transposed,
    "a digit dropped": _dropped,
    "a neighbouring row's": _neighbour,
    "off by a power of ten": _shifted,
    "a minus added": _negated,
}


def stands(literal: str, text: str) -> bool:
    """Say by a plain search whether a text has a number of these digits, grouped or not, with its minus."""
    number = Decimal(literal)
    whole, _, decimals = f"{abs(number):f}".partition(".")
    decimals = decimals.rstrip("0")
    grouped = f"{int(whole):,}"
    fraction = rf"\.{decimals}0*" if decimals else r"(?:\.0+)?"
    zero = "0?" if whole == "0" else ""
    digits = rf"(?:{zero or whole}|{grouped}){fraction}(?![0-9]|[.,][0-9])"
    before = r"(?:[-−–] ?\$?|\(\$? ?)" if number < 0 else r"(?<![0-9.])(?<![0-9],)"
    return re.search(before + digits, text) is not None


@dataclass
class Tally:
    """Of one kind: how many were drawn, stood in the text by chance, were caught; which passed as true."""

    drawn: int = 0
    chance: int = 0
    caught: int = 0
    passed: list[str] = field(default_factory=list)

    @property
    def rate(self) -> float:
        """The share caught of those that the text doesn't have."""
        return self.caught / max(1, self.drawn - self.chance)


def found(operand: Operand, length: str) -> Iterator[tuple[str, bool]]:
    """Yield each way to write a true operand, and whether it is found in its cited text."""
    grounds = Grounds({"s1": operand.cited(length)})
    number = Decimal(operand.literal)
    for literal in dict.fromkeys((operand.literal, repr(float(number)), operand.literal.lstrip("-"))):
        yield literal, grounds.operand(literal) is not None
    word = operand.unit.split()[0]
    words = f" {word}" if word in (*_UNITS, "percent") else ""
    for written in (
        f"{number:,}{words}",
        f"({abs(number):,}){words}" if number < 0 else f"{number:f}{words}",
    ):
        yield written, all(grounds.figure(figure) for figure in figures(f"It was {written}."))


def caught(gold: list[Operand], length: str, seed: int = 0, draws: int = 5) -> dict[str, Tally]:
    """Draw wrong operands for each true one, at most `draws` of a kind; return a tally by kind."""
    chooser = random.Random(seed)
    tallies: dict[str, Tally] = defaultdict(Tally)
    for operand in gold:
        text = operand.cited(length)
        grounds = Grounds({"s1": text})
        for kind, draw in KINDS.items():
            tally = tallies[kind]
            for wrong in dict.fromkeys(draw(operand, text, chooser) for _ in range(draws)):
                if wrong is None or free(wrong) or Decimal(wrong) == Decimal(operand.literal):
                    continue
                tally.drawn += 1
                if stands(wrong, text):
                    tally.chance += 1
                elif grounds.operand(wrong) is None:
                    tally.caught += 1
                else:
                    tally.passed.append(f"{operand.uid} {operand.literal} → {wrong}")
    return dict(tallies)


def present(gold: list[Operand], length: str, digits: int, seed: int = 0, draws: int = 20) -> float:
    """Return the share of random whole numbers with so many digits that the cited texts happen to have."""
    chooser = random.Random(seed)
    hits = 0
    for operand in gold[::4]:
        grounds = Grounds({"s1": operand.cited(length)})
        drawn = [str(chooser.randrange(10 ** (digits - 1), 10**digits)) for _ in range(draws)]
        hits += sum(grounds.operand(literal) is not None for literal in drawn)
    return hits / (draws * len(gold[::4]))


def milliseconds(run: Callable[[], object], repeats: int) -> float:
    """Return the best CPU time of `repeats` runs."""
    times = []
    for _ in range(repeats):
        began = time.process_time_ns()
        run()
        times.append((time.process_time_ns() - began) / 1e6)
    return min(times)


def cost(gold: list[Operand]) -> tuple[float, float, float]:
    """Return the median and the highest milliseconds to build 64 kB of grounds, and the median of a query."""
    texts = {operand.cited("64 kB") for operand in gold}
    builds = sorted(milliseconds(lambda text=text: Grounds({"s1": text}), 5) for text in sorted(texts)[:20])
    grounds = Grounds({"s1": gold[0].cited("64 kB")})
    asked = [operand.literal for operand in gold]
    query = milliseconds(lambda: [grounds.operand(literal) for literal in asked], 20) / len(asked)
    return builds[len(builds) // 2], builds[-1], query


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--shared", type=Path, default=Path(__file__).resolve().parents[3] / "shared")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    gold = operands(options.shared)
    print(f"{len(gold)} printings of the operands of {len({operand.uid for operand in gold})} questions")
    for length in LENGTHS:
        ways = [(operand, way, ok) for operand in gold for way, ok in found(operand, length)]
        failed = [f"{operand.uid} {way}" for operand, way, ok in ways if not ok]
        print(f"\ncited: {length}. True: {len(ways) - len(failed)} of {len(ways)} found {failed[:5] or ''}")
        for kind, tally in caught(gold, length, options.seed).items():
            print(
                f"  {kind:<24} drawn {tally.drawn:>5}, by chance in the text {tally.chance:>4},"
                f" caught of the others {tally.rate:>7.2%}, of all {tally.caught / tally.drawn:>7.2%}"
                f"  {tally.passed[:2] or ''}"
            )
        shares = (
            f"{digits} digits {present(gold, length, digits, options.seed):.1%}" for digits in range(2, 7)
        )
        print(f"  a random whole number is in the text: {', '.join(shares)}")
    median, highest, query = cost(gold)
    print(f"\n64 kB of grounds: {median:.1f} ms at the median, {highest:.1f} at most (CPU)")
    print(f"a query: {query:.4f} ms")


if __name__ == "__main__":
    main()
