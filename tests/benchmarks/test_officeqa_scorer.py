"""The scorer `officeqa`, clause by clause, and against the official scorer's recorded verdicts.

And `officeqa_strict`, which differs by glued suffixes alone.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pipeline.benchmarks.scorers import officeqa, officeqa_strict
from pipeline.benchmarks.scorers.officeqa import PARAMS, extract, score, score_answer
from pipeline.benchmarks.tasks import Gold


def test_all_official_verdicts_agree(shared: Path) -> None:
    lines = (shared / "data/reward_vectors.jsonl").read_text(encoding="utf-8").splitlines()
    cases = [json.loads(line) for line in lines]
    wrong = [
        case
        for case in cases
        if score_answer(case["gold"], case["answer"], case["tolerance"]) != case["score"]
    ]
    assert not wrong
    assert len(cases) == 1_565


@pytest.mark.parametrize(
    ("clause", "gold", "answer", "tolerance", "expected"),
    [
        (
            "A: the last pair of tags counts",
            "7",
            "<FINAL_ANSWER>5</FINAL_ANSWER> <final_answer>7</final_answer>",
            0,
            1,
        ),
        ("A: tags may span lines", "7", "I think\nthat\n<FINAL_ANSWER>\n7\n</FINAL_ANSWER>", 0, 1),
        ("A: empty tags", "7", "7 <FINAL_ANSWER> </FINAL_ANSWER>", 0, 0),
        ("B: two lines", "7", "7\n(rounded)", 0, 0),
        ("B: too long", "7", "7" + " " * 300 + "x", 0, 0),
        ("B: markup", "7", "<b>7</b>", 0, 0),
        ("B: two numbers for one", "7", "7 or 8", 0, 0),
        ("B: a number for a text", "Yes", "Yes, 2", 0, 0),
        ("B: another text", "Nebraska", "Nebraska.", 0, 0),
        ("B: case, quotes, parentheses", "Nebraska (NE)", '"nebraska"', 0, 1),
        ("C1", "7", "unable to determine 7", 0, 0),
        ("C2: a minus sign", "-5", "\u22125", 0, 1),
        ("C2: an en dash is none", "-5", "\u20135", 0, 0),
        ("C2: accounting negative", "-123", "(123)", 0, 1),
        ("C2: with a currency sign", "-1234.5", "($1,234.5)", 0, 1),
        ("C2: a year in parentheses", "1950", "(1950)", 0, 1),
        ("C2: with its comma", "-1,950", "(1,950)", 0, 0),
        ("C3: thousands", "2602", "2,602", 0, 1),
        ("C3: malformed groups", "2602", "26,02", 0, 0),
        ("C3: a decimal point alone", "0.5", ".5", 0, 0),
        ("C3: exponents are two numbers", "1500", "1.5e3", 0, 0),
        ("C3: a number in a word", "5", "Q5", 0, 1),
        ("C4: a unit on one side", "543 million", "543", 0, 1),
        ("C4: another unit", "543 million", "543 billion", 0, 0),
        ("C4: units are not multiplied", "543 million", "0.543 billion", 0, 0),
        ("C4: a lone letter", "543 million", "543 B", 0, 0),
        ("C4: a glued suffix is not seen", "2.6 million", "2.6B", 0, 1),
        ("C4: percent is ignored", "12.5", "12.5%", 0, 1),
        ("C4: and not converted", "12.5%", "0.125", 0, 0),
        ("C5: a year beside the number", "123.45", "123.45 (based on 1953 data)", 0, 1),
        ("C5: not for a gold in that range", "1977", "1977, up from 1976", 0, 0),
        ("C6: order matters", "[1, 2]", "[2, 1]", 0, 0),
        ("C6: without brackets", "[1.5, 2]", "1.5, 2", 0, 1),
        ("C6: and", "[1.5, 2]", "1.5 and 2", 0, 1),
        ("C6: any segmentation", "[8, 152260]", "[8,152,260]", 0, 1),
        ("C6: of another length", "[8, 152260]", "[8, 152, 260]", 0, 0),
        ("C6: pairwise tolerance", "[100, 200]", "[101, 199]", 0.01, 1),
        ("C7: within tolerance", "100", "101", 0.01, 1),
        ("C7: beyond it", "100", "101.01", 0.01, 0),
        ("C7: zero is exact", "0", "0.0001", 0.05, 0),
        ("C8: any order", "[Ohio, 5, Iowa, 7]", "[Ohio, 7, Iowa, 5]", 0, 1),
        ("C9: the text beside", "March 1948", "April 1948", 0, 0),
        ("C9: more text", "March 1948", "In March 1948", 0, 1),
        ("C9: a bare number", "March 1948", "1948", 0, 0),
    ],
    ids=lambda value: value if isinstance(value, str) and ":" in value else "",
)
def test_a_clause_decides(clause: str, gold: str, answer: str, tolerance: float, expected: float) -> None:
    assert score_answer(gold, answer, tolerance) == expected, clause


def test_metrics_are_exact_and_three_tolerances() -> None:
    metrics = score(Gold("100"), "100.5")
    assert [(m.metric, m.value) for m in metrics] == [
        ("exact", 0),
        ("within_0.1%", 0),
        ("within_1%", 1),
        ("within_5%", 1),
    ]
    assert metrics[0].reason == "100 is not in the answer"
    assert metrics[2].reason == ""


def test_no_answer_scores_zero_and_says_so() -> None:
    assert {(m.metric, m.value, m.reason) for m in score(Gold("7"), None)} == {
        (m, 0.0, "no answer") for m in PARAMS
    }


def test_an_internal_error_scores_zero_and_keeps_its_reason() -> None:
    (metric, *_) = score(Gold(""), "7")
    assert metric.value == 0
    assert metric.reason.startswith("internal error: ValueError")
    assert score_answer("7", "7", 2.0) == 0


numbers = st.builds(
    "{}{:,}{}".format,
    st.sampled_from(["", "-", "$"]),
    st.integers(0, 10**9) | st.decimals(0, 10**6, places=2),
    st.sampled_from(["", "%", " million", " thousand"]),
)
words = st.sampled_from(["Oklahoma", "March", "Series E bonds", "Yes"])
golds = (
    numbers
    | words
    | st.builds("{} {}".format, words, numbers)
    | st.lists(numbers | words, min_size=2, max_size=5).map(lambda items: f"[{', '.join(items)}]")
)


strict = officeqa_strict.score_answer


@pytest.mark.parametrize("matches", [score_answer, strict])
@given(
    golds
    | st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("0123456789.,-()[]%$ "), max_size=60)
)
def test_a_gold_matches_itself_with_and_without_tags(matches: Any, gold: str) -> None:
    assume(len(gold.splitlines()) == 1 and gold.strip() and len(gold) <= 250)
    assume(not re.search("<[^>]*>", gold) and "unable to determine" not in gold.lower())
    assert matches(gold, gold, 0) == 1
    assert matches(gold, f"Because 2 + 2 = 4:\n<FINAL_ANSWER>\n{gold}\n</FINAL_ANSWER>", 0) == 1


@pytest.mark.parametrize(
    "gold",
    ["", "two\nlines", "7" * 251, "<b>7</b>", "<b>Ohio</b>", "Unable to determine", "unable to determine 7"],
)
def test_golds_that_match_nothing_not_even_themselves(gold: str) -> None:
    assert score_answer(gold, gold, 1) == 0


@given(golds, golds | st.text(max_size=40), st.floats(0, 1), st.floats(0, 1))
def test_a_wider_tolerance_never_loses_a_match(gold: str, answer: str, first: float, second: float) -> None:
    narrow, wide = sorted((first, second))
    assert score_answer(gold, answer, narrow) <= score_answer(gold, answer, wide)


@given(st.text(), st.text())
def test_any_text_gets_a_verdict(gold: str, answer: str) -> None:
    assert all(metric.value in (0.0, 1.0) for metric in score(Gold(gold), answer))


def test_an_answer_of_250_commas_is_read_in_every_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ways multiply with commas, places that they reach don't: an item is read once a pair of places."""
    read = 0

    def counted(text: str, item: Any = officeqa._item) -> Any:
        nonlocal read
        read += 1
        return item(text)

    monkeypatch.setattr(officeqa, "_item", counted)
    assert score_answer(f"[{', '.join(['1'] * 20)}]", ",".join(["111"] * 60), 0) == 0
    assert 0 < read < 4 * 60**2


