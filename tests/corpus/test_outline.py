"""The document map: bounded, deterministic, and every line of it is a filter that selects what it says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import translate
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.corpus import build, estimate_tokens
from pipeline.corpus.config import CorpusConfig
from pipeline.corpus.outline import outline
from tests.corpus.conftest import FEW, write

GOLDEN = Path(__file__).parent / "golden" / "outline_1435.txt"
LINE = re.compile(
    r"(?P<indent> *)(?P<filter>.*) \((?:(?P<count>[\d,]+) documents, )?[\d,.]+[kMB]? tokens"
    r"(?:, \d{4}–\d{4})?(?:; first .*, last .*)?\)(?:: (?P<names>.*))?"
)
MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september")


def bulletins() -> list[str]:
    """Monthly to 1982-11, quarterly from 1983-03, as the real bulletins are named: 697 of them."""
    monthly = [(year, month) for year in range(1939, 1983) for month in range(1, 13)][:527]
    quarterly = [(year, month) for year in range(1983, 2026) for month in (3, 6, 9, 12)]
    return [f"treasury_bulletin_{year}_{month:02}.txt" for year, month in monthly + quarterly][:697]


def statements() -> list[str]:
    """Two centuries of statements and serial-set documents beside the bulletins: 1,435 in all."""
    chooser = Random(1)
    names = {f"combined_statement_{year}.txt" for year in range(1871, 2025)} | set(bulletins())
    while len(names) < 1_435:
        names.add(f"serial_set_{chooser.randint(1793, 1937)}_{chooser.randint(1, 9)}.txt")
    return sorted(names)


def sizes(names: Sequence[str]) -> list[int]:
    chooser = Random(2)
    return [chooser.randint(9_000, 300_000) for _ in names]


def selected(line: re.Match[str], names: Sequence[str]) -> list[str]:
    """The documents that a line's filter selects, by the rule of contract 3.4."""
    if line["filter"] in names:
        return [line["filter"]]
    return list(filter(re.compile(translate(line["filter"])).match, names))


def check(drawn: str, names: Sequence[str]) -> None:
    """Every line selects as many documents as it says; the innermost select all documents, once."""
    lines = [LINE.fullmatch(line) for line in drawn.splitlines() if not line.startswith("Each line")]
    found: list[str] = []
    for at, line in enumerate(lines):
        assert line is not None, drawn
        chosen = selected(line, names)
        assert len(chosen) == int((line["count"] or "1").replace(",", "")), line[0]
        below = lines[at + 1] if at + 1 < len(lines) else None
        if below is None or len(below["indent"]) <= len(line["indent"]):
            found += chosen
    assert sorted(found) == sorted(names)


def test_5_4_few_documents_are_listed_with_their_sizes() -> None:
    assert outline(["a.txt", "b/c.txt"], [12, 45_600], 4_000) == "a.txt (12 tokens)\nb/c.txt (45.6k tokens)"


def test_5_4_hundreds_of_documents_are_named_one_by_one_with_their_sizes() -> None:
    names = bulletins()
    drawn = outline(names, sizes(names), 4_000)
    assert len(names) == 697 and estimate_tokens(drawn) <= 4_000
    check(drawn, names)
    for year in (1939, 1982, 2024):
        line = next(line for line in drawn.splitlines() if f"_{year}_*.txt" in line)
        months = re.findall(r"(\d\d) [\d.]+k", line)
        assert months == [name[-6:-4] for name in names if f"_{year}_" in name]


def test_5_4_the_map_of_1435_documents_is_as_reviewed() -> None:
    names = statements()
    drawn = outline(names, sizes(names), 4_000)
    assert len(names) == 1_435 and estimate_tokens(drawn) <= 4_000
    check(drawn, names)
    if not GOLDEN.exists():
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(f"{drawn}\n", encoding="utf-8")
        pytest.fail(f"{GOLDEN} was missing and is written now: read it, then run again")
    assert f"{drawn}\n" == GOLDEN.read_text(encoding="utf-8")


def random_names(count: int, shape: str) -> list[str]:
    chooser = Random(3)
    return sorted({shape.format(chooser.getrandbits(128), chooser.randint(1900, 1999)) for _ in range(count)})


