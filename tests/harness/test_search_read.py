"""search and read: contract 3.1 to 3.9."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from pipeline.corpus import build
from pipeline.corpus.config import CorpusConfig
from tests.harness.conftest import BIG, DOCUMENTS, JUNE, MARCH, NOTES, SPAN, Opener, read, search, write


def test_3_1_hits_name_passage_range_score_and_a_navigation_snippet(episode: Opener) -> None:
    turn = episode().send(search("corrected May 1942", top_k=2))
    assert turn.result
    best = turn.result["hits"][0]
    assert (
        best["document"] == JUNE and best["passage"].startswith(f"{JUNE}#") and "corrected" in best["snippet"]
    )
    summary, hit = turn.observation.split("\n\n")[:2]
    assert summary.startswith("[turn 1] search: 2 of ")
    assert summary.endswith(f"; {len(DOCUMENTS)} documents searched, {JUNE} … {NOTES}")
    assert hit.startswith(f"1. {best['passage']} [{best['start']}:{best['end']}] score {best['score']:.2f}\n")
    assert f"```text\n{best['snippet']}\n```" in hit


def test_3_1_order_document_gives_the_hits_in_order_of_documents(episode: Opener) -> None:
    opened = episode()
    hits = [opened.send(search("May 1942", order=order)).result["hits"] for order in ("score", "document")]  # type: ignore[index]
    assert sorted(hits[0], key=lambda hit: (hit["document"], hit["start"])) == hits[1]


def test_3_1_a_filter_to_few_documents_lists_their_tables(tmp_path: Path, episode: Opener) -> None:
    rows = "\n".join(f"| {year} | {year * 3} |" for year in range(1930, 1940))
    text = "".join(
        f"{title}\n\n| Year | Total |\n| --- | --- |\n{rows}\n\nSome words.\n\n"
        for title in ("Table 1.—Receipts by source", "Table 2.—Public debt")
    )
    corpus = build([write(tmp_path, {"a.txt": text})], CorpusConfig(), None)
    tables = corpus.tables(0)
    assert len(tables) == 2
    opened = episode(over=corpus)
    fit = opened.send(search("receipts 1935", documents=["a.txt"])).observation
    assert "tables of a.txt that fit the query (1):" in fit and f"[{tables[0].start}:{tables[0].end}]" in fit
    every = opened.send(search("1935", documents=["a.txt"])).observation
    assert "tables of a.txt in all (2):" in every
    assert "tables of" not in opened.send(search("receipts")).observation


def test_3_2_a_snippet_registers_no_source(episode: Opener) -> None:
    opened = episode()
    opened.send(search("May"))
    assert opened.state.sources.entries == ()


def test_3_3_each_valid_search_spends_one(episode: Opener) -> None:
    opened = episode(searches=2)
    assert opened.refused(search("May", documents=["nope"])) == "unknown_document"
    opened.play(search("May"), search("June"))
    assert opened.refused(search("July")) == "search_budget_exhausted"
    assert opened.state.budget.searches_left == 0


def test_3_4_a_filter_is_a_union_of_ids_and_case_sensitive_globs(episode: Opener) -> None:
    opened = episode()

    def documents(*patterns: str) -> set[str]:
        result = opened.send(search("expenditures words", documents=list(patterns), top_k=50)).result
        return {hit["document"] for hit in result["hits"]} if result else set()

    assert documents("*june*") == {JUNE}
    assert documents(JUNE, "*march*") == {JUNE, MARCH}
    assert documents() == {JUNE, MARCH, BIG}
    assert opened.refused(search("x", documents=["*JUNE*"])) == "unknown_document"


def test_3_4_what_of_a_filter_matches_nothing_is_said(episode: Opener) -> None:
    opened = episode()
    assert "No document matches 'nope'." in opened.send(search(documents=["nope", "*march*"])).observation
    many = opened.send(search(documents=["*march*", *(f"nope{n}" + "x" * 1_000 for n in range(100))]))
    assert "and 90 others." in many.observation and len(many.observation) < 3_000
    turn = opened.send(search(documents=["1942/report_marsh.txt"]))
    assert turn.error and f"the nearest ids are {MARCH}" in turn.error.message


def test_3_4_top_k_bounds_the_hits_and_defaults_to_the_configuration(episode: Opener) -> None:
    opened = episode()
    opened.environment.config.search.top_k = 3
    assert len(opened.send(search("ledger words")).result["hits"]) == 3  # type: ignore[index]
    assert len(opened.send(search("ledger words", top_k=1)).result["hits"]) == 1  # type: ignore[index]


def test_3_4_a_query_of_unknown_words_says_so(episode: Opener) -> None:
    opened = episode()
    unknown = opened.send(search("zzzqqq"))
    assert unknown.valid and unknown.result == {"hits": []}
    assert "No word of the query occurs in the collection" in unknown.observation
    elsewhere = opened.send(search("corrected", documents=[NOTES]))
    assert elsewhere.result == {"hits": []} and "Nothing matches in these documents" in elsewhere.observation


# --- read


def test_3_5_each_location_gives_the_exact_text_and_a_source(episode: Opener) -> None:
    turn = episode().send(read(SPAN, {"document": NOTES}, {"passage": f"{JUNE}#0"}))
    assert turn.result
    reads = turn.result["reads"]
    assert [each["source"] for each in reads] == ["s1", "s2", "s3"]
    assert reads[0]["text"] == DOCUMENTS[MARCH][26:79] and reads[1]["text"] == DOCUMENTS[NOTES]
    for source, each in zip(turn.state.sources.entries, reads, strict=True):
        assert source.sha256 == sha256(each["text"].encode()).hexdigest()
        assert DOCUMENTS[source.document][source.start : source.end] == each["text"]
    tokens = sum(each["tokens"] for each in reads)
    assert turn.observation.startswith(
        f"[turn 1] read: 3 locations, {tokens} tokens\n\ns1 = {MARCH} [26:79]\n```text\n"
    )
    assert [event["event"] for event in turn.log] == ["source_registered"] * 3


@pytest.mark.parametrize(
    ("location", "code", "said"),
    [
        ({"document": "nope.txt"}, "unknown_document", "the nearest ids are"),
        ({"passage": f"{JUNE}#999"}, "unknown_passage", f"{JUNE} has the passages #0 to #"),
        ({"passage": f"{JUNE}#01"}, "unknown_passage", "passages #0 to"),
        ({"passage": "nope#0"}, "unknown_passage", "an id is DOCUMENT#n"),
        ({"passage": NOTES}, "unknown_passage", f"{NOTES} has the passages #0 to #"),
        ({"document": NOTES, "start": -1}, "invalid_range", "start is negative"),
        ({"document": NOTES, "start": 5, "end": 5}, "invalid_range", "start is not before end"),
        ({"document": NOTES, "start": 9, "end": 5}, "invalid_range", "[9:5]"),
        (
            {"document": NOTES, "start": len(DOCUMENTS[NOTES])},
            "invalid_range",
            f"[0:{len(DOCUMENTS[NOTES])}]",
        ),
        ({"document": NOTES, "start": 10**30, "end": 10**40}, "invalid_range", "beyond the text"),
    ],
)
def test_3_5_a_faulty_location_is_refused_and_told_what_there_is(
    episode: Opener, location: dict[str, Any], code: str, said: str
) -> None:
    opened = episode()
    assert opened.refused(read(location)) == code
    assert said in opened.state.history.exchanges[-1].observation


def test_3_5_the_last_passage_is_named_right(episode: Opener) -> None:
    opened = episode()
    opened.send(read({"passage": f"{BIG}#99999"}))
    last = opened.state.history.exchanges[-1].observation.rpartition("#")[2]
    assert opened.send(read({"passage": f"{BIG}#{last}"})).valid
    assert not opened.send(read({"passage": f"{BIG}#{int(last) + 1}"})).valid


def test_3_5_an_empty_document_has_no_range(tmp_path: Path, episode: Opener) -> None:
    corpus = build([write(tmp_path, {"empty.txt": "", "full.txt": "Words."})], CorpusConfig(), None)
    assert episode(over=corpus).refused(read({"document": "empty.txt"})) == "invalid_range"
    assert episode(over=corpus).refused(read({"passage": "empty.txt#0"})) in (
        "invalid_range",
        "unknown_passage",
    )


def test_3_6_a_read_is_clipped_over_its_locations_in_order(episode: Opener) -> None:
    opened = episode(tokens_per_read=200)
    turn = opened.send(read(SPAN, {"document": BIG}, {"document": NOTES}))
    assert turn.result
    first, second, third = turn.result["reads"]
    assert first["next"] is None and second["text"].endswith("\n")
    assert sum(each["tokens"] for each in turn.result["reads"]) <= 200
    assert second["next"] == second["end"] and f"\nnext: {BIG} from {second['end']}" in turn.observation
    assert third == {
        "source": None,
        "document": NOTES,
        "start": 0,
        "end": 0,
        "text": "",
        "tokens": 0,
        "next": 0,
    }
    assert f"not served, past the limit of one read\nnext: {NOTES} from 0" in turn.observation
    assert [source.document for source in turn.state.sources.entries] == [MARCH, BIG]


def test_3_6_reading_on_from_next_gives_the_whole_document(episode: Opener) -> None:
    opened, text, start = episode(tokens_per_read=3000), "", 0
    while start is not None:
        result = opened.send(read({"document": BIG, "start": start})).result
        assert result
        text, start = text + result["reads"][0]["text"], result["reads"][0]["next"]
    assert text == DOCUMENTS[BIG]


def test_3_7_a_read_that_does_not_fit_is_invalid_and_told_the_largest_end(episode: Opener) -> None:
    opened = episode(read_tokens=100)
    location = {"document": BIG, "start": 10, "end": 2000}
    turn = opened.send(read(location))
    assert turn.error and turn.error.code == "read_budget_exhausted" and "100 are left" in turn.error.message
    largest = int(turn.error.message.partition("largest end that fits is ")[2].partition(",")[0])
    assert opened.refused(read({**location, "end": largest + 1})) == "read_budget_exhausted"
    fits = opened.send(read({**location, "end": largest}))
    assert fits.valid and fits.result and fits.result["reads"][0]["end"] == largest
    assert opened.state.budget.read_tokens_left == 0
    assert opened.refused(read(location)) == "read_budget_exhausted"
    assert "nothing fits" in opened.state.history.exchanges[-1].observation


def test_3_7_a_read_of_several_locations_is_told_how_many_fit(episode: Opener) -> None:
    opened = episode(read_tokens=20)
    opened.send(read(SPAN, {"document": BIG}))
    assert "1 of the locations before it fit" in opened.state.history.exchanges[-1].observation


def test_3_8_a_range_read_again_is_the_same_source_and_spends_again(episode: Opener) -> None:
    opened = episode()
    first = opened.send(read())
    spent = opened.state.budget.read_tokens
    again = opened.send(read(SPAN, {"document": JUNE}))
    assert first.result and again.result
    assert again.result["reads"][0]["source"] == "s1" and again.result["reads"][1]["source"] == "s2"
    assert f"s1 = {MARCH} [26:79] (first read at turn 1)" in again.observation
    assert opened.state.budget.read_tokens > 2 * spent
    assert len([event for event in again.log if event["event"] == "source_registered"]) == 1


def test_3_8_one_faulty_location_makes_the_whole_read_invalid(episode: Opener) -> None:
    assert episode().refused(read(SPAN, {"document": "zzz.txt"})) == "unknown_document"


def test_2_2_references_are_checked_in_listed_order(episode: Opener) -> None:
    opened = episode()
    assert opened.refused(read({"passage": "x#1"}, {"document": "zzz.txt"})) == "unknown_passage"
    assert opened.refused(read({"document": "zzz.txt"}, {"passage": "x#1"})) == "unknown_document"


def test_2_2_references_are_checked_before_resources(episode: Opener) -> None:
    opened = episode(searches=0, read_tokens=0)
    assert opened.refused(search(documents=["nope"])) == "unknown_document"
    assert opened.refused(search()) == "search_budget_exhausted"
    assert opened.refused(read({"document": "nope"})) == "unknown_document"


def test_3_9_offsets_are_code_points_and_text_comes_back_exactly(tmp_path: Path, episode: Opener) -> None:
    text = "é😀\r\nline\rtwo\x00\u2028end\t\n"
    corpus = build([write(tmp_path, {"odd.txt": text, "x.txt": "x"})], CorpusConfig(), None)
    opened = episode(over=corpus)
    for start in range(len(text)):
        for end in range(start + 1, len(text) + 1):
            if opened.state.status == "running":
                result = opened.send(read({"document": "odd.txt", "start": start, "end": end})).result
                assert result and result["reads"][0]["text"] == text[start:end]


def test_5_4_a_filter_that_selects_several_documents_names_them(episode: Opener) -> None:
    said = episode().send(search("line", documents=["*.txt"])).observation
    named = "1942/report_june.txt, 1942/report_march.txt, big.txt, fence.txt, notes.txt"
    assert said.endswith(f"\n\ndocuments searched: {named}")
    assert "documents searched:" not in episode().send(search("line")).observation
    assert "documents searched:" not in episode().send(search("line", documents=["1942/*"])).observation


def test_3_6_of_very_many_locations_that_are_not_served_the_last_are_counted(episode: Opener) -> None:
    turn = episode(tokens_per_read=10).send(read(*[{"document": BIG}] * 8_000))
    assert turn.valid and turn.result and len(turn.result["reads"]) == 8_000
    assert len(turn.observation) < 10_000
    assert "not served either: 7949 further locations" in turn.observation