# --- A: extraction


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("7", "7"),
        ("<FINAL_ANSWER>7", "<FINAL_ANSWER>7"),
        ("7</FINAL_ANSWER>", "7</FINAL_ANSWER>"),
        ("</FINAL_ANSWER>5<FINAL_ANSWER> 7 </FINAL_ANSWER>8", "7"),
        ("<FINAL_ANSWER>5</FINAL_ANSWER><FINAL_ANSWER>7</FINAL_ANSWER>", "7"),
        ("<FINAL_ANSWER>5</FINAL_ANSWER><FINAL_ANSWER>7", "5"),
        ("<FINAL_ANSWER>5<FINAL_ANSWER>7</FINAL_ANSWER>", "5<FINAL_ANSWER>7"),
        ("<FINAL_ANSWER></FINAL_ANSWER>", ""),
    ],
)
def test_the_last_pair_of_tags_is_taken(text: str, body: str) -> None:
    assert extract(text) == body


@given(st.lists(st.sampled_from(["<FINAL_ANSWER>", "</final_answer>", "7", " ", "\n", "x"])).map("".join))
def test_pairs_are_those_of_the_shortest_bodies(text: str) -> None:
    bodies = re.findall(r"<FINAL_ANSWER>(.*?)</FINAL_ANSWER>", text, re.DOTALL | re.IGNORECASE)
    assert extract(text) == (bodies[-1] if bodies else text).strip()


