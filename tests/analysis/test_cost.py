"""Cost and GPU time of tokens, and what a run is expected to spend."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from pipeline.analysis import as_json, markdown, screen, summary
from pipeline.analysis.cost import Tokens, amount, gpu_hours
from pipeline.analysis.estimate import assumed, at_most, earlier, episode_tokens
from pipeline.backbone.config import PriceConfig, RatesConfig
from pipeline.backbone.serving.fit import History
from pipeline.cli import main
from pipeline.runs.folder import RunFolder, write_json
from tests.analysis.conftest import MakeRun, episode

PRICE = PriceConfig(input=2.0, cached_input=0.5, output=10.0, currency="EUR", date="2026-11-30")
RATES = RatesConfig(prefill=100.0, decode=10.0)
MILLIONS = Tokens(prompt=3_000_000, cached=2_000_000, completion=1_000_000)


# --- Prices and rates


def test_each_kind_of_token_has_its_price_a_million() -> None:
    assert amount(MILLIONS, PRICE) == 1 * 2.0 + 2 * 0.5 + 1 * 10.0


def test_cached_tokens_without_a_price_cost_as_others_do() -> None:
    assert amount(MILLIONS, PriceConfig(input=2.0, output=10.0)) == 3 * 2.0 + 10.0


@pytest.mark.parametrize("price", [PriceConfig(), PriceConfig(input=1.0), PriceConfig(output=1.0)])
def test_an_unknown_price_gives_no_figure(price: PriceConfig) -> None:
    assert amount(MILLIONS, price) is None


def test_a_price_of_nothing_is_known() -> None:
    assert amount(MILLIONS, PriceConfig(input=0.0, output=0.0)) == 0.0


def test_cached_tokens_take_no_gpu_time() -> None:
    assert gpu_hours(MILLIONS, RATES) == (1_000_000 / 100 + 1_000_000 / 10) / 3_600
    assert gpu_hours(MILLIONS, RatesConfig(prefill=100.0)) is None


# --- Estimates


@given(
    st.integers(1, 300),
    st.integers(0, 60),
    st.integers(0, 10**6),
    st.none() | st.integers(8_000, 10**6),
)
def test_an_estimate_never_has_more_cached_than_sent(
    turns: int, searches: int, reads: int, window: int | None
) -> None:
    tokens = episode_tokens(History(turns, searches, reads), 100, window)
    assert 0 <= tokens.cached <= tokens.prompt
    assert tokens.prompt <= turns * (window or 10**9)


def test_what_is_assumed_stays_within_the_budget() -> None:
    small = History(turns=4, searches=1, read_tokens=500)
    estimate = assumed(small, 1_000, None)
    assert estimate.source.startswith("assumed: 4 turns, 1 searches, 500 read tokens")
    assert estimate.tokens.prompt <= at_most(small, 1_000, None).prompt


def test_earlier_runs_of_the_same_arm_are_what_is_expected(make_run: MakeRun) -> None:
    folder = make_run([episode("qwen", "t1", 0, "100"), episode("qwen", "t2", 0, "x", prompt_tokens=3_000)])
    arm = with_record(folder, config_sha256="c", prompt_sha256="p")
    found = earlier(folder.parent, arm)
    assert found is not None and found.source == "as 2 episodes of demo did"
    assert found.tokens == Tokens(2_000, 900, 50)
    assert earlier(folder.parent, arm | {"config_sha256": "another"}) is None
    assert earlier(folder.parent / "none", arm) is None


# --- In the table


def with_record(folder: Path, **values: Any) -> dict[str, Any]:
    """Add `values` to the record of the run's arms; return the first's."""
    record = RunFolder(folder).read_record()
    for arm in record["arms"].values():
        arm |= values
    write_json(RunFolder(folder).record, record)
    return dict(next(iter(record["arms"].values())))


def test_the_table_shows_cost_and_gpu_hours_with_what_they_rest_on(make_run: MakeRun) -> None:
    folder = make_run([episode("qwen", "t1", 0, "100", prompt_tokens=3_000_000, cached_tokens=2_000_000)])
    price = {"input": 2.0, "cached_input": 0.5, "output": 10.0, "currency": "EUR", "date": "2026-11-30"}
    with_record(folder, price=price, rates={"prefill": 1_000.0, "decode": 10.0})
    console = Console(width=200, record=True, file=StringIO())
    console.print(screen(summary(folder)))
    shown, written = console.export_text(), markdown(summary(folder))
    for text in (shown, written):
        assert "Cost" in text and "3.00 EUR" in text
        assert "GPU h" in text and "0.28" in text
        assert "2 input, 0.5 cached, 10 output EUR a million tokens, 2026-11-30" in text
    bill = as_json(summary(folder))["arms"][0]["bill"]
    assert bill["amount"] == pytest.approx(3.0005) and bill["currency"] == "EUR"


def test_without_prices_there_is_no_figure(make_run: MakeRun) -> None:
    folder = make_run([episode("qwen", "t1", 0, "100")])
    assert "Cost" not in markdown(summary(folder))
    assert as_json(summary(folder))["arms"][0]["bill"] == {
        "amount": None,
        "currency": None,
        "gpu_hours": None,
    }


def test_an_arm_without_a_price_beside_one_with_is_said_to_have_none(make_run: MakeRun) -> None:
    folder = make_run([episode("qwen", "t1", 0, "100"), episode("other", "t1", 0, "100")])
    record = RunFolder(folder).read_record()
    record["arms"]["qwen"]["price"] = {"input": 1.0, "output": 1.0}
    write_json(RunFolder(folder).record, record)
    assert "other: no cost, since backbone.price" in markdown(summary(folder))


# --- Before a run


def dry_run(capsys: pytest.CaptureFixture[str], root: Path, *words: str) -> dict[str, Any]:
    common = ["benchmark=ledgerqa", "benchmark.tokens=50000", f"root={root}"]
    assert main(["evaluate", "--dry-run", "--json", *common, *words]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_a_dry_run_says_what_an_arm_may_and_should_cost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["backbone.price.input=1", "backbone.price.output=2", "backbone.price.cached_input=0.1"]
    (arm,) = dry_run(capsys, tmp_path, *words, "backbone.rates={prefill: 1000, decode: 50}")["arms"]
    expected = arm["expected"]
    assert expected["source"].startswith("assumed: 20 turns")
    assert 0 < expected["amount"] < arm["cost_at_most"]
    assert expected["gpu_hours"] > 0 and expected["currency"] == "USD"
    # At most: nothing cached.
    assert arm["cost_at_most"] == pytest.approx(
        (arm["prompt_tokens_at_most"] + 2 * arm["completion_tokens_at_most"]) / 1e6
    )


def test_a_dry_run_compares_the_window_that_is_needed_with_the_models(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (arm,) = dry_run(capsys, tmp_path, "backbone.window=131072")["arms"]
    assert arm["window"] == 131_072 < arm["window_needed"]
    assert 0 < arm["window_holds"] < 0.2
    (arm,) = dry_run(capsys, tmp_path)["arms"]
    assert (arm["window"], arm["window_holds"]) == (None, None)


def test_prices_and_rates_make_no_other_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain = dry_run(capsys, tmp_path)["run"]
    words = ["backbone.price.input=1", "backbone.rates.decode=5", "tasks.retry_status=[model_request_failed]"]
    assert dry_run(capsys, tmp_path, *words)["run"] == plain
    assert dry_run(capsys, tmp_path, "backbone.max_tokens=100")["run"] != plain


def test_without_prices_a_dry_run_says_that_the_cost_is_unknown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["benchmark=ledgerqa", "benchmark.tokens=50000", f"root={tmp_path}"]
    assert main(["evaluate", "--dry-run", *words]) == 0
    assert "cost: unknown: set backbone.price.input" in capsys.readouterr().out
