"""The document map: bounded, deterministic, and every group in it is a filter that selects it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.corpus import build, estimate_tokens
from pipeline.corpus.config import CorpusConfig
from pipeline.corpus.outline import outline
from tests.corpus.conftest import RELAXED, write

LINE = re.compile(r"(?P<glob>.*) \((?:(?P<count>\d+) documents, )?[\d,]+ tokens(?:: ….* to ….*)?\)")


def bulletins(count: int) -> list[str]:
    return [f"treasury_bulletin_{1939 + n // 12}_{n % 12 + 1:02}.txt" for n in range(count)]


def test_few_documents_are_listed_with_their_sizes() -> None:
    assert outline(["a.txt", "b/c.txt"], [12, 3_456], 4_000) == "a.txt (12 tokens)\nb/c.txt (3,456 tokens)"


@pytest.mark.parametrize("count", [153, 697, 1_435])
def test_hundreds_of_documents_fit_and_say_where_to_look(count: int) -> None:
    names = bulletins(count)
    drawn = outline(names, [165_000] * count, 4_000)
    assert estimate_tokens(drawn) <= 4_000
    lines = [LINE.fullmatch(line) for line in drawn.splitlines()]
    assert all(lines)
    assert sum(int(line["count"] or 1) for line in lines if line) == count
    assert len(lines) >= 20


@RELAXED
@given(
    st.lists(st.text(st.sampled_from("ab01_/[*?é"), min_size=1, max_size=6), min_size=1, unique=True),
    st.integers(60, 400),
)
def test_every_group_is_a_glob_that_selects_it(
    tmp_path_factory: pytest.TempPathFactory, names: list[str], budget: int
) -> None:
    paths = {"d" + re.sub("/+", "/", name).rstrip("/") + ".txt": "word" for name in names}
    corpus = build([write(tmp_path_factory.mktemp("d"), paths)], CorpusConfig(), None)
    drawn = corpus.outline(budget)
    assert estimate_tokens(drawn) <= budget
    assert drawn == corpus.outline(budget)
    seen: list[int] = []
    for line in drawn.splitlines():
        match = LINE.fullmatch(line)
        assert match is not None, drawn
        found = corpus.matching([match["glob"]]).tolist()
        assert len(found) == int(match["count"] or 1)
        seen += found
    assert seen == list(range(len(corpus.document_ids)))


def test_an_absurd_bound_still_holds() -> None:
    assert estimate_tokens(outline(bulletins(697), [1] * 697, 3)) <= 3
