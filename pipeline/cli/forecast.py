"""What a planned arm may spend, and is expected to: tokens, cost, GPU hours, and the window that it needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pipeline.analysis.cost import Tokens, amount, bill, price_said, rates_said
from pipeline.analysis.estimate import Estimate, assumed, at_most, earlier
from pipeline.backbone.config import BackboneConfig
from pipeline.backbone.serving.fit import Fit, History
from pipeline.runs.plan import PlannedArm


def forecast(arm: PlannedArm, episodes: int, root: Path) -> dict[str, Any]:
    """Return the facts of an arm: bounds by its budget, and what earlier runs below `root` lead to expect.

    A harness without a budget has no bounds, and is expected to spend only what it was seen to. The bound of
    the cost is that of a server that caches nothing.
    """
    harness, backbone = arm.spec.harness, arm.spec.backbone
    budget, seen = getattr(harness, "budget", None), earlier(root, arm.record)
    if budget is None:
        return _expected(seen, episodes, backbone) if seen else {}
    history = History(
        budget.turns, budget.searches, budget.read_tokens, getattr(harness, "document_map_tokens", 0)
    )
    served = (getattr(arm.spec.serving, name, None) for name in ("max_model_len", "n_ctx"))
    window = backbone.window or next(filter(None, served), backbone.server.max_model_len)
    most = at_most(history, backbone.max_tokens, window) * episodes
    expected = seen or assumed(history, backbone.max_tokens, window)
    return {
        "read_tokens_at_most": budget.read_tokens * episodes,
        "completion_tokens_at_most": most.completion,
        "prompt_tokens_at_most": most.prompt,
        "cost_at_most": amount(Tokens(most.prompt, 0, most.completion), backbone.price),
        **_expected(expected, episodes, backbone),
        **_window(history, backbone, window),
    }


def _expected(estimate: Estimate, episodes: int, backbone: BackboneConfig) -> dict[str, Any]:
    tokens: Tokens = estimate.tokens * episodes
    return {
        "expected": {
            "prompt_tokens": tokens.prompt,
            "cached_tokens": tokens.cached,
            "completion_tokens": tokens.completion,
            "source": estimate.source,
            **asdict(bill(tokens, backbone.price, backbone.rates)),
        },
        "price": None
        if bill(tokens, backbone.price, backbone.rates).amount is None
        else price_said(backbone.price),
        "rates": rates_said(backbone.rates) if backbone.rates.prefill and backbone.rates.decode else None,
    }


def _window(history: History, backbone: BackboneConfig, window: int | None) -> dict[str, Any]:
    needed = history.fixed + history.tokens + backbone.max_tokens
    share = Fit(window, backbone.max_tokens, history).share if window else None
    return {"window_needed": needed, "window": window, "window_holds": share}


def lines(fact: Mapping[str, Any]) -> Iterator[str]:
    """Yield the facts of an arm as they are printed."""
    counts = ", ".join(
        f"{name} {value:,}"
        for name, value in fact.items()
        if isinstance(value, int) and not name.startswith("window")
    )
    yield f"  {fact['arm']}, {counts}"
    if "window_needed" in fact:
        held = "the server's is asked for once it runs" if fact["window"] is None else _held(fact)
        yield f"    window: {fact['window_needed']:,} tokens hold all that an episode may spend; {held}"
    if expected := fact.get("expected"):
        tokens = ", ".join(f"{name} {expected[name]:,}" for name in expected if name.endswith("_tokens"))
        yield f"    expected: {tokens} ({expected['source']})"
        yield f"    cost: {_cost(fact, expected)}"
        if expected["gpu_hours"] is not None:
            yield f"    GPU hours: {expected['gpu_hours']:,.2f} ({fact['rates']})"


def _held(fact: Mapping[str, Any]) -> str:
    return f"the model's {fact['window']:,} hold {fact['window_holds']:.0%} of the history"


def _cost(fact: Mapping[str, Any], expected: Mapping[str, Any]) -> str:
    if expected["amount"] is None:
        return "unknown: set backbone.price.input and backbone.price.output"
    bound = f", at most {fact['cost_at_most']:,.2f}" if "cost_at_most" in fact else ""
    return f"{expected['amount']:,.2f} {expected['currency']} expected{bound} ({fact['price']})"
