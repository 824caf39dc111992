"""What tokens cost, at the user's prices; and the GPU time that they take, at the user's rates.

Both know the prefix cache: cached prompt tokens have a price of their own, and take no prefill.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipeline.backbone.config import PriceConfig, RatesConfig

_MILLION = 1e6
_HOUR = 3_600.0  # seconds


@dataclass(frozen=True)
class Tokens:
    """Tokens of some requests; `cached` are those of `prompt` that came from a prefix cache."""

    prompt: int
    cached: int
    completion: int

    def __mul__(self, times: int) -> Tokens:
        """The tokens of so many alike."""
        return Tokens(self.prompt * times, self.cached * times, self.completion * times)


@dataclass(frozen=True)
class Bill:
    """An amount, in the price's currency, and the GPU hours of the tokens; None is unknown, never zero."""

    amount: float | None
    currency: str | None
    gpu_hours: float | None


def bill(tokens: Tokens, price: PriceConfig, rates: RatesConfig) -> Bill:
    """Return what `tokens` cost and how long GPUs are busy with them."""
    found = amount(tokens, price)
    return Bill(found, None if found is None else price.currency, gpu_hours(tokens, rates))


def amount(tokens: Tokens, price: PriceConfig) -> float | None:
    """Return tokens × prices; None if a price is unknown."""
    if price.input is None or price.output is None:
        return None
    cached = price.input if price.cached_input is None else price.cached_input
    uncached = tokens.prompt - tokens.cached
    return (uncached * price.input + tokens.cached * cached + tokens.completion * price.output) / _MILLION


def gpu_hours(tokens: Tokens, rates: RatesConfig) -> float | None:
    """Return the hours of one GPU that does nothing else: prefill of what isn't cached, and decoding."""
    if not rates.prefill or not rates.decode:
        return None
    seconds = (tokens.prompt - tokens.cached) / rates.prefill + tokens.completion / rates.decode
    return seconds / _HOUR


def price_said(price: PriceConfig) -> str:
    """Say the prices behind an amount."""
    cached = "as input" if price.cached_input is None else f"{price.cached_input:g}"
    when = f", {price.date}" if price.date else ""
    return (
        f"{price.input or 0:g} input, {cached} cached, {price.output or 0:g} output {price.currency} "
        f"a million tokens{when}"
    )


def rates_said(rates: RatesConfig) -> str:
    """Say the rates behind GPU hours."""
    return f"{rates.prefill or 0:g} prefilled, {rates.decode or 0:g} generated tokens a second and GPU"


def priced(record: Mapping[str, Any]) -> tuple[PriceConfig, RatesConfig]:
    """Return the prices and rates that `run.json` holds of an arm; unknown ones of an older run."""
    return PriceConfig(**record.get("price") or {}), RatesConfig(**record.get("rates") or {})
