"""What of a history fits into a window."""

from __future__ import annotations

from dataclasses import replace

from pipeline.backbone.serving.fit import Fit, History


def test_a_window_holds_what_instructions_and_reply_leave_of_it() -> None:
    fit = Fit(262_144, 16_384, History())
    assert fit.history.tokens == 200 * 300 + 60 * 1_200 + 1_000_000
    assert fit.room == 262_144 - 16_384 - 7_000
    assert 0.20 < fit.share < 0.22 and fit.turns == 42
    assert "21% of the 1,132,000" in str(fit) and "42 turns" in str(fit)


def test_a_small_history_fits_whole_and_a_small_window_holds_nothing() -> None:
    assert Fit(262_144, 16_384, replace(History(), read_tokens=50_000)).share == 1.0
    assert Fit(8_192, 4_096, History()).share == 0.0
    assert Fit(8_192, 1_024, History(turns=0, searches=0, read_tokens=0)).share == 1.0
