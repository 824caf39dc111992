"""Search: scores equal bm25s' own, ties by passage order, filters (contract 3.1, 3.4), hits worth reading."""

from __future__ import annotations

from pathlib import Path

import bm25s
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.corpus import Corpus, build
from pipeline.corpus.config import CorpusConfig, IndexConfig, IndexEngine
from pipeline.corpus.search import best
from pipeline.corpus.tokens import terms
from tests.corpus.conftest import FEW, Make, write

REFERENCE = CorpusConfig(index=IndexConfig(engine=IndexEngine.bm25s))
WORDS = st.lists(
    st.sampled_from(["debt", "tax", "2,963", "U.S.", "é", "net", "FFO-1", "\n\n", "5%"]), max_size=40
)
TABLE = """Table 3. - Receipts by Source

(In millions of dollars)

| Month > Unnamed: 0_level_1 | Customs > Total | Unnamed: 2_level_0 |
| --- | --- | --- |
| 1999 - Nov | 1,100 | nan |
| Dec | 1,200 | nan |
| 2000 - Jan | 1,300 | nan |
| Feb | 1,400 | nan |
"""


def ids(corpus: Corpus, query: str, **options: object) -> list[str]:
    return [hit.passage for hit in corpus.search(query, **options).hits]  # type: ignore[arg-type]


@FEW
@given(st.lists(WORDS.map(" ".join), min_size=1, max_size=6), st.floats(0.1, 3), st.floats(0, 1))
def test_the_columnar_index_is_bit_for_bit_that_of_bm25s(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], k1: float, b: float
) -> None:
    folder = write(
        tmp_path_factory.mktemp("d"), {f"{n}": text + TABLE * (n % 2) for n, text in enumerate(texts)}
    )
    ours = build([folder], CorpusConfig(20, IndexConfig(k1=k1, b=b)), None)
    theirs = build([folder], CorpusConfig(20, IndexConfig(IndexEngine.bm25s, k1=k1, b=b)), None)
    for name, array in theirs.arrays().items():
        assert np.array_equal(ours.arrays()[name], array), name
    for query in ("debt", "2963 us", "tax net ffo-1 5%", "dec customs", "nothing"):
        assert ours.search(query) == theirs.search(query)


def test_bm25s_reads_a_saved_corpus_and_gives_the_same_scores(make: Make, tmp_path: Path) -> None:
    corpus = make({f"{n}.txt": f"debt {'tax ' * n} {n},963 {TABLE * (n % 3)}" for n in range(40)})
    corpus.save(tmp_path / "saved")
    index = bm25s.BM25.load(tmp_path / "saved")
    query = terms("tax debt 7,963 customs")
    scores = index.get_scores(query)
    hits = corpus.search("tax debt 7,963 customs", top_k=50).hits
    first = {
        name: int(n) for name, n in zip(corpus.document_ids, corpus.arrays()["passage_firsts"], strict=False)
    }
    assert len(hits) > 20
    for hit in hits:
        assert hit.score == scores[first[hit.document] + int(hit.passage.rpartition("#")[2])]