# --- B, C5: borders


@pytest.mark.parametrize(
    ("what", "gold", "answer", "expected"),
    [
        ("250 characters", "7", "7" + " x" * 124 + ".", 1),
        ("251 characters", "7", "7" + " x" * 125, 0),
        ("251 with the blanks around them", "7", " 7" + " x" * 124 + ". ", 1),
        ("blank lines", "7", "\n\n7\n \n", 1),
        ("markup around a text", "Ohio", "<i>Ohio</i>", 0),
        ("a lone bracket", "7", "7 < x", 1),
        ("1900 is a year", "7", "7 in 1900", 1),
        ("1899 is a number", "7", "7 in 1899", 0),
        ("2100 is a year", "7", "7 in 2100", 1),
        ("2101 is a number", "7", "7 in 2101", 0),
        ("a fraction is no year", "7", "7 in 1950.5", 0),
        ("years beside a list", "[5, 7]", "5, 7 (1953)", 1),
        ("years beside a list with one", "[5, 1953]", "5, 1953 (1954)", 0),
        ("years beside a gold with words", "7 tons", "7 tons in 1953", 0),
        ("an accounting negative in a list", "[-5, 7]", "[(5), 7]", 1),
        ("accounting with a currency", "-1950", "($1,950)", 1),
        ("a percentage in parentheses is positive", "5%", "(5%)", 1),
        ("an en dash before a number", "5", "\u20135", 1),
        ("a minus sign between numbers", "12", "12\u221215", 0),
        ("21 characters to a unit", "5 million", "5" + "." * 21 + " billion", 1),
    ],
)
def test_a_border(what: str, gold: str, answer: str, expected: float) -> None:
    assert score_answer(gold, answer, 0) == expected, what


# --- officeqa_strict


@pytest.mark.parametrize(
    ("gold", "answer", "official", "expected"),
    [
        ("2.6 million", "2.6B", 1, 0),
        ("2.6 million", "2.6bn", 1, 0),
        ("2.6 billion", "$2.6B", 1, 1),
        ("2.6 billion", "$2.6T", 1, 0),
        ("2.6 trillion", "$2.6T.", 1, 1),
        ("1.2 thousand", "1.2M", 1, 0),
        ("3 million", "3k", 1, 0),
        ("3 thousand", "3K", 1, 1),
        ("3 million", "3mn", 1, 1),
        ("3 million", "3thousand", 1, 0),
        ("2.6B", "2.6 million", 1, 0),
        ("2.6bn", "2.6 billion", 0, 1),
        ("[2.6B, 3.1B]", "[2.6B, 3.1M]", 0, 0),
        ("[2.6B, 3.1M]", "[2.6B, 3.1M]", 1, 1),
        ("2.6", "2.6B", 1, 1),
        ("5", "5th", 1, 1),
        ("1970", "1970s", 1, 1),
        ("2.6 million", "2.6 billion", 0, 0),
        ("Nebraska", "nebraska", 1, 1),
    ],
)
def test_a_glued_suffix_is_its_unit(gold: str, answer: str, official: float, expected: float) -> None:
    assert score_answer(gold, answer, 0) == official
    assert strict(gold, answer, 0) == expected


@given(golds, golds, st.floats(0, 1))
def test_without_glued_suffixes_both_scorers_agree(gold: str, answer: str, tolerance: float) -> None:
    assert strict(gold, answer, tolerance) == score_answer(gold, answer, tolerance)


def test_official_verdicts_on_texts_without_suffixes_are_the_strict_ones(shared: Path) -> None:
    lines = (shared / "data/reward_vectors.jsonl").read_text(encoding="utf-8").splitlines()
    plain = [
        case for case in map(json.loads, lines) if not re.search(r"\d[a-zA-Z]", case["gold"] + case["answer"])
    ]
    assert len(plain) > 1_000
    assert not [c for c in plain if strict(c["gold"], c["answer"], c["tolerance"]) != c["score"]]


def test_the_strict_scorer_has_the_metrics_of_the_official_one() -> None:
    metrics = officeqa_strict.score(Gold("2.6 million"), "2.6B")
    assert [(m.metric, m.value) for m in metrics] == [(metric, 0) for metric in PARAMS]
    assert metrics[0].reason == "2.6 is not in the answer"
