"""Search terms: folded words, numbers whole, and the bulk path equal to the plain one."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pipeline.corpus import estimate_tokens
from pipeline.corpus.terms import occurrences
from pipeline.corpus.tokens import terms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2,963 2963 2963.0 $2,963 (2,963) -2,963.00", "2963 2963 2963 2963 2963 2963"),
        ("6.20 0.50 1,234.5 12,345,678", "6.2 0.5 1234.5 12345678"),
        ("1,2345 12,34 007", "1 2345 12 34 007"),
        ("12.5% 3 per cent", "12.5 percent 3 per cent"),
        ("Café naïve Straße İstanbul ﬁn", "cafe naive strasse istanbul fin"),
        ("U.S. u.s.a US", "us usa us"),
        ("Moody's Moody’s don't", "moody moody dont"),
        ("TABLE FFO-1.—Summary FFO–1", "table ffo 1 ffo-1 summary ffo 1 ffo-1"),
        ("Series E on-budget 1998-02 10-K", "series e on budget 1998 02 10 k"),
        ("total¹ 1,234² 5½", "total 1234 5"),
        ("the of and", "the of and"),
        ("中文 abc", "中 文 abc"),
        ("…;:!?_ \x00", ""),
    ],
)
def test_terms_are_what_a_reader_would_search_for(text: str, expected: str) -> None:
    assert " ".join(terms(text)) == expected


ROWS = st.lists(
    st.one_of(
        st.text(st.sampled_from("ab1 2,.-'%é’—中\n09s"), max_size=24),
        st.text(max_size=16),
        st.from_regex(r"-?\$?\d{1,3}(,\d{3}){0,2}(\.\d{0,3})?%?", fullmatch=True),
    ),
    max_size=5,
)


@given(ROWS)
@example(["1,", "234"])
@example(["ffo-1,234 1.2.3 a.b.cd 1,234,56"])
@example(["Ω’s ά-1 x’é"])
def test_the_bulk_path_finds_the_same_terms(rows: list[str]) -> None:
    row, term, distinct = occurrences([text.encode() for text in rows])
    names = distinct.to_pylist()
    assert len(set(names)) == len(names)
    found = [[names[t] for t in term[row == number]] for number in range(len(rows))]
    assert found == [terms(text) for text in rows]


@given(st.text())
def test_tokens_are_a_quarter_of_the_bytes_rounded_up(text: str) -> None:
    assert estimate_tokens(text) == -(-len(text.encode()) // 4)
