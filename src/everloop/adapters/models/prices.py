"""Price of a model call, estimated from the price list of genai-prices; bills may differ."""

import importlib
from typing import Any

from everloop.adapters.models.chat_completions import TokenUsage, estimate_prompt_tokens
from everloop.memory.token_counts import ESTIMATE
from everloop.ports import Prompt


def price_usd(service: str, model: str, tokens: TokenUsage) -> float | None:
    """The price in US dollars, or None if the list does not know the model."""
    try:
        prices: Any = importlib.import_module("genai_prices")
        usage = prices.Usage(
            input_tokens=tokens.read,
            output_tokens=tokens.written,
            cache_read_tokens=tokens.cached or None,
            cache_write_tokens=tokens.stored or None,
        )
        return float(prices.calc_price(usage, model, provider_id=service).total_price)
    except (ImportError, LookupError, ValueError):
        return None


def estimate_tokens(prompt: Prompt, text: str) -> TokenUsage:
    """An estimate of the tokens of a call that was broken off after this text."""
    return TokenUsage(estimate_prompt_tokens(prompt), ESTIMATE(text))
