"""Passages tile every document, follow its paragraphs and tables, and stay in their limit (contract 3)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.corpus import Corpus, Passage, build, estimate_tokens
from pipeline.corpus.config import CorpusConfig
from pipeline.errors import CorpusError
from tests.corpus.conftest import FEW, Make, write

PIECE = st.sampled_from(
    [
        *("\n", "\n\n", " \r\n", "word ", "é—😀", "x" * 90, "a\tb", "\r"),
        "TABLE A-1.—Title\n",
        "[In millions]\n",
        "| a | b |\n",
        "| --- | --- |\n",
        "| 1 | nan |\n",
        "Label ..  1,234  5\n",
        "  1  2  3\n",
        "--- PAGE 3 ---\n",
    ]
)


def passages(corpus: Corpus, document: int = 0) -> list[Passage]:
    name, found = corpus.document_ids[document], []
    while (passage := corpus.passage(f"{name}#{len(found)}")) is not None:
        found.append(passage)
    return found


@FEW
@given(st.lists(PIECE, max_size=60).map("".join), st.sampled_from([1, 2, 7, 30, 1_024]))
def test_passages_tile_the_text_within_their_limit(
    tmp_path_factory: pytest.TempPathFactory, text: str, limit: int
) -> None:
    folder = write(tmp_path_factory.mktemp("d"), {"a": text, "b": "after"})
    corpus = build([folder], CorpusConfig(passage_tokens=limit), None)
    found = passages(corpus)
    assert "".join(corpus.text(0, p.start, p.end) for p in found) == text
    assert [p.start for p in found] == [0, *(p.end for p in found[:-1])][: len(found)]
    assert all(p.start < p.end and corpus.tokens(0, p.start, p.end) <= limit for p in found)
    assert passages(corpus, 1)[0].start == 0
    for table in corpus.tables(0):
        assert 0 <= table.start < table.end <= len(text)


@pytest.mark.parametrize("limit", [0, -1])
def test_passages_of_no_size_are_refused(tmp_path: Path, limit: int) -> None:
    with pytest.raises(CorpusError, match=f"passage_tokens={limit} is too small: 1 is the least"):
        build([write(tmp_path, {"a": "word"})], CorpusConfig(passage_tokens=limit), None)


def texts(corpus: Corpus) -> list[str]:
    return [corpus.text(0, p.start, p.end) for p in passages(corpus)]


def test_a_passage_is_a_paragraph_and_a_heading_stays_with_what_follows(make: Make) -> None:
    first, second = "One two three. " * 30, "Four five six. " * 30
    text = f"Heading\n\n{first}\n\n{second}\n"
    assert texts(make({"a": text})) == [f"Heading\n\n{first}\n\n", f"{second}\n"]


def test_a_long_paragraph_is_cut_after_line_ends(make: Make) -> None:
    lines = [f"Line {number} of a paragraph that is longer than a passage.\n" for number in range(200)]
    found = texts(make({"a": "".join(lines)}))
    assert len(found) > 1
    assert all(text.endswith("\n") for text in found)
    assert all(estimate_tokens(text) > 1_000 for text in found[:-1])


def test_a_single_enormous_line_is_cut_after_blanks_or_between_code_points(make: Make) -> None:
    found = texts(make({"a": "word " * 5_000}))
    assert all(text.endswith(" ") and len(text) > 4_000 for text in found[:-1])
    found = texts(make({"a": "é中😀" * 3_000}))
    assert [len(text.encode()) for text in found[:-1]] >= [4_093] * (len(found) - 1)


def pipe_table(rows: int) -> str:
    body = "".join(f"| {1900 + number} | {number},000 | nan |\n" for number in range(rows))
    header = "| Year | Sum > Net | Unnamed: 2_level_0 |\n| --- | --- | --- |\n"
    return f"Table 1. - Receipts\n\n(In millions)\n\n{header}{body}"


def test_a_table_is_a_passage_from_its_title_to_its_last_row(make: Make) -> None:
    table = pipe_table(5)
    before, after = "Prose before the table. " * 20, "Prose after the table. " * 20
    assert texts(make({"a": f"{before}\n\n{table}\n{after}"})) == [before + "\n\n", table + "\n", after]


def test_a_long_table_is_cut_between_rows_and_keeps_its_header_with_its_first_rows(make: Make) -> None:
    corpus = make({"a": pipe_table(2_000)})
    found = texts(corpus)
    assert len(found) > 5
    assert found[0].startswith("Table 1. - Receipts")
    assert "| 1900 | 0,000 | nan |" in found[0]
    assert all(re.fullmatch(r"(\| \d+ \| \d+,000 \| nan \|\n)+", text) for text in found[1:])
    last = corpus.search("receipts net millions 3899", top_k=1).hits[0]
    assert last.passage == f"a#{len(found) - 1}"  # later pieces are indexed with title, unit line and header
    assert last.snippet.startswith("Table 1. - Receipts\n(In millions)\nYear | Sum > Net\n")


@pytest.mark.parametrize(
    "passage_id", ["a#2", "a#-1", "a#01", "a#", "a", "b#0", "#0", "a#٠", "a#1e0", "", "a#99999999999"]
)
def test_an_unknown_passage_is_none(make: Make, passage_id: str) -> None:
    assert make({"a": "one\n"}).passage(passage_id) is None


def test_a_document_of_many_megabytes_works(make: Make) -> None:
    text = ("Some words and 1,234 numbers — in a line of a large document.\n" * 9 + "\n") * 15_000
    corpus = make({"a": text})
    assert corpus.length(0) == len(text)
    assert corpus.text(0, 8_000_000, 8_000_040) == text[8_000_000:8_000_040]