COLLECTIONS = {
    "folders": [f"{year}/{month}.txt" for year in range(1890, 2020) for month in MONTHS],
    "dates in the middle": [f"report_{y}_{month}.txt" for y in range(1890, 2020) for month in MONTHS],
    "dates in full": [
        f"wb_{year}-{month:02}-{day:02}_part{part}.txt"
        for year in range(1940, 1960)
        for month in range(1, 13)
        for day in (5, 19)
        for part in (1, 2)
    ],
    "dates behind names": random_names(2_000, "{0:032x}_{1}.txt"),
    "names of no pattern": random_names(10_000, "{0:032x}.txt"),
    "ten thousand numbers": [f"doc_{number:05}.txt" for number in range(10_000)],
    "numbers without zeros": [f"doc_{number}" for number in range(0, 20_000, 2)],
    "long names": [f"{'a very long name ' * 14}{number}.txt" for number in range(400)],
    "titles": [
        f"Set {s}/Größe – Jahr {y}, Teil 日本 {s * y % 7}.txt" for s in range(30) for y in range(1990, 2020)
    ],
    "a name in a name": ["a" * length for length in range(1, 250)],
}


@pytest.mark.parametrize("names", COLLECTIONS.values(), ids=COLLECTIONS)
@pytest.mark.parametrize("tokens", [4_000, 400])
def test_5_4_any_collection_fits_and_every_line_is_a_filter(names: list[str], tokens: int) -> None:
    names = sorted(names)
    drawn = outline(names, sizes(names), tokens)
    assert estimate_tokens(drawn) <= tokens
    assert drawn == outline(names, sizes(names), tokens)
    check(drawn, names)


def test_5_4_names_that_begin_with_chance_are_grouped_by_year() -> None:
    names = COLLECTIONS["dates behind names"]
    drawn = outline(names, sizes(names), 4_000)
    assert re.search(r"^\*_1942\.txt \(\d+ documents, ", drawn, re.MULTILINE)
    assert len(re.findall(r"^\*_19\d\d\.txt ", drawn, re.MULTILINE)) == 100


@FEW
@given(
    st.lists(st.text(st.sampled_from("ab01_/[*?é, –"), min_size=1, max_size=6), min_size=1, unique=True),
    st.integers(60, 400),
)
def test_5_4_every_line_selects_what_it_says(
    tmp_path_factory: pytest.TempPathFactory, names: list[str], budget: int
) -> None:
    paths = {"d" + re.sub("/+", "/", name).rstrip("/") + ".1942.txt": "word" for name in names}
    corpus = build([write(tmp_path_factory.mktemp("d"), paths)], CorpusConfig(), None)
    drawn = corpus.outline(budget)
    assert estimate_tokens(drawn) <= budget
    check(drawn, corpus.document_ids)
    for line in map(LINE.fullmatch, drawn.splitlines()):
        if line:  # the corpus reads a filter as this test does
            found = [corpus.document_ids[number] for number in corpus.matching([line["filter"]])]
            assert found == selected(line, corpus.document_ids)


@FEW
@given(
    st.lists(
        st.tuples(
            st.text(st.sampled_from("ab1_-"), max_size=4),
            st.sampled_from(["1942", "1943", "19421", "1942-03", "194203", "1943/1942"]),
            st.text(st.sampled_from("a1_2"), max_size=3),
        ),
        min_size=20,
        unique=True,
    ),
    st.integers(60, 300),
)
def test_5_4_years_anywhere_in_a_name_make_no_wrong_filter(
    parts: list[tuple[str, str, str]], budget: int
) -> None:
    names = sorted({"".join(part) for part in parts})
    drawn = outline(names, [10_000] * len(names), budget)
    assert estimate_tokens(drawn) <= budget
    check(drawn, names)


@pytest.mark.parametrize(("tokens", "drawn"), [(6, "* (697 documents)"), (3, "*"), (0, "")])
def test_5_4_an_absurd_bound_still_holds(tokens: int, drawn: str) -> None:
    assert outline(bulletins(), [1] * 697, tokens) == drawn
