"""Scans misread figures, in a way that can be told, and never one that a question rests on."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pipeline.benchmarks.ledgerqa import LedgerQAConfig, generate
from pipeline.benchmarks.ledgerqa.noise import misread
from tests.benchmarks.ledgerqa.conftest import Dataset, rows
from tests.benchmarks.ledgerqa.oracle import Oracle

PERCENT = 12
NUMBER = re.compile(r"-?[\d,]+(?:\.\d+)?(?: r)?|\([\d,]+(?:\.\d+)?\)(?: r)?")
LETTERS = str.maketrans("OlSB", "0158")


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Dataset, Dataset]:
    """The same dataset without and with noise."""
    found = []
    for percent in (0, PERCENT):
        folder = tmp_path_factory.mktemp("noise") / "dataset"
        config = LedgerQAConfig(seed=21, tokens=200_000, questions_per_kind=20, noise_percent=percent)
        manifest = generate(config, folder)
        golds = {row["id"]: row for row in rows(folder / "gold.jsonl")}
        questions = rows(folder / "questions.jsonl")
        found.append(Dataset(folder, config, manifest, questions, golds, Oracle(folder / "documents")))
    return found[0], found[1]


def read_well(line: str) -> str:
    """A table's row with its misread figures put right."""
    cells = line.strip("| ").split(" | ")
    return f"| {' | '.join([cells[0], *(put_right(cell) for cell in cells[1:])])} |"


def put_right(cell: str) -> str:
    figure, mark = cell.removesuffix(" r"), " r" if cell.endswith(" r") else ""
    return figure.translate(LETTERS).replace(" ", "") + mark


def test_a_misread_figure_is_no_number_and_differs_from_the_printed_one_by_that_alone(
    pair: tuple[Dataset, Dataset],
) -> None:
    plain, noisy = pair
    assert plain.oracle.texts.keys() == noisy.oracle.texts.keys()
    figures = wrong = 0
    for name, text in noisy.oracle.texts.items():
        before = plain.oracle.texts[name].split("\n")
        for line, was in zip(text.split("\n"), before, strict=True):
            if line == was:
                figures += was.count(" | ") if was.startswith("| ") else 0
                continue
            assert "--- PAGE 1 ---" in text  # a scan
            assert read_well(line) == was
            for cell, old in zip(line.strip("| ").split(" | "), was.strip("| ").split(" | "), strict=True):
                figures += 1
                if cell != old:
                    assert NUMBER.fullmatch(old)
                    assert not NUMBER.fullmatch(cell)
                    wrong += 1
    scanned = [text for text in noisy.oracle.texts.values() if "--- PAGE 1 ---" in text]
    assert 3 < len(scanned) < len(noisy.oracle.texts) - 3
    assert wrong > 500
    printed = sum(line.count(" | ") for text in scanned for line in text.split("\n") if line[:2] == "| ")
    assert abs(wrong / printed - PERCENT / 100) < 0.03


def test_questions_and_answers_are_those_without_noise(pair: tuple[Dataset, Dataset]) -> None:
    plain, noisy = pair
    assert plain.questions == noisy.questions
    for task, gold in noisy.golds.items():
        was = plain.golds[task]
        for name in ("answer", "asked", "expression", "documents", "stale_answer", "stale_expression"):
            assert gold[name] == was[name]


def test_what_a_question_rests_on_is_read_well_and_found_as_without_noise(
    pair: tuple[Dataset, Dataset],
) -> None:
    plain, noisy = pair
    checked = 0
    for task, gold in noisy.golds.items():
        was = plain.golds[task]
        for spans, before in (
            (gold["spans"], was["spans"]),
            (gold["stale_spans"], was["stale_spans"]),
            *zip(gold["alternates"], was["alternates"], strict=True),
        ):
            for span, old in zip(spans, before, strict=True):
                text = noisy.oracle.texts[span["document"]]
                assert text[span["start"] : span["end"]] == span["quote"] == old["quote"]
                assert NUMBER.fullmatch(span["quote"])
                record = noisy.oracle.at[span["document"], span["start"]]
                assert record.key == plain.oracle.at[old["document"], old["start"]].key
                checked += 1
    assert checked > 1_000


def test_every_readable_report_of_a_figure_agrees_with_the_printed_one(pair: tuple[Dataset, Dataset]) -> None:
    """Nothing reads as another number: a careful reader is never misled, only left to look elsewhere."""
    plain, noisy = pair
    for key, prints in noisy.oracle.prints.items():
        for record, was in zip(prints, plain.oracle.prints[key], strict=True):
            if NUMBER.fullmatch(record.literal):
                assert record.literal == was.literal


def test_bytes_with_noise_do_not_depend_on_the_number_of_processes(
    pair: tuple[Dataset, Dataset], tmp_path: Path
) -> None:
    _, noisy = pair
    again = generate(replace(noisy.config, processes=2), tmp_path / "dataset")
    assert again.sha256 == noisy.manifest.sha256


@given(st.integers(-(10**9), 10**9), st.booleans(), st.integers(0, 2**57))
def test_a_misread_figure_can_be_told_and_put_right(value: int, commas: bool, word: int) -> None:
    figure = f"{value:,}" if commas else str(value)
    found = misread(figure, word)
    assert put_right(found) == figure
    assume(found != figure)
    assert not NUMBER.fullmatch(found)


@given(st.sampled_from("234679"), st.integers(0, 2**57))
def test_a_lone_digit_without_a_letter_like_it_stays(digit: str, word: int) -> None:
    assert misread(digit, word) == digit
