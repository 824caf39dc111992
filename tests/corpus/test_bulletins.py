"""On 153 real bulletins of three renderings: gold rows stand in found tables, and searches find them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.corpus import Corpus, build, estimate_tokens
from pipeline.corpus.config import CorpusConfig
from pipeline.corpus.titles import key


@pytest.fixture(scope="module")
def corpus(shared: Path) -> Corpus:
    return build([shared / "data" / "treasury" / "documents"], CorpusConfig(), None)


@pytest.fixture(scope="module")
def gold(shared: Path) -> list[dict[str, Any]]:
    """All gold and stale spans: row and table title with their code points."""
    with (shared / "data" / "treasury" / "gold_evidence.jsonl").open() as lines:
        return [
            span
            for line in lines
            for entry in [json.loads(line)]
            for span in entry["spans"] + entry["stale_spans"]
        ]


def test_offsets_agree_with_the_gold_spans(corpus: Corpus, gold: list[dict[str, Any]]) -> None:
    for span in gold:
        document = corpus.number(span["file"])
        assert document is not None
        assert corpus.text(document, span["start"], span["end"]) == span["quote"]
        assert corpus.text(document, span["row_start"], span["row_end"]) == span["row_text"]


def test_gold_rows_stand_in_a_table_of_the_gold_title(corpus: Corpus, gold: list[dict[str, Any]]) -> None:
    inside = titled = 0
    for span in gold:
        document = corpus.number(span["file"])
        assert document is not None
        around = [t for t in corpus.tables(document) if t.start <= span["row_start"] < t.end]
        inside += bool(around)
        titled += any(
            set(key(span["table_text"]).split()) <= set(key(table.title).split())
            or table.start <= span["table_start"] < table.end
            for table in around
        )
    assert inside / len(gold) >= 0.98
    assert titled / len(gold) >= 0.95


def test_a_title_and_a_row_label_find_the_gold_row(corpus: Corpus, gold: list[dict[str, Any]]) -> None:
    found = 0
    for span in gold:
        label = span["row_text"].strip("| ").split("  ")[0].split("|")[0]
        hits = corpus.search(f"{span['table_text']} {label}", documents=[span["file"]], top_k=10).hits
        found += any(
            hit.table is not None and hit.table.start <= span["row_start"] < hit.table.end for hit in hits
        )
    assert found / len(gold) >= 0.9


def test_table_ranges_are_ordered_and_disjoint(corpus: Corpus) -> None:
    tables = 0
    for document in range(len(corpus.document_ids)):
        end = 0
        for table in corpus.tables(document):
            assert end <= table.start < table.end <= corpus.length(document)
            end, tables = table.end, tables + 1
    assert tables > 10_000


def test_snippets_are_bounded_and_the_map_fits(corpus: Corpus) -> None:
    for query in (
        "Summary of Fiscal Operations receipts 2009",
        "debt",
        "savings bonds sales by states Nebraska March",
    ):
        hits = corpus.search(query, top_k=50).hits
        assert len(hits) == 50
        assert max(len(hit.snippet) for hit in hits) <= 1_250
    assert estimate_tokens(corpus.outline(4_000)) <= 4_000