@FEW
@given(st.lists(st.sampled_from([0, 0, 0.5, 1, 2, 3]), max_size=3_000), st.integers(1, 150))
def test_the_best_are_the_highest_above_zero_and_ties_go_by_passage_order(
    values: list[float], top: int
) -> None:
    scores = np.zeros(-(-len(values) // 512) * 512, np.float32)
    scores[: len(values)] = values
    ranked = sorted((-score, passage) for passage, score in enumerate(values) if score > 0)
    assert best(scores, top).tolist() == [passage for _, passage in ranked[:top]]


def test_ties_break_by_passage_order_on_both_engines(make: Make) -> None:
    texts = {f"{n:03}": f"same words here {chr(97 + n % 7) * 3}{n}" for n in range(60)}
    for config in (CorpusConfig(), REFERENCE):
        assert ids(make(texts, config), "words", top_k=50) == [f"{n:03}#0" for n in range(50)]


def test_two_builds_are_the_same_bytes(make: Make) -> None:
    texts = {f"{n}": f"words {n} {TABLE}" for n in range(9)}
    one, two = make(texts), make(texts)
    assert one.meta() == two.meta()
    for name, array in one.arrays().items():
        assert array.tobytes() == two.arrays()[name].tobytes()


@pytest.mark.parametrize("query", ["2,963", "2963", "$2,963.00", "(2,963)"])
def test_a_number_is_found_whole_however_it_is_written(make: Make, query: str) -> None:
    corpus = make({"a": "total 2,963", "b": "total 2963.0 by", "c": "total 2 and 963", "d": "total 12,963"})
    assert {hit.document for hit in corpus.search(query).hits} == {"a", "b"}


def test_filters_are_ids_and_case_sensitive_globs_and_add_up(make: Make) -> None:
    corpus = make(
        {name: "debt" for name in ("1942/june.txt", "1942/May.txt", "1943/june.txt", "notes[1].txt")}
    )

    def found(*patterns: str) -> list[str]:
        numbers = corpus.matching(patterns)
        assert numbers.tolist() == sorted(set(numbers.tolist()))
        names = [corpus.document_ids[n] for n in numbers]
        assert {hit.document for hit in corpus.search("debt", documents=patterns).hits} == set(names)
        return names

    assert len(found()) == 4
    assert found("*june*") == ["1942/june.txt", "1943/june.txt"]  # `*` crosses `/`
    assert found("*JUNE*") == []
    assert found("nope", "1942/*", "1942/May.txt") == ["1942/May.txt", "1942/june.txt"]
    assert found("194?/june.txt", "notes[[]1].txt") == ["1942/june.txt", "1943/june.txt", "notes[1].txt"]
    assert found("notes[1].txt") == ["notes[1].txt"]  # an id that would be a glob of another name


def test_a_filter_keeps_the_idf_of_the_whole_corpus(make: Make) -> None:
    corpus = make({f"{n}": f"debt {'tax' if n < 3 else 'net'}" for n in range(10)})
    whole = {hit.passage: hit.score for hit in corpus.search("tax debt", top_k=10).hits}
    part = corpus.search("tax debt", documents=["2", "5", "6"])
    assert {hit.passage: hit.score for hit in part.hits} == {
        name: whole[name] for name in ("2#0", "5#0", "6#0")
    }
    assert (part.searched, part.first, part.last, part.matched) == (3, "2", "6", 3)


def test_a_search_says_what_it_searched(make: Make) -> None:
    result = make({"a": "debt", "b": "debt tax", "c": "net"}).search("Debt unheard-of debt")
    assert (result.searched, result.first, result.last) == (3, "a", "c")
    assert (result.matched, result.indexed_terms) == (2, 1)
    result = make({"a": "debt"}).search("zzz")
    assert (result.hits, result.matched, result.indexed_terms) == ((), 0, 0)
    result = make({"a": "debt"}).search("debt", documents=["nope"])
    assert (result.hits, result.searched, result.first, result.last) == ((), 0, "", "")


def test_document_order_reorders_the_best_hits(make: Make) -> None:
    corpus = make({f"{n}": "debt " * (n + 1) + f"w{n} " * 9 for n in range(8)})
    by_score = ids(corpus, "debt", top_k=3)
    assert by_score == ["7#0", "6#0", "5#0"]
    assert ids(corpus, "debt", top_k=3, order="document") == sorted(by_score)


def test_a_snippet_is_the_best_matching_lines(make: Make) -> None:
    lines = [f"Filler line {n} about nothing in particular." for n in range(30)]
    lines[21] = "The debt limit was 2,963 million."
    snippet = make({"a": "\n".join(lines)}).search("debt limit 2963").hits[0].snippet
    assert snippet == lines[21]


def test_a_long_line_shows_the_part_that_matches(make: Make) -> None:
    text = "filler words " * 200 + "the debt limit " + "more words " * 50
    snippet = make({"a": text}).search("debt limit").hits[0].snippet
    assert "the debt limit" in snippet
    assert len(snippet) <= 460


def test_a_table_hit_has_title_unit_header_and_range_and_rows_inherit_the_year(make: Make) -> None:
    corpus = make({"a": "Prose before it. " * 30 + "\n\n" + TABLE + "\nProse after it.\n"})
    hit = corpus.search("customs feb 1400").hits[0]
    head = "Table 3. - Receipts by Source\n(In millions of dollars)\nMonth | Customs > Total\n"
    assert hit.snippet.startswith(head)
    assert "(2000) | Feb | 1,400 |  |" in hit.snippet
    assert hit.table is not None
    assert corpus.text(0, hit.table.start, hit.table.end) == TABLE.rstrip()
    assert hit.table in corpus.tables(0)


def test_a_table_names_other_documents_with_a_table_of_its_title(make: Make) -> None:
    titles = [
        "Table 3. - Receipts by Source",
        "TABLE FFO-3.—Receipts by Source, Dec. 31, 1999",
        "Table 3. Outlays",
    ]
    corpus = make({f"{n}": TABLE.replace(titles[0], titles[n % 3]) + f"\nword{n}\n" for n in range(6)})
    by_document = {hit.document: hit.same_title for hit in corpus.search("customs", top_k=50).hits}
    same = by_document["0"]
    assert same is not None
    assert (same.documents, same.first, same.last) == (1, "3", "3")


def test_near_identical_passages_are_one_hit_that_names_the_others(make: Make) -> None:
    boilerplate = "Budget authority usually takes the form of appropriations that allow obligations, {} {}."
    more = " and payments to be made by agencies, in later years as well."
    texts = {f"{y}": boilerplate.format("June", y) + more for y in range(1990, 2000)}
    corpus = make({**texts, "other": "obligations of budget authority"})
    hits = corpus.search("budget authority appropriations obligations", top_k=5).hits
    assert sorted(hit.document for hit in hits) == ["1990", "other"]
    leader = next(hit for hit in hits if hit.document == "1990")
    assert leader.also == tuple(f"{y}#0" for y in range(1991, 1999))


def test_short_passages_that_are_the_same_stay_apart(make: Make) -> None:
    assert ids(make({"b": "the debt", "a": "the debt"}), "debt") == ["a#0", "b#0"]


def test_tables_that_differ_in_one_figure_are_never_collapsed(make: Make) -> None:
    corpus = make({"issue": TABLE, "revised": TABLE.replace("1,400", "1,450"), "reprint": TABLE})
    hits = corpus.search("customs total feb").hits
    assert {(hit.document, hit.also) for hit in hits} == {("issue", ("reprint#0",)), ("revised", ())}


def test_contents_pages_are_weighted_down_and_the_switch_turns_it_off(make: Make) -> None:
    topics = [
        "Federal debt",
        "Savings bonds",
        "Customs receipts",
        "Gold stock",
        "Trust funds",
        "Silver",
        "Tax",
    ]
    contents = "Contents\n\n" + "".join(
        f"{topic} operations .... {3 * n + 1}\n" for n, topic in enumerate(topics)
    )
    prose = "The gold stock rose in the year, as did " + "many other quantities of interest here " * 8
    texts = {"contents": contents, "prose": prose}
    assert ids(make(texts), "gold stock") == ["prose#0", "contents#0"]
    plain = CorpusConfig(index=IndexConfig(contents_weight=1.0))
    assert ids(make(texts, plain), "gold stock") == ["contents#0", "prose#0"]


def test_a_small_table_is_no_contents_page(make: Make) -> None:
    rows = "".join(f"| Some agency {n} | {value} |\n" for n, value in enumerate([40, 12, 99, 3, 57, 20, 31]))
    corpus = make({"a": f"Table 1. - Staff\n\n| Agency | Number |\n| --- | --- |\n{rows}"})
    assert len(corpus.arrays()["contents"]) == 0
